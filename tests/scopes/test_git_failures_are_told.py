"""SPEC §2: no git and no repository are silent; any other failure leads to the local store and says so."""

from __future__ import annotations

import os
import select

import pytest

from pony_memory.limits import GIT_TIMEOUT_S
from pony_memory.scopes.project_name import directory_name
from pony_memory.scopes.scopes import resolve_scopes
from support.git_repos import environment, git, repository, script

URL = "https://github.com/owner/repo.git"


@pytest.fixture
def home(tmp_path):
    path = tmp_path / "home"
    path.mkdir()
    return path


def is_local(scopes, directory):
    return (scopes.project.kind, scopes.project.name) == ("local", directory_name(str(directory)))


def only_notice(scopes):
    (notice,) = scopes.notices
    assert "local/" in notice.message
    assert notice.hint
    return notice


def test_no_git_on_path_is_silent(tmp_path, home):
    root = repository(tmp_path / "repo", origin=URL)
    (tmp_path / "bin").mkdir()
    scopes = resolve_scopes(cwd=str(root), environ={"PATH": str(tmp_path / "bin"), "HOME": str(home)})
    assert is_local(scopes, root)
    assert scopes.notices == ()


def test_git_is_never_taken_from_a_relative_directory(tmp_path, home, monkeypatch):
    place = tmp_path / "stranger"
    script(place / "git", f"touch {tmp_path}/ran")
    script(place / "bin" / "git", f"touch {tmp_path}/ran")
    monkeypatch.chdir(place)
    for path in ("", ".", ":", "bin", "./bin"):
        scopes = resolve_scopes(cwd=str(place), environ={"PATH": path, "HOME": str(home)})
        assert is_local(scopes, place)
        assert scopes.notices == ()
    assert not (tmp_path / "ran").exists()


def test_no_repository_is_silent(tmp_path, home):
    plain = tmp_path / "plain"
    plain.mkdir()
    assert resolve_scopes(cwd=str(plain), environ=environment(home, LANG="zh_CN.UTF-8")).notices == ()


def test_no_repository_is_told_from_a_failure_in_every_language(tmp_path, home):
    place = tmp_path / "plain"
    place.mkdir()
    english = "not a git repository (or any of the parent directories): .git"
    said = f'if [ "$LC_ALL$LANGUAGE" = CC ]; then echo "fatal: {english}"; else echo "致命错误：不是 git 仓库"; fi'
    script(tmp_path / "bin" / "git", f"{{ {said}; }} >&2; exit 128")
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(home), "LC_ALL": "zh_CN.UTF-8", "LANGUAGE": "zh"}
    assert resolve_scopes(cwd=str(place), environ=environ).notices == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another owner")
