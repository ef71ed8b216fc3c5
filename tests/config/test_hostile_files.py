"""SPEC §14 and §3: a configuration file that is broken, huge or a trap gets a clear answer and never holds us up."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.config import source
from pony_memory.errors import Misconfigured
from support.config_files import make_place


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


BROKEN = [
    (b'{\n  "enabled": true,\n  "lock": }\n', "line 3, column 11"),
    (b"", "line 1, column 1"),
    (b"{,}", "line 1, column 2"),
    (b'{"enabled": tru', "line 1"),
    (b'{"a": 1} {"b": 2}', "Extra data at line 1, column 10"),
    (b'{"a": "\n"}', "line 1"),
    (b'{\n"a": "\xff"}', "not UTF-8 text: line 2 holds the byte 0xff"),
    (b'{"recall": {"minScore": NaN}}', "holds NaN"),
    (b'{"recall": {"minScore": -Infinity}}', "holds -Infinity"),
    (b'{"enabled": true, "enabled": false}', 'the key "enabled" twice'),
    (b'{"lock": {"timeoutMs": 1, "timeoutMs": 1}}', 'the key "timeoutMs" twice'),
    (b'{"a": ' + b"[" * 60_000 + b"]" * 60_000 + b"}", "nested too deeply"),
    (b'{"a":' * 12_000 + b"1" + b"}" * 12_000, "nested too deeply"),
    (b'{"memIndexMaxLines": ' + b"9" * 100_000 + b"}", '"memIndexMaxLines" is Infinity'),
    (b'{"memIndexMaxLines": -' + b"9" * 100_000 + b"}", "a whole number from"),
    (b'{"memIndexMaxLines": 1e999}', "a whole number from"),
    (b"[]", "must hold one object"),
    (b"null", "must hold one object"),
    (b'"enabled"', "must hold one object"),
    (b" " * 200_000 + b"{}", "larger than"),
    (b"{" + b" " * 10_000_000 + b"}", "larger than"),
]


# The data are no names for tests: some are megabytes.
@pytest.mark.parametrize(("data", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_a_broken_global_file_is_refused_naming_the_place(place, data, said):
    place.write_global(data)
    with pytest.raises(Misconfigured) as caught:
        place.load()
    assert said in caught.value.message
    assert str(place.global_file) in caught.value.message
    assert len(caught.value.message) < 600


def test_a_byte_order_mark_and_windows_line_ends_are_read(place):
    place.write_global(b'\xef\xbb\xbf{\r\n  "enabled": false\r\n}\r\n')
    assert place.load().enabled is False


def test_the_users_own_links_are_followed(place, tmp_path):
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "memory.json").write_text('{"enabled": false}')
    place.global_file.parent.mkdir(parents=True)
    place.global_file.symlink_to(dotfiles / "memory.json")
    assert place.load().enabled is False
    place.global_file.unlink()
    os.link(dotfiles / "memory.json", place.global_file)
    assert place.load().enabled is False


def test_a_link_of_the_user_that_leads_nowhere_is_told(place, tmp_path):
    (place.home / ".pi").mkdir()
    (place.home / ".pi" / "agent").symlink_to(tmp_path / "unmounted")
    with pytest.raises(Misconfigured, match="leads nowhere"):
        place.load()


@pytest.mark.parametrize("kind", ["fifo", "directory", "device"])
def test_something_else_in_the_place_of_the_global_file(place, kind):
    place.global_file.parent.mkdir(parents=True)
    if kind == "fifo":
        os.mkfifo(place.global_file)
    elif kind == "directory":
        place.global_file.mkdir()
    else:
        place.global_file.symlink_to("/dev/zero")
    with pytest.raises(Misconfigured, match="cannot be read"):
        place.load()


@pytest.mark.skipif(os.geteuid() != 0, reason="drops root's rights to meet a refusal")
def test_a_global_file_that_may_not_be_read(place):
    place.write_global({}).chmod(0)
    code = (
        "import os, sys\nfrom pony_memory.config.load import load_config\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: load_config(environ={'HOME': sys.argv[1]}, workspace=sys.argv[2])\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    for path in (place.home, *place.home.parents):
        if path.stat().st_mode & 0o001 == 0:
            path.chmod(path.stat().st_mode | 0o011)
    command = [sys.executable, "-c", code, str(place.home), str(place.workspace)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Misconfigured") and "not permitted" in done.stdout


@pytest.mark.parametrize(
    "kind", ["fifo", "file link", "directory link", "hard link", "directory", "huge", "file in the way"]
)
def test_a_trap_in_the_workspace_is_left_alone_with_a_notice(place, tmp_path, kind):
    secret = tmp_path / "secret.json"
    secret.write_text('{"enabled": false}')
    directory = place.workspace / ".pi"
    if kind == "directory link":
        (tmp_path / "elsewhere").mkdir()
        secret.rename(tmp_path / "elsewhere" / "memory.json")
        directory.symlink_to(tmp_path / "elsewhere")
    elif kind == "file in the way":
        directory.touch()
    else:
        directory.mkdir()
        match kind:
            case "fifo":
                os.mkfifo(place.workspace_file)
            case "file link":
                place.workspace_file.symlink_to(secret)
            case "hard link":
                os.link(secret, place.workspace_file)
            case "directory":
                place.workspace_file.mkdir()
            case "huge":
                with open(place.workspace_file, "wb") as file:
                    file.truncate(10 * 1024**3)
    config = place.load()
    assert config.enabled and not config.exists
    (notice,) = config.notices
    assert notice.code == "config_unsafe"
    assert str(place.workspace_file) in notice.message


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet='{}[]":,01e-.tfn \\u', max_size=60).map(str.encode))
def test_any_bytes_are_an_object_or_refused(data):
    try:
        assert isinstance(source.parse(source.Source("/x/memory.json", data)), dict)
    except Misconfigured as error:
        assert error.message.startswith("/x/memory.json ")
