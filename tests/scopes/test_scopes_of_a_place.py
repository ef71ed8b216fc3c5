"""SPEC §2 and §3: which scopes there are, where they lie, and whose links are followed."""

from __future__ import annotations

import pytest

from pony_memory.errors import InvalidRequest, NotFound, Unavailable
from pony_memory.files.boundary import Root
from pony_memory.scopes.scopes import resolve_scopes
from support.git_repos import environment, repository


@pytest.fixture
def home(tmp_path):
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain"
    path.mkdir()
    return path


def test_three_scopes_in_the_order_of_scans(home, plain):
    scopes = resolve_scopes(cwd=str(plain), environ=environment(home))
    assert scopes.names == ("user", "workspace", "project")
    assert [scope.location for scope in scopes.available] == [
        f"{home}/.pony/memory",
        f"{plain}/.pony/memory",
        scopes.project.path,
    ]
    assert scopes.unavailable == ()
    assert all(Root.resolve(scope.spec) is None for scope in scopes.available)


def test_only_the_users_own_roots_are_reached_through_links(tmp_path, home, plain):
    dotfiles = tmp_path / "dotfiles"
    (dotfiles / "pony" / "memory").mkdir(parents=True)
    (dotfiles / "pi" / "memory").mkdir(parents=True)
    (home / ".pony").symlink_to(dotfiles / "pony")
    (home / ".pi").symlink_to(dotfiles / "pi")
    (plain / ".pony").symlink_to(dotfiles / "pony")
    scopes = resolve_scopes(cwd=str(plain), environ=environment(home))
    assert Root.resolve(scopes.get("user").spec).path == str(dotfiles / "pony" / "memory")
    assert scopes.get("project").spec.follow_trusted
    assert not scopes.get("workspace").spec.follow_trusted
    with pytest.raises(Exception, match="symbolic link"):
        Root.resolve(scopes.get("workspace").spec)


@pytest.mark.parametrize("value", [None, "", "relative/home"])
def test_without_home_the_user_scope_and_the_default_store_say_why(plain, home, value):
    environ = environment(home)
    del environ["HOME"]
    if value is not None:
        environ["HOME"] = value
    scopes = resolve_scopes(cwd=str(plain), environ=environ)
    assert scopes.names == ("workspace",)
    assert [name for name, _ in scopes.unavailable] == ["user", "project"]
    assert all("$HOME" in why for _, why in scopes.unavailable)
    assert scopes.project is None
    with pytest.raises(Unavailable, match=r"\$HOME"):
        scopes.get("user")
    scopes = resolve_scopes(cwd=str(plain), environ=environ, memory_dir="/srv/memory")
    assert scopes.project.path.startswith("/srv/memory/local/")
    scopes = resolve_scopes(cwd=str(plain), environ=environ, project_dir="store")
    assert scopes.project.path == f"{plain}/store"


def test_memory_dir_moves_the_default_store(home, plain):
    scopes = resolve_scopes(cwd=str(plain), environ=environment(home), memory_dir="/srv/memory")
    assert scopes.get("project").location.startswith("/srv/memory/local/")


def test_project_dir_opens_an_explicit_store(home, plain):
    scopes = resolve_scopes(cwd=str(plain), environ=environment(home), project_dir="../some/store/")
    path = f"{plain.parent}/some/store"
    assert (scopes.project.kind, scopes.project.name, scopes.project.path) == ("explicit", "store", path)
    assert scopes.get("project").location == path


def test_a_workspace_that_is_home_is_one_scope_named_user(home):
    scopes = resolve_scopes(cwd=str(home), environ=environment(home))
    assert scopes.names == ("user", "project")
    with pytest.raises(Unavailable, match="same directory"):
        scopes.get("workspace")


def test_home_reached_through_a_link_is_still_one_scope(tmp_path, home):
    (tmp_path / "link").symlink_to(home)
    scopes = resolve_scopes(cwd=str(home), environ=environment(tmp_path / "link"))
    assert scopes.names == ("user", "project")


def test_one_device_and_inode_is_one_scope(home, plain):
    (plain / ".pony" / "memory").mkdir(parents=True)
    (home / ".pony").symlink_to(plain / ".pony")
    assert resolve_scopes(cwd=str(plain), environ=environment(home)).names == ("user", "project")


def test_a_link_in_a_workspace_to_the_users_memories_stays_a_scope_of_its_own_and_is_refused(home, plain):
    (home / ".pony" / "memory").mkdir(parents=True)
    (plain / ".pony").symlink_to(home / ".pony")
    scopes = resolve_scopes(cwd=str(plain), environ=environment(home))
    assert scopes.names == ("user", "workspace", "project")


def test_workspace_overrides_for_the_project_store_too(tmp_path, home, plain):
    root = repository(tmp_path / "repo", origin="https://h/repo")
    (root / "sub").mkdir()
    scopes = resolve_scopes(cwd=str(plain), environ=environment(home), workspace="../repo/sub")
    assert scopes.working_directory == str(plain)
    assert scopes.workspace == str(root / "sub")
    assert scopes.project.name == "h__repo"


def test_a_workspace_that_is_none_is_refused(tmp_path, home, plain):
    (tmp_path / "file").touch()
    with pytest.raises(NotFound, match="no-such"):
        resolve_scopes(cwd=str(plain), environ=environment(home), workspace="no-such")
    with pytest.raises(InvalidRequest, match="not a directory"):
        resolve_scopes(cwd=str(plain), environ=environment(home), workspace=str(tmp_path / "file"))
    with pytest.raises(NotFound, match="working directory"):
        resolve_scopes(cwd=str(tmp_path / "gone"), environ=environment(home))


def test_scopes_that_are_not_wanted_are_not_opened(home, plain):
    scopes = resolve_scopes(cwd=str(plain), environ=environment(home), want=("user",))
    assert scopes.names == ("user",)
    assert scopes.unavailable == ()
    with pytest.raises(Unavailable, match="not opened"):
        scopes.get("project")
