"""SPEC §14: every key of memory.json, its default, its type and its range."""

from __future__ import annotations

import dataclasses
import json

import pytest

from pony_memory.config.schema import KEYS, Config, config_table_markdown
from pony_memory.errors import Misconfigured
from support.config_files import make_place


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


DEFAULTS = {
    "enabled": True,
    "memoryDir": "~/.pi/memory",
    "memIndexMaxLines": 200,
    "memIndexMaxBytes": 25600,
    "memIndexInjectMaxLines": 200,
    "memIndexInjectMaxBytes": 25600,
    "lock.timeoutMs": 5000,
    "lock.snapshotKeep": 5,
    "defaults.model": None,
    "defaults.sessionPersistence.enabled": False,
    "defaults.sessionPersistence.sessionDir": None,
    "dream.nudgeAfterSessions": 5,
    "dream.nudgeAfterHours": 24,
    "dream.model": None,
    "dream.thinkLevel": "high",
    "dream.sessionPersistence.enabled": None,
    "dream.sessionPersistence.sessionDir": None,
    "sessionSearch.maxSessions": 10,
    "sessionSearch.maxMatches": 5,
    "autoSurfacing.enabled": True,
    "autoSurfacing.model": None,
    "autoSurfacing.thinkLevel": "off",
    "autoSurfacing.maxFiles": 3,
    "autoSurfacing.maxEntryBytes": 3072,
    "autoSurfacing.maxInjectionBytes": 10240,
    "autoSurfacing.sessionPersistence.enabled": None,
    "autoSurfacing.sessionPersistence.sessionDir": None,
    "extractMemories.enabled": True,
    "extractMemories.mode": "write",
    "extractMemories.model": None,
    "extractMemories.thinkLevel": "high",
    "extractMemories.maxContextTokens": 2000,
    "extractMemories.maxToolResultChars": 500,
    "extractMemories.maxAssistantChars": 2000,
    "extractMemories.sessionPersistence.enabled": None,
    "extractMemories.sessionPersistence.sessionDir": None,
    "recall.topK": 6,
    "recall.minScore": 0.3,
    "recall.maxPassageTokens": 1024,
    "recall.maxTokens": 6144,
    "recall.skipRecentTurns": 2,
    "recall.scopes": ("user", "workspace"),
    "recall.crossScopeSupersedes": True,
    "recall.journal": True,
    "read.maxTokens": 8192,
    "providers.*.baseUrl": None,
    "providers.*.apiKeyEnv": None,
}

