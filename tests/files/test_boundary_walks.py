"""The walk: canonical order, what counts, what is named, and its bounds (SPEC §3)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.files.boundary import Walk
from pony_memory.files.walk import WALK_MAX_DEPTH, WALK_MAX_NAMES
from support.files import fast_directory, users_root

_SEGMENTS = st.text(alphabet="ab.-/ 0é_~A", min_size=1, max_size=6).filter(
    lambda name: "/" not in name and not name.startswith(".")
)


def shown(walk: Walk) -> list[str]:
    return ["/".join(found.parts) for found in walk.files]


def write(place: Path, *paths: str) -> None:
    for path in paths:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(path)


def test_files_come_in_the_order_of_their_whole_paths(tmp_path: Path) -> None:
    paths = ["b.md", "a/z.md", "a-b/c.md", "a.md", "a/b/c.md", "a/b.md", "B.md", "中/文.md", "a b/c.md"]
    write(tmp_path, *paths)
    assert shown(users_root(tmp_path).walk()) == sorted(paths)


@given(st.lists(st.lists(_SEGMENTS, min_size=1, max_size=3), max_size=12))
@settings(max_examples=60, deadline=None)
def test_the_order_is_that_of_text_for_any_names(paths: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        written = set()
        for parts in paths:
            path = os.path.join(place, *parts[:-1], parts[-1] + ".md")
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                Path(path).touch()
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                continue
            written.add(os.path.relpath(path, place))
        walk = users_root(Path(place)).walk()
        assert shown(walk) == sorted(written)
        assert walk.complete and not walk.skipped and not walk.cut


def test_only_the_suffix_counts_and_dot_names_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.txt", ".c.md", ".d/e.md", "f/.g.md", "f/h.md", "md", "i.MD")
    walk = users_root(tmp_path).walk()
    assert shown(walk) == ["a.md", "f/h.md"]
    assert walk.skipped == ()
    assert walk.directories == ((), ("f",))
    assert shown(users_root(tmp_path).walk(suffix=".txt")) == ["b.txt"]


def test_a_directory_named_like_a_note_is_walked_or_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.md/b.md")
    root = users_root(tmp_path)
    assert shown(root.walk()) == ["a.md/b.md"]
    flat = root.walk(recursive=False)
    assert flat.files == () and [(item.shown, item.reason) for item in flat.skipped] == [("a.md", "not_a_file")]


def test_a_walk_below_gives_paths_from_the_root(tmp_path: Path) -> None:
    write(tmp_path, "notes/a.md", "notes/d/b.md", "other.md")
    root = users_root(tmp_path)
    walk = root.walk(below=("notes",))
    assert shown(walk) == ["notes/a.md", "notes/d/b.md"]
    assert walk.directories == (("notes",), ("notes", "d"))
    flat = root.walk(below=("notes",), recursive=False)
    assert shown(flat) == ["notes/a.md"] and flat.directories == (("notes",),)


def test_a_missing_start_is_an_empty_walk(tmp_path: Path) -> None:
    assert users_root(tmp_path).walk(below=("notes", "x")) == Walk((), (), (), True, 0, ())


def test_every_link_of_a_recursive_walk_is_named_for_it_may_be_a_directory_of_notes(tmp_path: Path) -> None:
    place, outside = tmp_path / "store", tmp_path / "outside"
    write(place, "a.md")
    write(outside, "b.md")
    (place / "shared").symlink_to(outside)
    (place / "picture.png").symlink_to(outside / "b.md")
    root = users_root(place)
    assert [(item.shown, item.reason) for item in root.walk().skipped] == [
        ("picture.png", "symlink"),
        ("shared", "symlink"),
    ]
    assert root.walk(recursive=False).skipped == ()
    assert shown(root.walk()) == ["a.md"]


def test_what_is_refused_keeps_its_stamp_so_that_a_change_of_it_shows(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("nowhere")
    walk = users_root(tmp_path).walk()
    assert walk.skipped[0].stamp is not None
    assert walk.skipped[0].stamp.inode == (tmp_path / "a.md").lstat().st_ino


def test_the_bound_on_names_stops_the_walk_and_is_told(tmp_path: Path) -> None:
    write(tmp_path, *(f"a/{number}.md" for number in range(30)), *(f"b/.{number}" for number in range(30)))
    root = users_root(tmp_path)
    walk = root.walk(max_names=62)
    assert walk.complete and walk.seen == 62 and len(walk.files) == 30
    walk = root.walk(max_names=61)
    assert not walk.complete and walk.seen == 61 and walk.cut == (("b",),)
    walk = root.walk(max_names=10)
    assert not walk.complete and len(walk.files) == 8 and walk.cut == (("a",),)


def test_the_bound_on_depth_leaves_the_rest_and_is_told(tmp_path: Path) -> None:
    deep = "/".join(["d"] * WALK_MAX_DEPTH)
    write(tmp_path, f"{deep}/in.md", f"{deep}/e/out.md", "z.md")
    walk = users_root(tmp_path).walk()
    assert shown(walk) == [f"{deep}/in.md", "z.md"]
    assert not walk.complete and walk.cut == ((*deep.split("/"), "e"),)


def test_a_directory_of_a_hundred_thousand_names_is_bounded() -> None:
    with fast_directory() as place:
        descriptor = os.open(place, os.O_RDONLY)
        for number in range(WALK_MAX_NAMES + 1):
            os.symlink("x", f"{number}.md", dir_fd=descriptor)
        os.close(descriptor)
        root = users_root(place)
        walk = root.walk()
        assert not walk.complete and walk.cut == ((),)
        assert walk.seen == WALK_MAX_NAMES == len(walk.skipped)
        assert len(root.names(max_names=10)) == 10


def test_names_lists_our_own_files_too(tmp_path: Path) -> None:
    write(tmp_path, "b", ".a", "c/d")
    assert users_root(tmp_path).names() == (".a", "b", "c")
    assert users_root(tmp_path).names(("c",)) == ("d",)
