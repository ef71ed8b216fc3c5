"""`doctor`: checks speak of the file boundary alone, everything else is advice (SPEC §4)."""

import json

from pony_memory import limits

ADVICE = "- 2026-01-01T00:00:00Z  note\n"


def kinds(place):
    doctor = place.memory().doctor()
    assert doctor.safe
    return {(item.path, item.kind) for item in doctor.advice}


def configure(place, **settings):
    file = place.home / ".pi" / "agent" / "memory.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"defaults": {"model": "builtin/lexical"}, **settings}))


def test_a_clean_place_has_no_advice(place):
    place.write("user/notes/a.md", "no header, which is not doubtful")
    place.write("user/notes/b.md", "---\nname: b\nunknown: kept\n---\nx")
    place.write("workspace/agent_notes.md", ADVICE)
    place.entry("one", description="d")
    place.index("- [one](one.md) — d")
    doctor = place.memory().doctor()
    assert doctor.advice == ()
    assert [(check.path, check.status, check.reason) for check in doctor.checks] == [
        ("project/MEMORY.md", "ok", None),
        ("project/one.md", "ok", None),
        ("user/notes/a.md", "ok", None),
        ("user/notes/b.md", "ok", None),
        ("workspace/agent_notes.md", "ok", None),
    ]


def test_text_before_the_first_block_is_told_since_nothing_finds_it(place):
    place.write("user/agent_notes.md", f"# Notes of mine\n\nnever forget\n\n{ADVICE}")
    assert ("user/agent_notes.md", "text_outside_blocks") in kinds(place)
    assert place.memory().search("forget").hits == ()


def test_large_agent_notes_are_told_from_the_soft_limit(place):
    block = ADVICE.replace("note", "n" * 1_000)
    count = limits.AGENT_NOTES_SOFT_BYTES // len(block)
    place.write("workspace/agent_notes.md", block * count)
    assert not kinds(place)
    place.write("workspace/agent_notes.md", block * (count + 1))
    assert kinds(place) == {("workspace/agent_notes.md", "agent_notes_large")}


def test_two_entries_of_one_name_are_told(place):
    place.entry("same", description="d")
    place.entry("same", description="d", file="other.md")
    place.index("- [same](same.md) — d", "- [same](other.md) — d")
    (advice,) = place.memory().doctor().advice
    assert (advice.path, advice.kind) == ("project/same.md", "duplicate_name")
    assert "other.md" in advice.message


def test_a_cycle_of_supersedes_removes_nothing_and_is_told(place):
    place.write("user/notes/a.md", "---\nsupersedes: [b]\n---\nx")
    place.write("user/notes/b.md", "---\nsupersedes: [a]\n---\nx")
    assert kinds(place) == {("user/notes/a.md", "supersedes_cycle")}
    assert len(place.memory().search("x").hits) == 2


def test_memories_an_agent_is_not_shown_are_told(place):
    for number in range(5):
        place.entry(f"m{number}", description="d")
    place.index(*[f"- [m{number}](m{number}.md) — d" for number in range(5)])
    assert not kinds(place)
    configure(place, memIndexInjectMaxLines=4)
    (advice,) = place.memory().doctor().advice
    assert (advice.path, advice.kind) == ("project/MEMORY.md", "outside_injection")
    assert '"m3", "m4"' in advice.message
    configure(place, memIndexInjectMaxLines=4, memIndexMaxLines=5)
    advice = {item.kind: item.message for item in place.memory().doctor().advice}
    assert advice.keys() == {"outside_index", "outside_injection"}
    assert '"m4"' in advice["outside_index"]
    assert '"m3"' in advice["outside_injection"]
    assert '"m4"' not in advice["outside_injection"]
    configure(place, memIndexInjectMaxLines=0)  # told to give none
    assert not kinds(place)


def test_files_past_the_scan_limits_are_safe_and_told(place):
    for number in range(21):
        place.write(f"workspace/notes/{number:02}.md", "x" * 100_000)
    doctor = place.memory().doctor()
    assert doctor.safe
    assert len(doctor.checks) == 21
    (advice,) = doctor.advice
    assert (advice.path, advice.kind) == ("workspace/notes/20.md", "over_byte_limit")
    assert "2,097,152 bytes" in advice.message


def test_what_a_walk_never_saw_is_told_and_not_called_checked(place):
    deep = "/".join(["d"] * 40)
    place.write(f"workspace/notes/{deep}/a.md", "x")
    doctor = place.memory().doctor()
    assert doctor.checks == ()
    (advice,) = doctor.advice
    assert advice.kind == "scan_limit"
    assert advice.path.startswith("workspace/notes/d/d/")
    assert advice.path.endswith("/…")


def test_notices_of_the_place_are_advice_with_what_to_do(place):
    (place.workspace / ".pi").mkdir()
    (place.workspace / ".pi" / "memory.json").write_text('{"enabled": false}')
    (advice,) = place.memory().doctor().advice
    assert advice.kind == "config_untrusted"
    assert "pony-memory trust" in advice.message


def test_a_configuration_that_cannot_be_used_is_advice_when_asked_tolerantly(place):
    configure(place, enabled="maybe")
    doctor = place.memory(tolerant=True).doctor()
    assert "misconfigured" in {item.kind for item in doctor.advice}


def test_a_refused_workspace_is_one_unsafe_check(place):
    elsewhere = place.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "notes").mkdir()
    (elsewhere / "notes" / "a.md").write_text("needle")
    (place.workspace / ".pony").mkdir()
    (place.workspace / ".pony" / "memory").symlink_to(elsewhere)
    memory = place.memory()
    (check,) = memory.doctor().checks
    assert (check.scope, check.status, check.reason) == ("workspace", "unsafe", "symlink")
    assert memory.search("needle").hits == ()