#: For each key another value it may have, and values it may not.
VALUES = {
    "enabled": (False, [1, 0, "true", None]),
    "memoryDir": ("/srv/memory", ["", "memory", "./memory", "~someone/memory", 5, "/a\0b", "C:\\memory"]),
    "memIndexMaxLines": (3, [0, -1, 65_537, 1.5, True, "200", None, 10**30]),
    "memIndexMaxBytes": (131_072, [0, 131_073, False]),
    "memIndexInjectMaxLines": (0, [-1, 65_537]),
    "memIndexInjectMaxBytes": (0, [-1, 131_073]),
    "lock.timeoutMs": (0, [-1, 600_001, 0.5]),
    "lock.snapshotKeep": (1, [0, 1_001]),
    "dream.nudgeAfterSessions": (1, [0, 10_001]),
    "dream.nudgeAfterHours": (48, [0, 87_601]),
    "dream.thinkLevel": ("xhigh", ["High", "none", 3, True]),
    "sessionSearch.maxSessions": (1, [0, 1_001]),
    "sessionSearch.maxMatches": (100, [0, 101]),
    "autoSurfacing.enabled": (False, ["yes"]),
    "autoSurfacing.thinkLevel": ("minimal", [""]),
    "autoSurfacing.maxFiles": (20, [0, 21]),
    "autoSurfacing.maxEntryBytes": (1, [0, 131_073]),
    "autoSurfacing.maxInjectionBytes": (1, [0, 1_048_577]),
    "extractMemories.enabled": (False, [[]]),
    "extractMemories.mode": ("review", ["dry-run"]),
    "extractMemories.thinkLevel": ("low", ["medium "]),
    "extractMemories.maxContextTokens": (1, [0, 1_000_001]),
    "extractMemories.maxToolResultChars": (0, [-1]),
    "extractMemories.maxAssistantChars": (0, [-1]),
    "recall.topK": (20, [0, 21]),
    "recall.minScore": (0, [-0.1, 1.01, "0.3", True]),
    "recall.maxPassageTokens": (1, [0]),
    "recall.maxTokens": (1, [0]),
    "recall.skipRecentTurns": (0, [-1]),
    "recall.scopes": (["project", "user"], [[], ["home"], ["user", "user"], "user", [1], {"user": 1}]),
    "recall.crossScopeSupersedes": (False, [0]),
    "recall.journal": (False, [None]),
    "read.maxTokens": (1, [0]),
    "providers.*.baseUrl": ("http://localhost:11434/v1", ["localhost", "ftp://h", "https://u:p@h/", "https://h/?k=1"]),
    "providers.*.apiKeyEnv": ("MY_KEY", ["my key", "", "sk-12345", "1KEY"]),
}
for _name in KEYS:
    if _name.endswith("odel"):
        _wrong = ["auto", "", "gpt", "/x", "a/", "a b/c", "a/b c", "a/b\n", 5, None]
        VALUES[_name] = ("openrouter/meta-llama/llama-3.1:free", _wrong)
    elif _name.endswith("sessionPersistence.enabled"):
        VALUES[_name] = (True, ["on", None])
    elif _name.endswith("sessionDir"):
        VALUES[_name] = ("/srv/sessions", ["sessions", ""])


def nested(name, value):
    parts = name.replace("*", "mine").split(".")
    document = value
    for part in reversed(parts):
        document = {part: document}
    return document


def at(config, name):
    here = config
    for part in name.replace("*", "mine").split("."):
        if isinstance(here, Config) and part == "providers":
            here = here.providers
        elif hasattr(here, "keys"):
            here = here[part]
        else:
            snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in part)
            here = getattr(here, snake)
    return here


def test_the_table_holds_exactly_the_keys_of_the_contract():
    assert {name: key.default for name, key in KEYS.items()} == DEFAULTS


def test_without_a_file_everything_is_default(place):
    config = place.load()
    assert not config.exists
    assert config.sources == () and config.notices == ()
    assert config == dataclasses.replace(Config(), memory_dir=f"{place.home}/.pi/memory")


@pytest.mark.parametrize("name", KEYS)
def test_each_key_may_be_set(place, name):
    value, _ = VALUES[name]
    place.write_global(nested(name, value))
    config = place.load()
    expected = ("user", "project") if name == "recall.scopes" else value
    assert at(config, name) == expected
    assert config.exists
    assert config.sources == (str(place.global_file),)
    assert config.notices == ()


@pytest.mark.parametrize(("name", "wrong"), [(name, wrong) for name in KEYS for wrong in VALUES[name][1]])
def test_a_wrong_type_or_range_names_file_key_value_and_what_is_allowed(place, name, wrong):
    place.write_global(nested(name, wrong))
    with pytest.raises(Misconfigured) as caught:
        place.load()
    message = caught.value.message
    assert str(place.global_file) in message
    assert f'"{name.replace("*", "mine")}"' in message
    assert KEYS[name].rule.allowed in message
    if KEYS[name].rule.secret:
        assert not wrong or json.dumps(wrong) not in message
    else:
        assert json.dumps(wrong)[:40] in message


def test_a_section_must_be_an_object(place):
    for document in (
        {"lock": 5},
        {"defaults": {"sessionPersistence": True}},
        {"providers": []},
        {"providers": {"x": 1}},
    ):
        place.write_global(document)
        with pytest.raises(Misconfigured, match="must be an object"):
            place.load()


def test_more_than_one_fault_is_counted(place):
    place.write_global({"enabled": 1, "lock": {"timeoutMs": -1}, "recall": {"topK": "6"}})
    with pytest.raises(Misconfigured, match=r'"enabled" is 1, .* \(2 more wrong in this file\)'):
        place.load()


