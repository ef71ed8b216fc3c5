"""The commands that write: shapes, yes and no, secrets, history and restore (SPEC §9, §10, §13, §20, §21)."""

import json
import stat

import pytest

from support.cli import run, run_json, run_on_terminal

SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


def ok(place, *arguments, status=0, **options):
    document, code = run_json(place, *arguments, **options)
    assert code == status, document
    return document["data"]


def test_add_replace_rename_remove_have_their_shapes_and_do_what_they_say(place):
    added = ok(place, "entry", "add", "Test command", "--content", "run make unit", "--type", "feedback")
    assert set(added) == {"name", "file", "path", "created", "modified"}
    assert (added["name"], added["file"], added["path"]) == (
        "Test command",
        "Test-command.md",
        "project/Test-command.md",
    )
    replaced = ok(place, "entry", "replace", "Test command", "--description", "how to test")
    assert replaced["created"] == added["created"]
    assert replaced["modified"] > added["modified"]
    renamed = ok(place, "entry", "rename", "Test command", "测试命令")
    assert renamed["file"] == "测试命令.md"
    assert "- [测试命令](测试命令.md) — how to test" in (place.project / "MEMORY.md").read_text()
    assert ok(place, "entry", "remove", "测试命令", "--yes") == {"name": "测试命令", "file": "测试命令.md"}
    assert ok(place, "entry", "list") == {"entries": []}
    assert stat.S_IMODE((place.project / "MEMORY.md").stat().st_mode) == 0o600


def test_content_comes_from_standard_input_too(place):
    ok(place, "entry", "add", "piped", "--content", "-", stdin="来自管道\nsecond line\n")
    assert "来自管道\nsecond line" in (place.project / "piped.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["entry", "replace", "none", "--content", "x"], 3, "not_found"),
        (["entry", "remove", "none", "--yes"], 3, "not_found"),
        (["entry", "rename", "none", "other"], 3, "not_found"),
        (["entry", "add", "a](b", "--content", "x"], 4, "bad_name"),
        (["entry", "add", " ", "--content", "x"], 4, "bad_name"),
        (["entry", "add", "x"], 2, "usage"),
        (["entry", "add", "x", "--content", "y", "--type", "nonsense"], 2, "usage"),
        (["entry", "add", "x", "--content", f"key {SECRET}"], 4, "sensitive_content"),
        (["save", f"key {SECRET}", "--yes"], 4, "sensitive_content"),
        (["save", "x" * 20_000, "--yes"], 4, "over_limit"),
        (["history", "restore", "99", "--yes"], 3, "not_found"),
        (["backups", "show", "nothing"], 3, "not_found"),
        (["backups", "restore", "../..", "--yes"], 3, "not_found"),
        (["trust", "--yes"], 3, "not_found"),
    ],
)
def test_refusals_say_why_and_change_nothing(place, arguments, status, code):
    document, got = run_json(place, *arguments)
    assert (got, document["error"]["code"]) == (status, code)
    assert SECRET not in json.dumps(document)
    assert [path.name for path in place.project.glob("*.md")] == []
    for file in place.root.rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    "command", [["save", "note"], ["entry", "remove", "e"], ["repair"], ["entry", "rebuild-index"]]
)
def test_a_persons_yes_is_needed(place, command):
    place.entry("e")
    before = {file: file.read_bytes() for file in place.root.rglob("*") if file.is_file()}
    done = run(place, *command)
    assert done.returncode == 4
    assert "--yes" in done.stderr
    assert run(place, *command, "--yes", environ={"CLAUDECODE": "1"}).returncode == 4
    assert run_on_terminal(place, *command, answers="n\n")[0] == 4
    assert {file: file.read_bytes() for file in place.root.rglob("*") if file.is_file()} == before
    assert run_on_terminal(place, *command, answers="y\n")[0] == 0


def test_an_agent_that_says_so_openly_is_named_in_the_history(place):
    place.entry("e")
    run(place, "entry", "remove", "e", "--yes", "--i-am-the-agent", environ={"CLAUDECODE": "1"})
    (event,) = ok(place, "history")["events"]
    assert (event["who"], event["action"], event["path"]) == ("agent", "remove", "project/e.md")


def test_save_appends_a_block_that_review_shows(place):
    saved = ok(place, "save", "周五不上线\nsecond line", "--scope", "user", "--yes")
    assert saved["path"] == "user/agent_notes.md#entry-1"
    (block,) = ok(place, "review")["blocks"]
    assert block["text"] == "周五不上线\nsecond line"
    assert stat.S_IMODE((place.home / ".pony/memory/agent_notes.md").stat().st_mode) == 0o600
    (event,) = ok(place, "history", "--scope", "user")["events"]
    assert (event["who"], event["action"]) == ("person", "save")


