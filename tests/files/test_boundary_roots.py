"""Where a root may be reached through links and where not, and that it stays the same directory (SPEC §3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pony_memory.errors import UnsafeFile
from pony_memory.files.boundary import Root, RootSpec
from support.files import reason_for, users_root, workspace_root


def test_a_missing_root_is_an_empty_scope(tmp_path: Path) -> None:
    assert workspace_root(tmp_path) is None
    assert workspace_root(tmp_path / "nowhere") is None
    assert Root.resolve(RootSpec(str(tmp_path / "a" / "b"), (), follow_trusted=True)) is None


@pytest.mark.parametrize("link", [".pony", ".pony/memory"])
def test_no_link_is_followed_below_a_workspace(tmp_path: Path, link: str) -> None:
    (tmp_path / "outside" / "memory").mkdir(parents=True)
    (tmp_path / "outside" / "memory" / "agent_notes.md").write_text("outside")
    workspace = tmp_path / "workspace"
    (workspace / link).parent.mkdir(parents=True)
    (workspace / link).symlink_to(tmp_path / "outside" / ("memory" if "/" in link else ""))
    with pytest.raises(UnsafeFile) as refused:
        workspace_root(workspace)
    assert refused.value.reason == "symlink"


def test_a_file_in_place_of_a_workspaces_memory_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".pony").write_text("x")
    with pytest.raises(UnsafeFile) as refused:
        workspace_root(tmp_path)
    assert refused.value.reason == "not_a_directory"


def test_a_workspace_may_itself_be_named_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / ".pony" / "memory").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    root = workspace_root(tmp_path / "link")
    assert root is not None
    assert root.path == str(tmp_path / "real" / ".pony" / "memory")


def test_the_users_own_root_may_be_reached_through_links_and_nothing_below_it_is(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "memory"
    (real / "notes").mkdir(parents=True)
    (real / "notes" / "a.md").write_text("mine")
    (real / "notes" / "b.md").symlink_to("a.md")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".pony").symlink_to("../dotfiles")
    (tmp_path / "dotfiles" / "linked").symlink_to("memory")
    root = users_root(tmp_path / "home" / ".pony" / "linked")
    assert root.path == str(real)
    assert (root.device, root.inode) == (real.stat().st_dev, real.stat().st_ino)
    assert root.read(("notes", "a.md")).data == b"mine"
    assert reason_for(root, "notes", "b.md") == "symlink"


def test_the_users_root_below_a_trusted_place_is_resolved_whole(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "pi").mkdir()
    (tmp_path / "pi" / "git").symlink_to("../store")
    root = Root.resolve(RootSpec(str(tmp_path / "pi"), ("git",), follow_trusted=True))
    assert root is not None and root.path == str(tmp_path / "store")


@pytest.mark.parametrize("target", ["nowhere", "nowhere/memory", "loop"])
def test_a_link_that_leads_nowhere_is_no_empty_scope(tmp_path: Path, target: str) -> None:
    link = tmp_path / ("loop" if target == "loop" else "memory")
    link.symlink_to(target)
    for place in (link, link / "deeper"):
        with pytest.raises(UnsafeFile) as refused:
            Root.resolve(RootSpec(str(place), (), follow_trusted=True))
        assert refused.value.reason == "symlink"
        assert link.name in refused.value.message


def test_a_link_given_another_target_later_changes_nothing_that_is_pinned(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(name)
    (tmp_path / "memory").symlink_to("one")
    root = users_root(tmp_path / "memory")
    (tmp_path / "memory").unlink()
    (tmp_path / "memory").symlink_to("two")
    assert root.read(("a.md",)).data == b"one"


@pytest.mark.parametrize("by", ["another directory", "a link to another", "a file", "nothing"])
def test_a_root_that_was_replaced_is_noticed(tmp_path: Path, by: str) -> None:
    place = tmp_path / "workspace" / ".pony" / "memory"
    place.mkdir(parents=True)
    (place / "agent_notes.md").write_text("pinned")
    other = tmp_path / "other"
    other.mkdir()
    (other / "agent_notes.md").write_text("another")
    root = workspace_root(tmp_path / "workspace")
    assert root is not None
    assert root.read(("agent_notes.md",)).data == b"pinned"

    os.rename(place, tmp_path / "away")
    if by == "another directory":
        os.rename(other, place)
    elif by == "a link to another":
        place.symlink_to(other)
    elif by == "a file":
        place.write_text("x")

    assert reason_for(root, "agent_notes.md") == "root_changed"
    for act in (root.walk, root.names, root.check, lambda: root.stat(("agent_notes.md",))):
        with pytest.raises(UnsafeFile) as refused:
            act()
        assert refused.value.reason == "root_changed"
    if by == "another directory":
        os.rename(place, other)
        os.rename(tmp_path / "away", place)
        assert root.read(("agent_notes.md",)).data == b"pinned"


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("x")
    with pytest.raises(UnsafeFile) as refused:
        users_root(tmp_path / "memory")
    assert refused.value.reason == "not_a_directory"
