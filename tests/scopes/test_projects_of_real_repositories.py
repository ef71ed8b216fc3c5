"""SPEC §2: which store belongs to a directory, seen on real git repositories."""

from __future__ import annotations

import pytest

from pony_memory.scopes.project_name import directory_name
from pony_memory.scopes.scopes import resolve_scopes
from pony_memory.scopes.workspace import discover_workspace, find_workspace
from support.git_repos import environment, git, repository, script

URL = "https://github.com/owner/repo.git"
NAME = "github.com__owner__repo"


@pytest.fixture
def home(tmp_path):
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def place(home):
    def find(directory, **more):
        return resolve_scopes(cwd=str(directory), environ=environment(home, **more))

    return find


def project(scopes):
    assert scopes.notices == ()
    return scopes.project.kind, scopes.project.name


def test_the_root_and_a_subdirectory_share_workspace_and_store(tmp_path, home, place):
    root = repository(tmp_path / "repo", origin=URL)
    inner = root / "src" / "deep"
    inner.mkdir(parents=True)
    for directory in (root, inner):
        scopes = place(directory)
        assert scopes.workspace == str(root)
        assert scopes.working_directory == str(directory)
        assert project(scopes) == ("git", NAME)
        assert scopes.project.path == f"{home}/.pi/memory/git/{NAME}"
        assert scopes.get("project").location == scopes.project.path


def test_clones_and_worktrees_share_the_store_of_their_remote(tmp_path, place):
    root = repository(tmp_path / "repo", origin=URL)
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", str(root), "copy")
    git(tmp_path / "copy", "config", "remote.origin.url", "git@github.com:owner/repo.git")
    assert project(place(root)) == project(place(tmp_path / "tree")) == project(place(tmp_path / "copy"))
    assert place(tmp_path / "tree").workspace == str(tmp_path / "tree")


def test_a_local_clone_is_local(tmp_path, place):
    root = repository(tmp_path / "repo", origin=URL)
    git(tmp_path, "clone", "-q", str(root), "copy")
    assert project(place(tmp_path / "copy")) == ("local", directory_name(str(tmp_path / "copy")))


def test_origin_comes_first_then_the_names(tmp_path, place):
    remotes = {"alpha": "https://h/alpha", "zeta": "https://h/zeta"}
    assert project(place(repository(tmp_path / "a", **remotes, origin=URL))) == ("git", NAME)
    assert project(place(repository(tmp_path / "b", **dict(reversed(remotes.items()))))) == ("git", "h__alpha")


def test_the_next_remote_is_tried_when_one_is_unusable(tmp_path, place):
    remotes = {"origin": "file:///srv/x", "aa": "/srv/y", "bb": "https://h/", "cc": URL}
    assert project(place(repository(tmp_path / "a", **remotes))) == ("git", NAME)
    only_local = {"origin": "file:///srv/x", "aa": "/srv/y"}
    assert project(place(repository(tmp_path / "b", **only_local)))[0] == "local"


def test_the_next_url_of_a_remote_is_tried(tmp_path, place):
    root = repository(tmp_path / "a", origin="/srv/x")
    git(root, "config", "--add", "remote.origin.url", URL)
    assert project(place(root)) == ("git", NAME)


def test_names_and_urls_with_dots_spaces_and_line_breaks_are_told_apart(tmp_path, place):
    root = repository(tmp_path / "a", **{"a.url.b": "/srv/x"})
    git(root, "config", "remote.z.url", "host:line\nbreak me.git")
    assert project(place(root)) == ("git", "host__line_0abreak me")


def test_instead_of_and_pushurl_have_no_effect(tmp_path, home, place):
    (home / ".gitconfig").write_text('[url "https://other.example/"]\n\tinsteadOf = https://github.com/\n')
    root = repository(tmp_path / "a", origin=URL)
    git(root, "config", "remote.origin.pushurl", "https://other.example/push")
    git(root, "config", "url.https://third.example/.insteadOf", "https://github.com/")
    assert project(place(root)) == ("git", NAME)
    only_push = repository(tmp_path / "b")
    git(only_push, "config", "remote.origin.pushurl", URL)
    assert project(place(only_push))[0] == "local"


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:owner/repo.git",
        "ssh://git@github.com:22/owner/repo",
        "https://me@corp:p@ss@github.com/owner/repo.git",
        "github.com:owner/repo",
    ],
)
def test_spellings_in_a_real_configuration_share_a_store(tmp_path, place, url):
    assert project(place(repository(tmp_path / "a", origin=url))) == ("git", NAME)


