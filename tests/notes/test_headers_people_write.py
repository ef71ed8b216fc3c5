"""Headers that people, models and other tools write are read as they were meant (SPEC §4)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pony_memory.notes.header import Header, ParsedNote, parse_note
from pony_memory.notes.note import read_note


def note(header: str, body: str = "The body.\n") -> str:
    return f"---\n{header}\n---\n\n{body}"


def kinds(parsed: ParsedNote) -> list[str]:
    return [doubt.kind for doubt in parsed.doubts]


def test_a_colon_in_a_description_keeps_the_note() -> None:
    """Reported elsewhere: a description with `: ` made strict YAML fail, and the file vanished without a word."""
    parsed = parse_note(note("name: spec\ndescription: Constraints (REQ): read the spec"))
    assert parsed.header == Header(name="spec", description="Constraints (REQ): read the spec")
    assert parsed.header_readable and not parsed.doubts
    assert parsed.body == "The body.\n"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('"quoted: value"', "quoted: value"),
        ("'it is'", "it is"),
        ('"one \' inside"', "one ' inside"),
        ('"', '"'),
        ("\"mixed'", "\"mixed'"),
        ('""twice""', '"twice"'),
        ('"said" and done', '"said" and done'),
        ("*important* words", "*important* words"),
        ("!urgent", "!urgent"),
        ("&anchor or not", "&anchor or not"),
        ("[draft] plan", "[draft] plan"),
        ("issue #5 and # more", "issue #5 and # more"),
        ("https://example.org/a:b", "https://example.org/a:b"),
        ("yes", "yes"),
        ("2026-01-01", "2026-01-01"),
        ("中文：说明", "中文：说明"),
    ],
)
def test_a_scalar_is_literal_but_for_one_pair_of_quotes(line: str, value: str) -> None:
    parsed = parse_note(note(f"description: {line}"))
    assert parsed.header.description == value
    assert parsed.header_readable


@pytest.mark.parametrize(
    ("header", "tags"),
    [
        ("tags: [a, b]", ("a", "b")),
        ("tags: [\"a, b\", 'c', d e]", ("a, b", "c", "d e")),
        ("tags: [a, , b,]", ("a", "b")),
        ("tags: [don't, won't]", ("don't", "won't")),
        ("tags: [a] # a comment", ("a",)),
        ("tags: []", ()),
        ("tags:", ()),
        ("tags: one tag", ("one tag",)),
        ("tags: 'one, tag'", ("one, tag",)),
        ("tags:\n- a\n- 'b c'", ("a", "b c")),
        ("tags:\n  - a\n\n  # why\n  - b\ntype: x", ("a", "b")),
        ("tags:\n- Note: read\n-\n- b", ("Note: read", "b")),
        ("tags:[a,b]", ("a", "b")),
        ("tags: [a,\n  b]", ("a", "b")),
        ("tags:\n  - |\n    a\n    b", ("a b",)),
    ],
)
def test_lists_in_every_form(header: str, tags: tuple[str, ...]) -> None:
    parsed = parse_note(note(header))
    assert parsed.header.tags == tags
    assert parsed.header_readable and not parsed.doubts


def test_lists_are_read_for_three_keys_only() -> None:
    parsed = parse_note(note("name: [a, b]\naliases: [c]\nsupersedes: d"))
    assert parsed.header == Header(name="[a, b]", aliases=("c",), supersedes=("d",))


def test_comments_and_blank_lines_are_passed_over() -> None:
    parsed = parse_note(note("# a comment\n\nname: a\n\n  # another\ntype: b"))
    assert parsed.header == Header(name="a", type="b")


def test_unknown_keys_are_kept_in_sight() -> None:
    parsed = parse_note(note("name: a\ndate-created: yesterday\n标签: x\nmetadata:\n  deep:\n    - 1"))
    assert parsed.header == Header(name="a", unknown=("date-created", "标签", "metadata"))
    assert parsed.header_readable and not parsed.doubts


@pytest.mark.parametrize("description", ["|\n  first\n  second", ">\n  first\n  second", "first\n  second"])
def test_multi_line_values_go_to_yaml_and_come_back_as_one_line(description: str) -> None:
    parsed = parse_note(note(f"name: a\ndescription: {description}"))
    assert parsed.header == Header(name="a", description="first second")


def test_yaml_makes_no_dates_numbers_or_booleans_of_text() -> None:
    parsed = parse_note(note("name: 2026-01-01\ntype: yes\ntags: [0x10, 1_000, null]\nextra:\n  deep: 1"))
    assert parsed.header == Header(name="2026-01-01", type="yes", tags=("0x10", "1_000", "null"), unknown=("extra",))


def test_a_nested_unknown_key_does_not_cost_a_description_with_a_colon() -> None:
    """YAML refuses the whole header for the colon; what is nested means nothing here, so the rest is still read."""
    header = "name: a\ndescription: Constraints (REQ): read\n  the spec\nmetadata:\n  type: project\ntags:\n- b"
    parsed = parse_note(note(header))
    assert parsed.header == Header(
        name="a", description="Constraints (REQ): read the spec", tags=("b",), unknown=("metadata",)
    )
    assert parsed.header_readable


def test_bom_and_crlf() -> None:
    plain = parse_note(note("name: a\ntags:\n- b"))
    assert parse_note("\ufeff" + note("name: a\ntags:\n- b").replace("\n", "\r\n")) == plain
    assert parse_note(note("name: a\ntags:\n- b").replace("\n", "\r")) == plain
    assert plain.header == Header(name="a", tags=("b",))


def test_the_body_starts_on_the_line_it_says() -> None:
    for text in [note("name: a"), "no header\n", note("name: a", ""), "---\nname: a\n---\nbody\n", note("- a")]:
        parsed = parse_note(text)
        assert "\n".join(text.split("\n")[parsed.body_line - 1 :]).strip() == parsed.body.strip()


def test_a_plain_header_of_10_kb_is_read() -> None:
    parsed = parse_note(note(f"name: a\ndescription: {'long ' * 2_000}end"))
    assert parsed.header.name == "a"
    assert parsed.header.description is not None and parsed.header.description.endswith("end")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("---\nname: a\n\nNever closed.\n", "header_not_closed"),
        ("---\n# why\nname: a\n", "header_not_closed"),
        (note("just a sentence"), "header_not_mapping"),
        (note("- a\n- b"), "header_not_mapping"),
        (note("name: a\nsome prose here"), "header_syntax"),
        (note("name: a\ntags:\n\t- b\n  broken: [") + "x", "header_syntax"),
        pytest.param(note("name: a\nextra:\n" + "  - long item\n" * 800), "header_too_large", id="10 KB nested"),
        (note("name: a\nextra:\n  - &x 1\n  - *x"), "header_refused_yaml"),
        (note("name: a\nextra:\n  - !!python/object/apply:os.system [id]"), "header_refused_yaml"),
        (note("base: &base\n  a: 1\n<<: *base"), "header_refused_yaml"),
        pytest.param(note("extra:\n  " + "[" * 4_000), "header_too_deep", id="4,000 brackets"),
        pytest.param(note("extra:\n  " + "{a: " * 1_000), "header_too_deep", id="1,000 braces"),
    ],
)
def test_a_header_neither_reader_takes_is_body_and_a_doubt(text: str, kind: str) -> None:
    parsed = parse_note(text)
    assert kinds(parsed) == [kind]
    assert parsed.header == Header()
    assert (parsed.body, parsed.body_line) == (text, 1)
    assert not parsed.header_readable


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---",
        "---\n",
        "no header at all\n",
        "---\n\n# A document under a rule\n\nText.\n",
        "---\n\n# A document between rules\n\nNote: this is prose.\n\n---\n\nMore.\n",
        "---\n\nNote: nothing but prose.\n\n---\n\nMore.\n",
        "---\n# Title\n\nText below a rule.\n",
        "----\nname: a\n----\n",
        " ---\nname: a\n---\n",
        "\n---\nname: a\n---\n",
    ],
)
def test_an_ordinary_document_is_no_doubt(text: str) -> None:
    parsed = parse_note(text)
    assert (parsed.header, parsed.body, parsed.doubts, parsed.header_readable) == (Header(), text, (), True)


def test_a_blank_line_first_is_still_a_header_when_it_names_a_known_key() -> None:
    assert parse_note("---\n\nname: a\n\n---\nbody\n").header == Header(name="a")


def test_values_of_a_wrong_shape_are_ignored_with_a_doubt() -> None:
    parsed = parse_note(note("name:\n  deep: 1\ntags:\n  deep: 1\naliases: {a: b}\ndescription: d"))
    assert parsed.header == Header(description="d")
    assert kinds(parsed) == ["header_value"] * 3
    assert parsed.header_readable


def test_the_last_of_duplicate_keys_counts_and_is_a_doubt() -> None:
    for header in ["name: a\nname: b", "name: a\nextra:\n  deep: 1\nname: b"]:
        parsed = parse_note(note(header))
        assert parsed.header.name == "b"
        assert kinds(parsed) == ["duplicate_key"]


@pytest.mark.parametrize(
    "text", ["---\n---\n---\n", "---\nname: ---\n---\n", "---\nname: '---'\n---\n", "---\n\ntext\n", "---\nx\n---\n"]
)
def test_a_rule_is_never_a_title(text: str) -> None:
    """Reported elsewhere: a list of memories in which every title was `---`."""
    assert read_note("the-stem", text).name == "the-stem"


def test_a_doubt_never_repeats_what_the_note_holds() -> None:
    secret = "hunter2hunter2"
    for text in [
        note(f"name: a\n{secret} prose"),
        note(f"{secret}:\n  - &{secret} 1"),
        f"---\n{secret}: a\n{secret}: b",
    ]:
        for doubt in parse_note(text).doubts:
            assert secret not in doubt.message


def test_yaml_is_loaded_only_for_a_header_that_needs_it() -> None:
    code = (
        "import sys; from pony_memory.notes.header import parse_note; "
        "parse_note('---\\nname: a\\ndescription: b: c\\ntags: [d]\\n---\\n'); assert 'yaml' not in sys.modules; "
        "parse_note('---\\nextra:\\n  deep: 1\\n---\\n'); assert 'yaml' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
