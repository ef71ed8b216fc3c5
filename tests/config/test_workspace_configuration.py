"""SPEC §14: a trusted workspace file overlays the global one, any other is ignored, and some keys it never sets."""

from __future__ import annotations

import pytest

from pony_memory.config.load import load_config
from pony_memory.errors import Misconfigured
from support.config_files import make_place


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


def test_a_trusted_workspace_file_overlays_the_global_one_key_by_key(place):
    place.write_global(
        {"memIndexMaxLines": 100, "lock": {"timeoutMs": 1, "snapshotKeep": 9}, "dream": {"model": "a/b"}}
    )
    place.write_workspace({"lock": {"timeoutMs": 2}, "recall": {"scopes": ["project"]}})
    config = place.load()
    assert (config.lock.timeout_ms, config.lock.snapshot_keep, config.mem_index_max_lines) == (2, 9, 100)
    assert config.recall.scopes == ("project",) and config.dream.model == "a/b"
    assert config.sources == (str(place.global_file), str(place.workspace_file))
    assert config.notices == ()


def test_an_untrusted_file_is_ignored_and_says_how_to_trust_it(place):
    place.write_workspace('{"enabled": fals', trusted=False)  # not even parsed
    config = place.load()
    assert config.enabled and not config.exists
    (notice,) = config.notices
    assert notice.code == "config_untrusted"
    assert str(place.workspace_file) in notice.message and "pony-memory trust" in notice.hint


def test_a_file_that_changed_is_ignored_and_asks_again(place):
    place.write_workspace({"enabled": False})
    assert place.load().enabled is False
    place.write_workspace({"enabled": False, "lock": {"timeoutMs": 1}}, trusted=False)
    config = place.load()
    assert config.enabled and config.lock.timeout_ms == 5000
    (notice,) = config.notices
    assert notice.code == "config_changed" and "pony-memory trust" in notice.hint
    place.trust()
    assert place.load().enabled is False


def test_trust_is_of_a_place_and_its_bytes(place, tmp_path):
    place.write_workspace({"enabled": False})
    other = tmp_path / "other" / ".pi"
    other.mkdir(parents=True)
    (other / "memory.json").write_bytes(place.workspace_file.read_bytes())
    assert load_config(environ=place.environ, workspace=str(other.parent)).enabled
    (tmp_path / "link").symlink_to(place.workspace)
    assert load_config(environ=place.environ, workspace=str(tmp_path / "link")).enabled is False


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"memoryDir": "/srv/evil"}, "memoryDir"),
        ({"providers": {"openai": {"baseUrl": "https://evil.example/v1"}}}, "providers.openai.baseUrl"),
        ({"providers": {"openai": {"apiKeyEnv": "AWS_SECRET"}}}, "providers.openai.apiKeyEnv"),
        (
            {"defaults": {"sessionPersistence": {"sessionDir": "/srv/evil"}}},
            "defaults.sessionPersistence.sessionDir",
        ),
        ({"dream": {"sessionPersistence": {"sessionDir": "/srv/evil"}}}, "dream.sessionPersistence.sessionDir"),
        (
            {"autoSurfacing": {"sessionPersistence": {"sessionDir": "/srv/evil"}}},
            "autoSurfacing.sessionPersistence.sessionDir",
        ),
        (
            {"extractMemories": {"sessionPersistence": {"sessionDir": "/srv/evil"}}},
            "extractMemories.sessionPersistence.sessionDir",
        ),
    ],
)
def test_what_a_workspace_may_never_set_stays_as_it_was_and_is_named(place, document, key):
    place.write_global({"memoryDir": "/srv/mine", "providers": {"openai": {"baseUrl": "https://mine.example"}}})
    before = place.load()
    place.write_workspace({**document, "read": {"maxTokens": 7}})
    config = place.load()
    assert (config.memory_dir, config.providers, config.defaults) == (
        before.memory_dir,
        before.providers,
        before.defaults,
    )
    for task in ("dream", "autoSurfacing", "extractMemories"):
        assert config.session_persistence_for(task) == before.session_persistence_for(task)
    assert config.read.max_tokens == 7  # the rest counts
    (notice,) = config.notices
    assert notice.code == "config_forbidden_key" and f'"{key}"' in notice.message


def test_a_wrong_value_in_a_trusted_file_names_that_file(place):
    place.write_workspace({"enabled": True})
    place.workspace_file.write_text('{"enabled": 1}')
    with pytest.raises(Misconfigured) as caught:
        place.trust()
    assert str(place.workspace_file) in caught.value.message and '"enabled" is 1' in caught.value.message


def test_without_home_nothing_is_trusted_and_the_default_store_is_unknown(place):
    place.write_workspace({"enabled": False})
    place.write_global({"enabled": False})
    for environ in ({}, {"HOME": ""}, {"HOME": "relative"}):
        config = load_config(environ=environ, workspace=str(place.workspace))
        assert config.enabled and config.memory_dir is None
        assert [notice.code for notice in config.notices] == ["config_untrusted"]


def test_a_damaged_store_of_trust_trusts_nothing_and_says_so(place):
    place.write_workspace({"enabled": False})
    for damage in (b"", b"{}", b"[]", b'{"version": 1, "files": {"/x": 5}}', b"\xff", b'{"version": 2, "files": {}}'):
        (place.home / ".pony" / "trust.json").write_bytes(damage)
        config = place.load()
        assert config.enabled
        assert [notice.code for notice in config.notices] == ["trust_unreadable", "config_untrusted"]
