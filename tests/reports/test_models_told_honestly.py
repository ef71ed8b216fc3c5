"""Which model serves which task, told without importing a provider (SPEC §14)."""

import json
import sys

import pytest

TASKS = ("dream", "extractMemories", "autoSurfacing")


@pytest.fixture
def extra(tmp_path, monkeypatch):
    """Packages of the extra's names that fail when they are imported: to look for them must be enough."""
    for name in ("pydantic_ai", "openai", "anthropic"):
        (tmp_path / "site" / name).mkdir(parents=True)
        (tmp_path / "site" / name / "__init__.py").write_text("raise AssertionError('imported')")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path / "site")


def status(place, **settings):
    file = place.home / ".pi" / "agent" / "memory.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings))
    return place.memory().status()


def model(place, name, **settings):
    return status(place, defaults={"model": name}, **settings).models["dream"]


def test_without_any_configuration_the_built_in_serves_all_three_tasks(place):
    found = place.memory().status()
    assert found.state == "enabled"
    assert tuple(found.models) == TASKS
    for state in found.models.values():
        assert (state.model, state.resolvable, state.reason) == ("builtin/lexical", True, None)


def test_each_task_that_would_run_needs_a_model_in_the_contracts_words(place):
    assert status(place).errors == tuple(
        f'no model for {task} — set "{task}.model" or "defaults.model" in memory.json' for task in TASKS
    )
    off = {"extractMemories": {"enabled": False}, "autoSurfacing": {"enabled": False}}
    assert status(place, **off).models.keys() == {"dream"}
    found = status(place, **off, dream={"model": "builtin/lexical"})
    assert (found.state, found.errors) == ("enabled", ())
    assert status(place, enabled=False).models == {}


def test_a_tasks_own_model_goes_before_the_shared_one(place):
    found = status(place, defaults={"model": "builtin/lexical"}, dream={"model": "nobody/x"})
    assert {task: state.model for task, state in found.models.items()} == {
        "dream": "nobody/x",
        "extractMemories": "builtin/lexical",
        "autoSurfacing": "builtin/lexical",
    }
    assert found.errors == ('model "nobody/x" for dream is not resolvable (unknown id or missing credentials)',)


def test_an_unknown_provider_names_the_known_ones(place):
    found = model(place, "opnai/gpt", providers={"mine": {"baseUrl": "https://m.example/v1"}})
    assert not found.resolvable
    assert found.reason == "unknown provider opnai; known are anthropic, builtin, mine, ollama, openai"


def test_there_is_one_built_in_model(place):
    assert "builtin/lexical" in (model(place, "builtin/magic").reason or "")


def test_a_provider_of_ones_own_needs_an_address(place):
    assert model(place, "mine/x", providers={"mine": {"apiKeyEnv": "MINE_KEY"}}).reason == (
        "no address: providers.mine.baseUrl is not set in memory.json"
    )


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize(
    ("name", "providers", "environ", "missing"),
    [
        ("openai/x", {}, {}, "OPENAI_API_KEY"),
        ("openai/x", {}, {"OPENAI_API_KEY": " "}, "OPENAI_API_KEY"),
        ("openai/x", {}, {"OPENAI_API_KEY": "k"}, None),
        ("anthropic/x", {}, {"OPENAI_API_KEY": "k"}, "ANTHROPIC_API_KEY"),
        ("ollama/x", {}, {}, None),
        ("openai/x", {"openai": {"apiKeyEnv": "OTHER"}}, {"OPENAI_API_KEY": "k"}, "OTHER"),
        ("openai/x", {"openai": {"baseUrl": "https://proxy.example"}}, {}, "OPENAI_API_KEY"),
        ("mine/x", {"mine": {"baseUrl": "http://localhost:1"}}, {}, None),
        ("mine/x", {"mine": {"baseUrl": "http://localhost:1", "apiKeyEnv": "MINE"}}, {}, "MINE"),
        ("mine/x", {"mine": {"baseUrl": "http://localhost:1", "apiKeyEnv": "MINE"}}, {"MINE": "k"}, None),
    ],
)
def test_the_credential_must_be_in_the_environment(place, name, providers, environ, missing):
    place.extra = environ
    found = model(place, name, providers=providers)
    assert found.reason == (None if missing is None else f"the variable {missing} is not set")
    assert found.resolvable == (missing is None)


@pytest.mark.parametrize("missing", ["pydantic_ai", "openai"])
@pytest.mark.usefixtures("extra")
def test_a_missing_extra_is_told_with_how_to_install_it(place, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    place.extra = {"OPENAI_API_KEY": "k"}
    assert model(place, "openai/x").reason == "the extra for models is not installed: pip install 'pony-memory[llm]'"
    assert model(place, "builtin/lexical").resolvable
