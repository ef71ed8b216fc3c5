"""The JSON of the read-only commands has the shapes of SPEC §21, exit statuses and errors included."""

import json
import os
import re
import subprocess

import pytest

from support.cli import PROGRAM, environment, run, run_json


@pytest.fixture
def filled(place):
    place.write("user/notes/a.md", "---\nname: Alpha\ndescription: the first\ntags: [x]\n---\nneedle in a [[bee]]\n")
    place.write("user/notes/bee.md", "buzz\n")
    place.write("workspace/agent_notes.md", "- 2026-01-02T03:04:05.678Z  a block\n")
    place.entry("SSH port", "It is 2222.", description="staging listens on 2222")
    place.index("- [SSH port](SSH-port.md) — staging listens on 2222", "- [gone](gone.md) — dead")
    place.write("project/legacy.md", "---\nname: legacy\n---\n")
    (place.scope_root("workspace") / "notes").mkdir()
    (place.scope_root("workspace") / "notes" / "link.md").symlink_to("/etc/hostname")
    return place


def stable(value):
    """Times and hashes replaced by their kind, so that what is left can be compared to the letter."""
    if isinstance(value, dict):
        return {key: stable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [stable(item) for item in value]
    if isinstance(value, str):
        if re.fullmatch(r"[0-9a-f]{64}", value):
            return "<sha256>"
        if re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", value) and not value.startswith("2026-01-02"):
            return "<time>"
    if isinstance(value, float):
        return round(value, 6)
    return value


def ok(place, *arguments, status=0):
    document, code = run_json(place, *arguments)
    assert code == status, document
    assert set(document) == {"ok", "kind", "data", "warnings"}
    assert document["ok"] is True
    assert document["kind"] == arguments[0]
    assert document["warnings"] == []
    return stable(document["data"])


def test_list(filled):
    data = ok(filled, "list")
    keys = {"path", "scope", "kind", "bytes", "modified", "title", "status"}
    assert all(set(row) == keys for row in data["files"])
    assert [(row["path"], row["kind"], row["title"], row["status"]) for row in data["files"]] == [
        ("user/notes/a.md", "note", "Alpha", "ok"),
        ("user/notes/bee.md", "note", "bee", "ok"),
        ("workspace/agent_notes.md", "agent_notes", "Agent Notes", "ok"),
        ("workspace/notes/link.md", "note", "link", "symlink"),
        ("project/MEMORY.md", "index", "Index", "ok"),
        ("project/SSH-port.md", "entry", "SSH port", "ok"),
        ("project/legacy.md", "other", "legacy", "not_an_entry"),
    ]
    assert data["files"][1]["bytes"] == 5
    assert data["files"][1]["modified"] == "<time>"


def test_show(filled):
    assert ok(filled, "show", "user/notes/bee.md") == {
        "path": "user/notes/bee.md",
        "start": 1,
        "end": 1,
        "total_lines": 1,
        "sha256": "<sha256>",
        "text": "buzz\n",
        "continuation": None,
    }
    filled.write("user/notes/long.md", "line\n" * 4_001)
    first = ok(filled, "show", "user/notes/long.md")
    second = ok(filled, "show", "user/notes/long.md", "--continue", first["continuation"])
    third = ok(filled, "show", "user/notes/long.md", "--continue", second["continuation"])
    assert first["text"] + second["text"] + third["text"] == "line\n" * 4_001
    assert third["continuation"] is None


def test_search_explain(filled):
    data = ok(filled, "search", "needle", "--explain")
    assert data == {
        "query": "needle",
        "documents": 4,
        "hits": [
            {
                "path": "user/notes/a.md",
                "scope": "user",
                "kind": "note",
                "score": data["hits"][0]["score"],
                "normalized": 1.0,
                "snippets": [{"line": 6, "text": "needle in a [[bee]]"}],
                "via": None,
                "terms": {"needl": {"body": data["hits"][0]["score"]}},
            },
            {
                "path": "user/notes/bee.md",
                "scope": "user",
                "kind": "note",
                "score": pytest.approx(data["hits"][0]["score"] * 0.4, abs=1e-5),
                "normalized": 0.4,
                "snippets": [],
                "via": {"name": "bee", "from": "user/notes/a.md"},
                "terms": {},
            },
        ],
    }


def test_status(filled):
    data = ok(filled, "status")
    index = (filled.project / "MEMORY.md").read_bytes()
    lexical = {"model": "builtin/lexical", "resolvable": True, "reason": None}
    sizes = {"soft_limit": 65_536, "hard_limit": 131_072}
    assert data == {
        "state": "enabled",
        "dir": str(filled.project),
        "errors": [],
        "index": {
            "lines": 3,
            "max_lines": 200,
            "bytes": len(index),
            "max_bytes": 25_600,
            "unrecognized": 1,
            "outside": [],
        },
        "entries": 1,
        "not_entries": [{"file": "legacy.md", "reason": data["not_entries"][0]["reason"]}],
        "drift": {"unindexed": [], "dead_lines": ["gone.md"], "duplicate_lines": [], "stale_lines": []},
        "last_dream": None,
        "sessions_since_dream": 0,
        "nudge": None,
        "lock": {"state": "free", "holder": None},
        "backups": 0,
        "agent_notes": {"user": {"bytes": 0, **sizes}, "workspace": {"bytes": 36, **sizes}},
        "left_out": [{"path": "workspace/notes/link.md", "reason": "symlink"}],
        "models": {"dream": lexical, "extractMemories": lexical, "autoSurfacing": lexical},
    }


def test_doctor_exits_with_4_when_a_file_is_unsafe(filled):
    data = ok(filled, "doctor", status=4)
    assert [check for check in data["checks"] if check["status"] != "ok"] == [
        {"scope": "workspace", "path": "workspace/notes/link.md", "status": "unsafe", "reason": "symlink"}
    ]
    assert {item["kind"] for item in data["advice"]} == {"not_an_entry", "dead_line"}
    assert all(set(item) == {"path", "kind", "message"} for item in data["advice"])
    (filled.scope_root("workspace") / "notes" / "link.md").unlink()
    ok(filled, "doctor")


def test_review_and_entry_list(filled):
    assert ok(filled, "review") == {
        "blocks": [{"path": "workspace/agent_notes.md#entry-1", "time": "2026-01-02T03:04:05.678Z", "text": "a block"}],
        "bytes": 36,
        "soft_limit": 65_536,
        "hard_limit": 131_072,
    }
    document, code = run_json(filled, "entry", "list")
    assert code == 0
    assert stable(document["data"]) == {
        "entries": [
            {
                "name": "SSH port",
                "file": "SSH-port.md",
                "type": "project",
                "description": "staging listens on 2222",
                "created": "2026-07-13",
                "modified": "<time>",
            }
        ]
    }


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["show", "user/notes/none.md"], 3, "not_found"),
        (["show", "../x"], 4, "bad_path"),
        (["show", "/etc/passwd"], 4, "bad_path"),
        (["show", "user/notes/../x.md"], 4, "bad_path"),
        (["show", "user/notes/.x.md"], 4, "bad_path"),
        (["show", "user/x.md"], 4, "bad_path"),
        (["show", "nowhere/x.md"], 4, "bad_path"),
        (["show", "user/notes/a\\b.md"], 4, "bad_path"),
        (["show", "user/notes/a\x1b.md"], 4, "bad_path"),
        (["show", "workspace/notes/link.md"], 4, "unsafe_file"),
        (["show", "workspace/agent_notes.md#entry-9"], 3, "not_found"),
        (["show", "user/notes/a.md", "--continue", "xx"], 4, "bad_continuation"),
        (["show", "user/notes/a.md", "--start", "0"], 2, "usage"),
        (["show", "user/notes/a.md", "--start", "99"], 2, "out_of_range"),
        (["search", "x", "--limit", "21"], 2, "usage"),
        (["search"], 2, "usage"),
        (["nonsense"], 2, "usage"),
        (["list", "--scope", "mars"], 2, "usage"),
        (["list", "--bad-option"], 2, "usage"),
        (["tui"], 2, "usage"),
        (["completion", "bash"], 2, "usage"),
    ],
)
def test_errors_are_one_json_document_with_the_right_exit_status(filled, arguments, status, code):
    done = run(filled, *arguments, "--json")
    assert done.returncode == status, done.stdout
    document = json.loads(done.stdout)
    assert set(document) == {"ok", "error"}
    assert document["ok"] is False
    assert set(document["error"]) == {"code", "message", "hint"}
    assert document["error"]["code"] == code
    assert "Traceback" not in done.stdout + done.stderr


