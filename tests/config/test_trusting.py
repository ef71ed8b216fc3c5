"""SPEC §14: `trust` shows what a file would change, pins exactly what was shown, and forgets on demand."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest

from pony_memory.config.trust import Standing, distrust, list_trusted, review_workspace_file, trust
from pony_memory.errors import Conflict, Misconfigured, NotFound, Unavailable, UnsafeFile
from support.config_files import make_place


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


def review(place):
    return review_workspace_file(environ=place.environ, workspace=str(place.workspace))


def test_a_review_shows_the_text_and_each_difference_to_the_defaults(place):
    document = {
        "enabled": True,
        "lock": {"timeoutMs": 1, "snapshotKeep": 5},
        "recall": {"scopes": ["project"]},
        "dream": {"model": "a/b"},
        "memoryDir": "/srv/evil",
        "providers": {"x": {"baseUrl": "https://evil.example"}},
        "a.b": {"c": 1},
        "lock2": [1],
    }
    place.write_workspace(document, trusted=False)
    seen = review(place)
    assert seen.text == place.workspace_file.read_text()
    assert seen.path == str(place.workspace_file)
    assert seen.standing is Standing.UNKNOWN
    assert [(one.key, one.default, one.value, one.status) for one in seen.differences] == [
        ("lock.timeoutMs", "5000", "1", "set"),
        ("recall.scopes", '["user", "workspace"]', '["project"]', "set"),
        ("dream.model", None, '"a/b"', "set"),
        ("memoryDir", '"~/.pi/memory"', '"/srv/evil"', "forbidden"),
        ("providers.x.baseUrl", None, '"https://evil.example"', "forbidden"),
        ("a.b", None, '{"c": 1}', "unknown"),
        ("lock2", None, "[1]", "unknown"),
    ]


def test_pins_are_private_whatever_the_umask(place):
    before = os.umask(0)
    try:
        place.write_workspace({"enabled": False})
    finally:
        os.umask(before)
    directory = place.home / ".pony"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "trust.json").stat().st_mode) == 0o600
    assert sorted(os.listdir(directory)) == [".trust.lock", "trust.json"]
    assert review(place).standing is Standing.TRUSTED
    (one,) = list_trusted(place.environ)
    assert (one.path, one.sha256) == (str(place.workspace_file), review(place).sha256)
    assert one.trusted_at.endswith("Z")


def test_what_changed_between_look_and_yes_is_not_pinned(place):
    place.write_workspace({"enabled": False}, trusted=False)
    seen = review(place)
    place.write_workspace({"enabled": True}, trusted=False)
    with pytest.raises(Conflict, match="changed while it was looked at"):
        trust(seen, environ=place.environ, workspace=str(place.workspace))
    place.workspace_file.unlink()
    with pytest.raises(Conflict):
        trust(seen, environ=place.environ, workspace=str(place.workspace))
    assert list_trusted(place.environ) == ()


def test_a_changed_file_is_reviewed_as_changed(place):
    place.write_workspace({"enabled": False})
    place.write_workspace({"enabled": True}, trusted=False)
    assert review(place).standing is Standing.CHANGED


def test_trust_can_be_taken_back_even_when_the_file_is_gone(place):
    place.write_workspace({"enabled": False})
    place.workspace_file.unlink()
    assert distrust(environ=place.environ, workspace=str(place.workspace)).path == str(place.workspace_file)
    assert list_trusted(place.environ) == ()
    with pytest.raises(NotFound, match="not trusted"):
        distrust(environ=place.environ, workspace=str(place.workspace))


def test_what_cannot_be_trusted_is_refused(place, tmp_path):
    with pytest.raises(NotFound, match=r"no .*memory\.json to trust"):
        review(place)
    place.write_workspace("{", trusted=False)
    with pytest.raises(Misconfigured, match="line 1, column 2"):
        review(place)
    place.workspace_file.unlink()
    place.workspace_file.symlink_to(tmp_path / "x.json")
    with pytest.raises(UnsafeFile):
        review(place)
    with pytest.raises(Unavailable, match=r"\$HOME"):
        list_trusted({})


def test_a_damaged_store_of_trust_is_never_overwritten(place):
    place.write_workspace({"enabled": False})
    store = place.home / ".pony" / "trust.json"
    store.write_text('{"version": 99}')
    with pytest.raises(Misconfigured, match="no list of trusted files"):
        place.trust()
    assert store.read_text() == '{"version": 99}'


def test_a_workspace_whose_name_is_not_utf8(place):
    raw = str(place.workspace) + "\udcff"
    os.makedirs(raw + "/.pi")
    with open(raw + "/.pi/memory.json", "w") as file:
        file.write('{"enabled": false}')
    seen = review_workspace_file(environ=place.environ, workspace=raw)
    trust(seen, environ=place.environ, workspace=raw)
    assert review_workspace_file(environ=place.environ, workspace=raw).standing is Standing.TRUSTED


def test_processes_that_trust_at_once_lose_no_pin(place):
    code = (
        "import sys\nfrom pony_memory.config.trust import *\n"
        "for name in sys.argv[2:]:\n"
        " env = {'HOME': sys.argv[1]}\n"
        " trust(review_workspace_file(environ=env, workspace=name), environ=env, workspace=name)"
    )
    names = [[str(place.workspace / f"{process}-{n}") for n in range(6)] for process in range(3)]
    for name in (name for part in names for name in part):
        os.makedirs(f"{name}/.pi")
        with open(f"{name}/.pi/memory.json", "w") as file:
            json.dump({"enabled": False}, file)
    running = [subprocess.Popen([sys.executable, "-c", code, str(place.home), *part]) for part in names]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(list_trusted(place.environ)) == 18