def test_repair_names_each_change_and_keeps_the_rest(place):
    place.entry("unlined")
    place.entry("stale", description="new")
    place.index("## My group", "- [stale](stale.md) — old", "", "- [gone](gone.md) — dead", "a remark")
    changes = ok(place, "repair", "--yes")["changes"]
    assert {(change["kind"], change["file"]) for change in changes} == {
        ("unindexed", "unlined.md"),
        ("stale_line", "stale.md"),
        ("dead_line", "gone.md"),
    }
    text = (place.project / "MEMORY.md").read_text()
    assert "## My group\n- [stale](stale.md) — new\n" in text
    assert "a remark" in text
    assert ok(place, "repair", "--yes") == {"changes": []}


def test_who_changed_this_from_what_and_bring_it_back(place):
    ok(place, "entry", "add", "fact", "--content", "the port is 2222")
    ok(place, "entry", "replace", "fact", "--content", "the port is 22")
    events = ok(place, "history", "project/fact.md")["events"]
    assert [(event["n"], event["who"], event["action"]) for event in events] == [
        (2, "person", "replace"),
        (1, "person", "add"),
    ]
    assert events[0]["before"] == events[1]["after"] is not None
    restored = ok(place, "history", "restore", "2", "--yes")
    assert restored["restored"] == ["project/fact.md"]
    assert "2222" in (place.project / "fact.md").read_text()
    # The restore is in the history, and can itself be taken back.
    ok(place, "history", "restore", "3", "--yes")
    assert "the port is 22\n" in (place.project / "fact.md").read_text()


def test_a_restore_never_loses_a_later_write(place):
    ok(place, "entry", "add", "fact", "--content", "first")
    ok(place, "entry", "replace", "fact", "--content", "second")
    backup = ok(place, "backups", "list")["backups"][0]["id"]
    file = place.project / "fact.md"
    file.write_text(file.read_text().replace("second", "by hand"))
    data = ok(place, "backups", "restore", backup, "--yes", status=4)
    assert [item["path"] for item in data["conflicts"]] == ["project/fact.md"]
    assert "by hand" in file.read_text()


def test_init_writes_once_and_trust_pins_a_file(place):
    ok(place, "init", "--yes")
    config = place.home / ".pi" / "agent" / "memory.json"
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    document, code = run_json(place, "init", "--yes")
    assert (code, document["error"]["code"]) == (4, "conflict")
    own = place.workspace / ".pi" / "memory.json"
    own.parent.mkdir()
    own.write_text('{"recall": {"topK": 3}}')
    document, _ = run_json(place, "status")
    assert [warning["code"] for warning in document["warnings"]] == ["config_untrusted"]
    assert ok(place, "trust", "--yes")["trusted"] is True
    document, _ = run_json(place, "status")
    assert document["warnings"] == []
    own.write_text('{"recall": {"topK": 4}}')
    document, _ = run_json(place, "status")
    assert [warning["code"] for warning in document["warnings"]] == ["config_changed"]


def test_purge_leaves_no_trace_and_says_what_it_cannot_reach(place):
    planted = "the project is called xyzzy-plugh inside"
    ok(place, "entry", "add", "fact", "--content", planted)
    ok(place, "entry", "replace", "fact", "--content", "nothing to see")
    ok(place, "save", f"remember {planted}", "--scope", "user", "--yes")
    assert run(place, "purge", "--matching", planted).returncode == 4
    data = ok(place, "purge", "--matching", planted, "--yes")
    assert data["removed"] and data["unreachable"] and not data["failed"]
    for file in place.root.rglob("*"):
        assert file.is_dir() or b"xyzzy-plugh" not in file.read_bytes(), file
    assert ok(place, "purge", "--matching", planted, "--yes")["removed"] == []
    assert run(place, "purge").returncode == 2


def test_recall_explains_each_candidate_and_records_only_when_told(place):
    place.write("user/notes/deploy.md", "deploy on Tuesday, never on Friday")
    place.write("user/notes/other.md", "friday lunch")
    data = ok(place, "recall", "do we deploy on friday?", "--session", "s")
    assert set(data) == {"query", "decisions", "context", "tokens"}
    keys = {"path", "rank", "score", "normalized", "verdict", "tokens", "terms"}
    assert all(set(decision) == keys for decision in data["decisions"])
    assert data["decisions"][0]["verdict"] == "kept"
    assert data["decisions"][0]["path"] == "user/notes/deploy.md"
    assert run(place, "watch", "--once").stdout == ""
    ok(place, "recall", "do we deploy on friday?", "--session", "s", "--record")
    (line,) = run(place, "--json", "watch", "--once").stdout.splitlines()
    assert json.loads(line)["session"] == "s"
    again = ok(place, "recall", "do we deploy on friday?", "--session", "s")
    assert again["decisions"][0]["verdict"] == "recent"