def test_auto_is_told_to_be_gone(place):
    place.write_global({"dream": {"model": "auto"}})
    with pytest.raises(Misconfigured, match=r'"dream.model" is "auto".*no automatic choice'):
        place.load()


def test_a_long_value_is_shortened(place):
    place.write_global({"enabled": "x" * 5_000})
    with pytest.raises(Misconfigured) as caught:
        place.load()
    assert len(caught.value.message) < 400 and "…" in caught.value.message


def test_half_a_character_is_refused(place):
    place.write_global('{"memoryDir": "/srv/\\ud800"}')
    with pytest.raises(Misconfigured, match="lone surrogate"):
        place.load()


def test_a_credential_in_the_wrong_place_is_not_repeated(place):
    for document in (
        {"providers": {"openai": {"apiKeyEnv": "sk-proj-hunter2"}}},
        {"providers": {"openai": {"baseUrl": "https://me:hunter2@host/v1"}}},
    ):
        place.write_global(document)
        with pytest.raises(Misconfigured) as caught:
            place.load()
        assert "hunter2" not in caught.value.message
    place.write_global({"providers": {"openai": {"apiKey": "hunter2"}}})
    (notice,) = place.load().notices
    assert "hunter2" not in notice.message and "apiKeyEnv" in notice.hint


def test_whole_numbers_may_be_written_with_a_point_and_are_whole(place):
    place.write_global('{"recall": {"topK": 6.0, "minScore": 1}, "memIndexMaxLines": 1e2}')
    config = place.load()
    assert (config.recall.top_k, config.mem_index_max_lines) == (6, 100)
    assert isinstance(config.recall.top_k, int) and isinstance(config.recall.min_score, float)


def test_disabled_loads(place):
    place.write_global({"enabled": False})
    assert place.load().enabled is False


def test_directories_are_expanded_by_home(place):
    for written, meant in (("~", ""), ("~/m", "/m"), ("~/a/../b/", "/b")):
        place.write_global({"memoryDir": written, "defaults": {"sessionPersistence": {"sessionDir": written}}})
        config = place.load()
        assert config.memory_dir == f"{place.home}{meant}"
        assert config.defaults.session_persistence.session_dir == f"{place.home}{meant}"


def test_models_and_persistence_are_inherited_from_defaults(place):
    assert place.load().model_for("dream") == "builtin/lexical"
    shared = {"enabled": True, "sessionDir": "/srv/all"}
    place.write_global(
        {
            "defaults": {"model": "a/shared", "sessionPersistence": shared},
            "dream": {"model": "a/own", "sessionPersistence": {"enabled": False}},
            "autoSurfacing": {"sessionPersistence": {"sessionDir": "/srv/own"}},
        }
    )
    config = place.load()
    assert config.model_for("dream") == "a/own"
    assert config.model_for("autoSurfacing") == config.model_for("extractMemories") == "a/shared"
    parts = [
        (part.enabled, part.session_dir)
        for part in map(config.session_persistence_for, ("dream", "autoSurfacing", "extractMemories"))
    ]
    assert parts == [(False, "/srv/all"), (True, "/srv/own"), (True, "/srv/all")]


def test_a_file_that_exists_and_names_no_model_has_none(place):
    place.write_global({})
    assert place.load().model_for("dream") is None


def test_values_are_frozen(place):
    place.write_global({"providers": {"mine": {"apiKeyEnv": "MY_KEY"}}})
    config = place.load()
    for holder, name in ((config, "enabled"), (config.lock, "timeout_ms"), (config.providers["mine"], "base_url")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(holder, name, 1)
    with pytest.raises(TypeError):
        config.providers["other"] = config.providers["mine"]


def test_the_table_for_the_readme_has_one_row_a_key():
    table = config_table_markdown().splitlines()
    assert len(table) == len(KEYS) + 2
    assert "| `lock.timeoutMs` | `5000` | a whole number from 0 to 600,000 |" in config_table_markdown()
    assert all(row.count(" | ") == 3 for row in table[2:])