def test_a_repository_of_a_foreign_owner_is_told(tmp_path, home):
    root = repository(tmp_path / "repo", origin=URL)
    (root / "src").mkdir()
    for directory, names, files in os.walk(root):
        for name in (".", *names, *files):
            os.chown(os.path.join(directory, name), 65534, 65534)
    scopes = resolve_scopes(cwd=str(root / "src"), environ=environment(home))
    assert is_local(scopes, root / "src")
    notice = only_notice(scopes)
    assert notice.code == "git_foreign_owner"
    assert "safe.directory" in notice.hint
    (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")
    scopes = resolve_scopes(cwd=str(root / "src"), environ=environment(home))
    assert scopes.project.kind == "git"
    assert scopes.notices == ()


def test_a_broken_configuration_is_told(tmp_path, home):
    root = repository(tmp_path / "repo", origin=URL)
    with open(root / ".git" / "config", "a") as config:
        config.write("[remote\n")
    scopes = resolve_scopes(cwd=str(root), environ=environment(home))
    assert is_local(scopes, root)
    notice = only_notice(scopes)
    assert notice.code == "git_failed"
    assert "bad config" in notice.message


def test_a_git_file_that_leads_nowhere_is_told(tmp_path, home):
    place = tmp_path / "gone"
    place.mkdir()
    (place / ".git").write_text("gitdir: /nonexistent/repo/.git\n")
    scopes = resolve_scopes(cwd=str(place), environ=environment(home))
    assert is_local(scopes, place)
    assert only_notice(scopes).code == "git_failed"


def test_a_bare_repository_has_no_working_tree_and_is_told(tmp_path, home):
    root = repository(tmp_path / "repo", origin=URL)
    git(tmp_path, "clone", "-q", "--bare", str(root), "bare.git")
    for place in (tmp_path / "bare.git", root / ".git"):
        scopes = resolve_scopes(cwd=str(place), environ=environment(home))
        assert is_local(scopes, place)
        assert scopes.workspace == str(place)
        assert only_notice(scopes).code == "git_no_work_tree"


def test_a_working_tree_that_does_not_hold_the_directory_is_not_taken(tmp_path, home):
    root = repository(tmp_path / "repo", origin=URL)
    (tmp_path / "elsewhere").mkdir()
    git(root, "config", "core.worktree", str(tmp_path / "elsewhere"))
    scopes = resolve_scopes(cwd=str(root), environ=environment(home))
    assert scopes.workspace == str(root)
    assert is_local(scopes, root)
    assert only_notice(scopes).code == "git_failed"


def test_the_time_limit_is_three_seconds():
    assert GIT_TIMEOUT_S == 3.0


def _ended(pid):
    """Wait for the process, a stranger's child, to end; false if it is still there long after it was told to."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        return bool(poll.poll(10_000))
    finally:
        os.close(watched)


def test_a_git_that_hangs_is_ended_with_its_children(tmp_path, home):
    place = tmp_path / "plain"
    place.mkdir()
    script(tmp_path / "bin" / "git", f"sleep 600 &\necho $! > {tmp_path}/child\nwait")
    environ = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(home)}
    scopes = resolve_scopes(cwd=str(place), environ=environ, git_timeout_s=1.0)
    assert is_local(scopes, place)
    assert only_notice(scopes).code == "git_timed_out"
    assert "1 s" in scopes.notices[0].message
    assert _ended(int((tmp_path / "child").read_text()))


def test_remotes_that_cannot_be_asked_for_in_time_leave_the_toplevel(tmp_path, home):
    root = repository(tmp_path / "repo", origin=URL)
    (root / "src").mkdir()
    script(tmp_path / "bin" / "git", f'if [ "$1" = config ]; then exec sleep 600; fi\necho {root}')
    environ = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(home)}
    scopes = resolve_scopes(cwd=str(root / "src"), environ=environ, git_timeout_s=0.5)
    assert scopes.workspace == str(root)
    assert is_local(scopes, root)
    assert only_notice(scopes).code == "git_timed_out"


def test_a_git_that_cannot_be_started_is_told(tmp_path, home):
    place = tmp_path / "plain"
    place.mkdir()
    broken = script(tmp_path / "bin" / "git", "")
    broken.write_bytes(b"\x7fELF not really")
    scopes = resolve_scopes(cwd=str(place), environ={"PATH": str(tmp_path / "bin"), "HOME": str(home)})
    assert is_local(scopes, place)
    assert only_notice(scopes).code == "git_failed"


def test_what_git_says_is_shown_without_escapes(tmp_path, home):
    place = tmp_path / "plain"
    place.mkdir()
    script(tmp_path / "bin" / "git", "printf 'fatal: \\033[31mred\\033]0;x\\007 %01000d\\n' 7 >&2; exit 128")
    scopes = resolve_scopes(cwd=str(place), environ={"PATH": str(tmp_path / "bin"), "HOME": str(home)})
    notice = only_notice(scopes)
    assert "\x1b" not in notice.message and "red" in notice.message
    assert len(notice.message) < 1_000