def test_a_configuration_error_names_file_key_and_value_and_exits_with_6(filled):
    config = filled.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"lock": {"timeoutMs": "soon"}}')
    document, code = run_json(filled, "search", "x")
    assert code == 6
    for part in (str(config), "lock.timeoutMs", "soon"):
        assert part in document["error"]["message"]
    document, code = run_json(filled, "status")
    assert (code, document["data"]["state"]) == (0, "misconfigured")


def test_disabled_entries_exit_with_6_and_status_has_the_two_lines(filled):
    config = filled.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"enabled": false}')
    _, code = run_json(filled, "entry", "list")
    assert code == 6
    assert run(filled, "status").stdout.splitlines()[:2] == [
        "Memory: disabled",
        'Dir: not initialized — set "enabled": true in memory.json and restart',
    ]


def test_global_options_stand_anywhere_and_two_dashes_end_them(filled):
    for arguments in (["--json", "search", "needle"], ["search", "--json", "needle"], ["search", "needle", "--json"]):
        assert json.loads(run(filled, *arguments).stdout)["ok"] is True
    filled.write("user/notes/dash.md", "the option --json is described here")
    done = run(filled, "search", "--", "--json")
    assert "user/notes/dash.md" in done.stdout
    assert not done.stdout.startswith("{")


def test_a_closed_pipe_is_left_quietly(filled):
    for number in range(400):
        filled.write(f"user/notes/n{number}.md", "x")
    line = f"{PROGRAM} list | head -1"
    done = subprocess.run(
        ["bash", "-c", line], cwd=filled.workspace, env=environment(filled), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_json_survives_an_ascii_terminal_and_undecodable_names(filled):
    notes = os.fsencode(filled.scope_root("user") / "notes")
    with open(os.path.join(notes, b"bad\xff.md"), "wb") as file:
        file.write(b"x")
    filled.write("user/notes/数据.md", "x")
    for language in ("C", "en_US.ISO-8859-1"):
        environ = {"LANG": language, "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
        document, code = run_json(filled, "list", environ=environ)
        assert code == 0
        assert {"path": "user/notes/bad\\xff.md", "status": "bad_name"}.items() <= next(
            row for row in document["files" if "files" in document else "data"]["files"] if "bad" in row["path"]
        ).items()
        assert run(filled, "list", environ=environ).returncode == 0


def test_read_only_commands_write_nothing(filled):
    def tree():
        found = {}
        for root in (filled.workspace, filled.home / ".pony" / "memory", filled.project):
            for directory, _, names in os.walk(root):
                for name in names:
                    path = os.path.join(directory, name)
                    status = os.lstat(path)
                    found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return found

    before = tree()
    for arguments in (["list"], ["show", "user/notes/a.md"], ["search", "needle"], ["review"], ["status"], ["doctor"]):
        run(filled, *arguments)
    assert tree() == before
