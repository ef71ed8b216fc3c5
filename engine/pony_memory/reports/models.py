"""Which model serves which task, told without importing a provider (SPEC §14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pony_memory.config.load import Config

BUILTIN_MODEL: Final = "builtin/lexical"
#: Provider → (module of its extra, variable with its credential; ``None`` where none is needed).
_PROVIDERS: Final[dict[str, tuple[str, str | None]]] = {
    "openai": ("openai", "OPENAI_API_KEY"),
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY"),
    "ollama": ("openai", None),
}


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
    tasks: dict[str, str | None] = {"dream": config.dream.model}
    if config.extract_memories.enabled:
        tasks["extractMemories"] = config.extract_memories.model
    if config.auto_surfacing.enabled:
        tasks["autoSurfacing"] = config.auto_surfacing.model
    return {task: _state(own or config.defaults.model, config, environ) for task, own in tasks.items()}


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
        if not config.exists:  # with no memory.json at all the built-in serves
            return ModelState(BUILTIN_MODEL, True, None)
        return ModelState(None, False, "no model is set")
    if model == BUILTIN_MODEL:
        return ModelState(model, True, None)
    provider, _, _ = model.partition("/")
    custom = config.providers.get(provider)
    if custom is not None:
        module, variable = "openai", custom.api_key_env
    elif provider in _PROVIDERS:
        module, variable = _PROVIDERS[provider]
    else:
        known = ", ".join(sorted({*_PROVIDERS, "builtin", *config.providers}))
        return ModelState(model, False, f"unknown provider {provider}; known are {known}")
    if find_spec("pydantic_ai") is None or find_spec(module) is None:
        return ModelState(model, False, "the extra for models is not installed: pip install 'pony-memory[llm]'")
    if variable is not None and not environ.get(variable):
        return ModelState(model, False, f"the variable {variable} is not set")
    return ModelState(model, True, None)
