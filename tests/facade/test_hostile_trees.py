"""Whatever is in the directories, every reading gives an answer, and never what is behind a link (SPEC §3, §24)."""

import os
import socket
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.errors import PonyError
from support.places import Place

NAMES = [
    *(
        b"a.md",
        b"MEMORY.md",
        b"agent_notes.md",
        b"notes",
        b"x\x1b[31m.md",
        b"\xff\xfe.md",
        b"---.md",
        b"\xe4\xb8\xad.md",
    ),
    *(b".lock", b".dream-meta.json", b".backups", b"2026-01-01T00-00-00-000Z-add", b"d", b"d.md", b" .md", b"a\nb.md"),
]
CONTENTS = [
    *(b"", b"---", b"---\nname: x\n---\nbody", b"\xff" * 99, b"\r" * 9, b"[" * 9_000, b"null", b'{"pid": 1}'),
    b"- [x](y.md) \xe2\x80\x94 z\n" * 300,
    b"- 2026-01-01T00:00:00Z  hi\n",
    b'{"lastDreamAt": "2026-01-01\x1b00:00", "sessionsSinceDream": 1e400}',
    b"---\nname: &a [*a]\nx:\n  - y\nsupersedes: [x, a]\n---\n",
    b"---\nname: n\ndescription: d\ntype: user\ncreated: 2026-01-01\nmodified: 0001-01-01T00:00+14:00\n---\n[[x]]",
    b"x" * 131_073,
]
THINGS = [*CONTENTS, "link", "dangling", "up", "fifo", "socket", "hard link"]
trees = st.deferred(
    lambda: st.dictionaries(st.sampled_from(NAMES), st.one_of(st.sampled_from(THINGS), trees), max_size=6)
)


def build(directory, tree, secret):
    os.makedirs(directory, exist_ok=True)
    for name, thing in tree.items():
        path = os.path.join(os.fsencode(directory), name)
        match thing:
            case dict():
                build(path, thing, secret)
            case bytes():
                Path(os.fsdecode(path)).write_bytes(thing)
            case "fifo":
                os.mkfifo(path)
            case "socket":
                # A socket's address may have about 100 bytes: it is made under a short name and moved into the tree.
                with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as made:
                    made.bind(os.path.join(short, "s"))
                    os.rename(os.path.join(short, "s"), path)
            case "hard link":
                os.link(secret, path)
            case _:
                os.symlink({"link": secret, "dangling": "nowhere", "up": ".."}[thing], path)


@settings(max_examples=60, deadline=None)
@given(user=trees, workspace=trees, project=trees)
def test_no_tree_keeps_a_reading_from_an_answer(user, workspace, project):
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory) / "p")
        secret = place.root / "secret.md"
        secret.write_text("TOP-SECRET hi body x")
        for scope, tree in (("user", user), ("workspace", workspace), ("project", project)):
            build(place.scope_root(scope), tree, secret)
        memory = place.memory()
        status, doctor, rows = memory.status(), memory.doctor(), memory.list_files()
        answers = [status, doctor, rows, memory.review(), memory.entries(), memory.snapshot().files]
        answers += [memory.search("hi body x 中", explain=True), memory.lock_state()]
        assert "TOP-SECRET" not in repr(answers)
        assert all(row.path.isprintable() for row in rows)
        # The three speak of the same files.
        assert {item.path for item in status.left_out} == {row.path for row in rows if row.status not in READ}
        assert {check.path for check in doctor.checks if check.status == "unsafe"} <= {row.path for row in rows}
        for row in rows:
            try:
                page = memory.read(row.path)
            except PonyError as error:
                assert row.status not in READ
                assert error.message.isprintable()
            else:
                assert row.status in READ
                assert "TOP-SECRET" not in page.text


READ = {"ok", "superseded", "not_an_entry"}
