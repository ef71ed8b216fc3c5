"""SPEC §14: unknown keys warn, and say what may have been meant."""

from __future__ import annotations

import pytest

from support.config_files import make_place


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


@pytest.mark.parametrize(
    ("document", "key", "hint"),
    [
        ({"memoryDirectory": "/x"}, "memoryDirectory", "memoryDir"),
        ({"lock": {"timeoutMS": 5}}, "lock.timeoutMS", "lock.timeoutMs"),
        ({"timeoutMs": 5}, "timeoutMs", "lock.timeoutMs"),
        ({"sessionsearch": {}}, "sessionsearch", "sessionSearch"),
        ({"autoSurfacing": {"maxTopicBytes": 4096}}, "autoSurfacing.maxTopicBytes", "autoSurfacing.maxEntryBytes"),
        ({"defaults": {"sessionPersistence": {"dir": "/x"}}}, "defaults.sessionPersistence.dir", None),
        ({"dream": {"thinkLevels": "off"}}, "dream.thinkLevels", "dream.thinkLevel"),
        ({"model": "a/b"}, "model", "defaults.model"),
        ({"memory_dir": "/x"}, "memory_dir", "memoryDir"),
        ({"topk": 5}, "topk", "recall.topK"),
        ({"lock.timeoutMs": 5}, "lock.timeoutMs", "timeoutMs"),
        ({"qqqq": {"enabled": False}}, "qqqq", None),
        ({"": 1}, "", None),
        ({"dream": {"$schema": "x"}}, "dream.$schema", None),
    ],
)
def test_an_unknown_key_is_told_with_what_was_meant(place, document, key, hint):
    place.write_global(document)
    config = place.load()
    (notice,) = config.notices
    assert notice.code == "config_unknown_key"
    assert f'"{key}"' in notice.message and str(place.global_file) in notice.message
    assert (f'"{hint}"' in notice.hint) if hint else notice.hint is None
    assert config.lock.timeout_ms == 5000 and config.enabled


def test_the_pointer_to_the_schema_is_known(place):
    place.write_global({"$schema": "file:///x.json"})
    assert place.load().notices == ()


def test_hostile_keys_are_shown_without_escapes_and_shortened(place):
    place.write_global({"\x1b[31m" + "k" * 500: 1})
    (notice,) = place.load().notices
    assert "\x1b" not in notice.message and len(notice.message) < 400


def test_many_unknown_keys_are_counted(place):
    place.write_global({f"zz{n}": n for n in range(500)})
    notices = place.load().notices
    assert len(notices) == 21
    assert "480 more" in notices[-1].message