def test_idn_and_ipv6_in_a_real_configuration(tmp_path, place):
    root = repository(tmp_path / "a", origin="git@bücher.example:o/r.git")
    assert project(place(root)) == ("git", "xn--bcher-kva.example__o__r")
    root = repository(tmp_path / "b", origin="git@[2001:DB8::1]:o/r.git")
    assert project(place(root)) == ("git", "[2001_3adb8_3a_3a1]__o__r")


def test_outside_git_the_working_directory_is_workspace_and_name(tmp_path, place):
    plain = tmp_path / "plain"
    plain.mkdir()
    scopes = place(plain)
    assert scopes.workspace == str(plain)
    assert project(scopes) == ("local", directory_name(str(plain)))


def test_a_link_to_a_directory_is_that_directory(tmp_path, place):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert place(tmp_path / "link") == place(tmp_path / "real")


def test_long_chinese_names(tmp_path, place):
    deep = tmp_path / ("项目" * 20) / ("记忆" * 20)
    deep.mkdir(parents=True)
    kind, name = project(place(deep))
    assert kind == "local" and name == directory_name(str(deep)) and len(name.encode()) <= 110
    root = repository(deep, origin="host:" + "仓库" * 40)
    assert project(place(root)) == ("git", directory_name("host/" + "仓库" * 40))


def test_a_directory_whose_name_is_not_utf8(tmp_path, place):
    raw = str(tmp_path / "raw\udcff")
    import os

    os.mkdir(raw)
    scopes = place(raw)
    assert scopes.workspace == raw
    assert scopes.project.name.endswith("raw\ufffd")


def test_a_submodule_is_a_project_of_its_own(tmp_path, place):
    library = repository(tmp_path / "library")
    root = repository(tmp_path / "repo", origin=URL)
    git(root, "submodule", "--quiet", "add", str(library), "lib")
    git(root / "lib", "config", "remote.origin.url", "https://h/lib.git")
    scopes = place(root / "lib")
    assert scopes.workspace == str(root / "lib")
    assert project(scopes) == ("git", "h__lib")
    assert project(place(root)) == ("git", NAME)


def test_git_variables_of_the_environment_are_ignored(tmp_path, place):
    other = repository(tmp_path / "other", origin="https://h/other")
    root = repository(tmp_path / "repo", origin=URL)
    plain = tmp_path / "plain"
    plain.mkdir()
    more = {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_CONFIG_GLOBAL": "/nonexistent/x"}
    more |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "remote.origin.url", "GIT_CONFIG_VALUE_0": "https://h/env"}
    assert project(place(root, **more)) == ("git", NAME)
    assert project(place(plain, **more))[0] == "local"


def test_the_older_layout_is_not_used(tmp_path, home, place):
    import hashlib

    root = repository(tmp_path / "repo", origin=URL)
    old = home / ".pi" / "memory" / hashlib.sha256(str(root).encode()).hexdigest()[:12]
    old.mkdir(parents=True)
    assert project(place(root)) == ("git", NAME)
    assert list(old.iterdir()) == []


def test_git_is_asked_once_each(tmp_path, home):
    root = repository(tmp_path / "repo", origin=URL)
    real = environment(home)["PATH"]
    script(tmp_path / "bin" / "git", f'echo "$@" >> {tmp_path}/calls\nPATH="{real}" exec git "$@"')
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(home)}
    calls = tmp_path / "calls"

    resolve_scopes(cwd=str(root), environ=environ)
    assert calls.read_text().splitlines() == [
        "rev-parse --show-toplevel",
        r"config --null --get-regexp ^remote\..*\.url$",
    ]
    calls.write_text("")
    resolve_scopes(cwd=str(root), environ=environ, want=("user", "workspace"))
    assert calls.read_text().splitlines() == ["rev-parse --show-toplevel"]
    calls.write_text("")
    resolve_scopes(cwd=str(root), environ=environ, workspace=str(root), project_dir=str(tmp_path / "store"))
    assert calls.read_text() == ""
    found = discover_workspace(cwd=str(root), environ=environ)
    assert find_workspace(str(root), environ) == (found.path, ())
    calls.write_text("")
    assert resolve_scopes(cwd=str(root), environ=environ, workspace=found).project.name == NAME
    assert [call.split()[0] for call in calls.read_text().splitlines()] == ["config"]
