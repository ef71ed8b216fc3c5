"""What the file boundary reads and what it refuses, each kind with its reason (SPEC §3)."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files.boundary import Root
from pony_memory.limits import MAX_FILE_BYTES
from support.files import never_hanging, reason_for, users_root
from support.ordinary_user import as_ordinary_user, let_pass

SECRET = "the content of a file outside"

Make = Callable[[Path], object]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text(SECRET)
    place = tmp_path / "store"
    place.mkdir()
    return place


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o020_666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("making a device needs rights this user lacks")


def _hard_link(path: Path) -> None:
    os.link(path.parent.parent / "secret.txt", path)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 10 << 30)


KINDS: dict[str, tuple[Make, str]] = {
    "symlink": (lambda path: path.symlink_to("../secret.txt"), "symlink"),
    "symlink to a file beside it": (lambda path: (path.with_name("b.md").touch(), path.symlink_to("b.md")), "symlink"),
    "dangling symlink": (lambda path: path.symlink_to("nowhere"), "symlink"),
    "symlink to itself": (lambda path: path.symlink_to(path.name), "symlink"),
    "hard link": (_hard_link, "hard_link"),
    "fifo": (os.mkfifo, "fifo"),
    "socket": (_socket, "socket"),
    "device": (_device, "device"),
    "directory": (lambda path: path.mkdir(), "not_a_file"),
    "one byte too many": (lambda path: path.write_bytes(b"x" * (MAX_FILE_BYTES + 1)), "too_large"),
    "ten gigabytes": (_sparse, "too_large"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_refused_with_its_reason(
    kind: str, store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make, reason = KINDS[kind]
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    make(store / "a.md")
    root = users_root(store)
    with never_hanging():
        assert reason_for(root, "a.md") == reason
        with pytest.raises(UnsafeFile) as refused:
            root.stat(("a.md",))
        assert refused.value.reason == reason
        walk = root.walk(recursive=False)
    assert [(skipped.shown, skipped.reason) for skipped in walk.skipped if skipped.shown == "a.md"] == [
        ("a.md", reason)
    ]
    assert "a.md" not in {found.parts[-1] for found in walk.files}


def test_a_file_of_exactly_the_limit_is_read(store: Path) -> None:
    data = bytes(range(256)) * (MAX_FILE_BYTES // 256)
    (store / "a.md").write_bytes(data)
    root = users_root(store)
    raw = root.read(("a.md",))
    assert raw.data == data
    assert raw.stamp == root.stat(("a.md",)) == root.walk().files[0].stamp
    status = (store / "a.md").stat()
    assert (raw.stamp.inode, raw.stamp.size, raw.stamp.mtime_ns) == (status.st_ino, len(data), status.st_mtime_ns)


def test_another_limit_is_held_to_the_byte(store: Path) -> None:
    (store / ".history.jsonl").write_bytes(b"x" * 300_000)
    root = users_root(store)
    assert len(root.read((".history.jsonl",), limit=300_000).data) == 300_000
    with pytest.raises(UnsafeFile, match="299,999 bytes"):
        root.read((".history.jsonl",), limit=299_999)


def test_an_empty_file_is_read(store: Path) -> None:
    (store / "a.md").touch()
    assert users_root(store).read(("a.md",)).data == b""


def test_what_is_missing_is_not_found(store: Path) -> None:
    root = users_root(store)
    for parts in (("a.md",), ("notes", "a.md")):
        with pytest.raises(NotFound):
            root.read(parts)
        with pytest.raises(NotFound):
            root.stat(parts)


def test_directories_on_the_way_are_never_links(store: Path) -> None:
    (store / "notes").symlink_to("../outside")
    (store / "file").write_text("x")
    root = users_root(store)
    assert reason_for(root, "notes", "a.md") == "symlink"
    assert reason_for(root, "file", "a.md") == "not_a_directory"
    with pytest.raises(UnsafeFile), root.open_dir(("notes",)):
        pass
    walk = root.walk()
    assert [(skipped.shown, skipped.reason) for skipped in walk.skipped] == [("notes", "symlink")]
    assert walk.files == ()
    assert [(skipped.shown, skipped.reason) for skipped in root.walk(below=("notes",)).skipped] == [
        ("notes", "symlink")
    ]


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (("..", "secret.txt"), "outside_root"),
        (("a", "..", "..", "secret.txt"), "outside_root"),
        (("../secret.txt",), "outside_root"),
        (("/etc/passwd",), "outside_root"),
        (("",), "outside_root"),
        ((".",), "outside_root"),
        (("a\0.md",), "bad_name"),
        (("a\n.md",), "bad_name"),
        (("a\\b.md",), "bad_name"),
        (("a\x1b[31m.md",), "bad_name"),
        (("\udcff.md",), "bad_name"),
        (("x" * 300 + ".md",), "bad_name"),
        (("d\n", "a.md"), "bad_name"),
        ((), "not_a_file"),
    ],
)
def test_names_that_lead_out_or_cannot_be_shown_are_refused(store: Path, parts: tuple[str, ...], reason: str) -> None:
    (store / "a").mkdir()
    assert reason_for(users_root(store), *parts) == reason


def test_names_of_every_script_are_read(store: Path) -> None:
    names = ("备忘.md", "メモ.md", "café.md", "a b.md", "🦄.md", "a'\"$(x).md", "ا.md")
    for name in names:
        (store / name).write_text(name)
    root = users_root(store)
    assert {root.read((name,)).data.decode() for name in names} == set(names)
    assert [found.parts[0] for found in root.walk().files] == sorted(names)


def test_bad_names_in_a_directory_are_named_printably(store: Path) -> None:
    bad = (b"a\nb.md", b"c\x1b[31md.md", b"\xff\xfe.md", b"back\\slash.md")
    for name in bad:
        Path(os.fsdecode(os.path.join(os.fsencode(store), name))).write_text("x")
    os.mkdir(os.path.join(os.fsencode(store), b"dir\n"))
    walk = users_root(store).walk()
    assert walk.files == ()
    assert {skipped.reason.value for skipped in walk.skipped} == {"bad_name"}
    shown = {skipped.shown for skipped in walk.skipped}
    assert shown == {"a\\nb.md", "c\\x1b[31md.md", "\\xff\\xfe.md", "back\\slash.md", "dir\\n"}
    assert {skipped.parts[0] for skipped in walk.skipped} == {*map(os.fsdecode, bad), "dir\n"}


def test_what_the_user_may_not_read_is_refused_and_the_rest_is_read(store: Path) -> None:
    let_pass(store)
    (store / "a.md").write_text("mine")
    (store / "b.md").write_text("yours")
    (store / "closed").mkdir()
    (store / "closed" / "c.md").write_text("hidden")
    os.chmod(store / "b.md", 0o000)
    os.chmod(store / "closed", 0o000)

    def look() -> list[object]:
        root = users_root(store)
        refused = []
        for parts in (("b.md",), ("closed", "c.md")):
            try:
                root.read(parts)
            except UnsafeFile as error:
                refused.append(error.reason)
        walk = root.walk()
        return [
            root.read(("a.md",)).data.decode(),
            refused,
            [found.parts[0] for found in walk.files],
            [(skipped.shown, skipped.reason) for skipped in walk.skipped],
        ]

    assert as_ordinary_user(look) == [
        "mine",
        ["not_permitted", "not_permitted"],
        ["a.md", "b.md"],
        [["closed", "not_permitted"]],
    ]


def test_refusals_say_what_and_why_and_never_the_content(store: Path) -> None:
    (store / "a.md").symlink_to("../secret.txt")
    with pytest.raises(UnsafeFile) as refused:
        users_root(store).read(("a.md",))
    assert "a.md" in refused.value.message and "symbolic link" in refused.value.message
    assert SECRET not in refused.value.message


def test_a_reader_goes_up_and_down_directories_and_leaves_nothing_open(store: Path) -> None:
    for parts in (("a.md",), ("d", "b.md"), ("d", "e", "c.md"), ("f", "g", "d.md")):
        path = store.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("/".join(parts))
    root: Root = users_root(store)
    before = len(os.listdir("/dev/fd"))
    with root.reader() as reader:
        for parts in (("d", "e", "c.md"), ("a.md",), ("f", "g", "d.md"), ("d", "b.md"), ("d", "e", "c.md")):
            assert reader.read(parts).data.decode() == "/".join(parts)
        with pytest.raises(NotFound):
            reader.read(("d", "x", "y", "c.md"))
        assert reader.read(("d", "b.md")).data == b"d/b.md"
    with pytest.raises(UnsafeFile), root.open_dir(("a.md",)):
        pass
    assert len(os.listdir("/dev/fd")) == before
