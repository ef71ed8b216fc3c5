"""Which model serves which task, told without importing a provider (SPEC §14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pony_memory.config.schema import BUILTIN_MODEL

if TYPE_CHECKING:
    from pony_memory.config.schema import Config, Task

#: Provider → (module of its extra, variable with its credential; ``None`` where none is needed).
_PROVIDERS: Final[dict[str, tuple[str, str | None]]] = {
    "openai": ("openai", "OPENAI_API_KEY"),
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY"),
    "ollama": ("openai", None),
}
#: What talks to any server that is configured by its address (SPEC §14).
_COMPATIBLE: Final = "openai"


@dataclass(frozen=True, slots=True)
class ModelState:
    """The model of one task; ``reason`` says why it cannot be resolved. Whether the id is right shows at first call."""

    model: str | None
    resolvable: bool
    reason: str | None


def needed_models(config: Config, environ: Mapping[str, str]) -> dict[str, ModelState]:
    """Task → state, for the tasks that would run with this configuration."""
    if not config.enabled:
        return {}
    tasks: list[Task] = ["dream"]
    if config.extract_memories.enabled:
        tasks.append("extractMemories")
    if config.auto_surfacing.enabled:
        tasks.append("autoSurfacing")
    return {task: _state(config.model_for(task), config, environ) for task in tasks}


def model_errors(models: Mapping[str, ModelState]) -> tuple[str, ...]:
    """The error lines of the contract, one a task whose model is missing or cannot be resolved."""
    errors: list[str] = []
    for task, state in models.items():
        if state.model is None:
            errors.append(f'no model for {task} — set "{task}.model" or "defaults.model" in memory.json')
        elif not state.resolvable:
            errors.append(f'model "{state.model}" for {task} is not resolvable (unknown id or missing credentials)')
    return tuple(errors)


def _state(model: str | None, config: Config, environ: Mapping[str, str]) -> ModelState:
    if model is None:
        return ModelState(None, False, "no model is set")
    if model == BUILTIN_MODEL:
        return ModelState(model, True, None)
    reason = _obstacle(model, config, environ)
    return ModelState(model, reason is None, reason)


def _obstacle(model: str, config: Config, environ: Mapping[str, str]) -> str | None:
    """Why the model cannot be had, or ``None``."""
    provider, _, name = model.partition("/")
    if provider == "builtin":
        return f"there is no built-in model {name}; {BUILTIN_MODEL} is the one there is"
    configured = config.providers.get(provider)
    module, variable = _PROVIDERS.get(provider, (_COMPATIBLE, None))
    if configured is not None and configured.base_url is not None:
        module = _COMPATIBLE
    elif provider not in _PROVIDERS:
        if configured is not None:
            return f"no address: providers.{provider}.baseUrl is not set in memory.json"
        known = ", ".join(sorted({*_PROVIDERS, "builtin", *config.providers}))
        return f"unknown provider {provider}; known are {known}"
    if configured is not None and configured.api_key_env is not None:
        variable = configured.api_key_env
    if find_spec("pydantic_ai") is None or find_spec(module) is None:
        return "the extra for models is not installed: pip install 'pony-memory[llm]'"
    if variable is not None and not environ.get(variable, "").strip():
        return f"the variable {variable} is not set"
    return None
