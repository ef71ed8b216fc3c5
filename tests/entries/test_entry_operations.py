"""The rules of SPEC §10 for `add`, `replace`, `rename` and `remove`, on what a store holds."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.entries.drift import drift
from pony_memory.entries.operations import add, remove, rename, replace
from pony_memory.entries.state import Change, StoreState
from pony_memory.errors import BadName, Conflict, InvalidRequest, NotFound, OverLimit, UnreadableHeader, UnsafeFile

EARLY = "2026-10-01T00:00:00.000Z"
LATE = "2026-10-02T08:14:03.120Z"


def entry_file(name: str, body: str = "old body", description: str = "old", **more: str) -> bytes:
    header = {
        "name": name,
        "description": description,
        "type": "project",
        "created": "2026-07-13",
        "modified": EARLY,
        **more,
    }
    return "\n".join(["---", *(f"{key}: {value}" for key, value in header.items()), "---", "", body, ""]).encode()


def store(**files: bytes) -> StoreState:
    """A store whose index has a line for each entry; `a_b` stands for the file `a-b.md`."""
    state = StoreState({file.replace("_", "-") + ".md": data for file, data in files.items()})
    lines = [f"- [{entry.name}]({entry.file}) — {entry.description}\n" for entry in state.entries.values()]
    return StoreState(state.files, ("# Index\n\n" + "".join(lines)).encode())


def written(change: Change, file: str | None = None) -> str:
    data = next(made.after for made in change.files if made.file == (file or change.file))
    assert data is not None
    return data.decode()


def kinds(change: Change) -> list[str]:
    return [notice.code for notice in change.notices]


def test_add_writes_the_grammar_of_pi_memory() -> None:
    change = add(
        StoreState({}),
        " SSH port on staging ",
        "staging 的 SSH 用 2222 端口。\r\n",
        "listens on 2222",
        "project",
        now=LATE,
    )
    assert (change.name, change.file) == ("SSH port on staging", "SSH-port-on-staging.md")
    assert (change.created, change.modified) == ("2026-10-02", LATE)
    assert written(change) == (
        "---\nname: SSH port on staging\ndescription: listens on 2222\ntype: project\ncreated: 2026-10-02\n"
        f"modified: {LATE}\n---\n\nstaging 的 SSH 用 2222 端口。\n"
    )
    assert written(change, "MEMORY.md") == (
        "# Memory Index\n\n- [SSH port on staging](SSH-port-on-staging.md) — listens on 2222\n"
    )
    assert [made.file for made in change.files] == ["SSH-port-on-staging.md", "MEMORY.md"]


def test_add_of_an_exact_name_overwrites_and_is_idempotent() -> None:
    once = add(store(hand_named=entry_file("Deploy")), "Deploy", "new body", now=LATE)
    assert once.file == "hand-named.md"
    state = store(hand_named=entry_file("Deploy")).after(once)
    again = add(state, "Deploy", "new body", now=LATE)
    assert written(again) == written(once)
    assert [made.file for made in again.files] == ["hand-named.md"]
    assert list(state.after(again).files) == ["hand-named.md"]


def test_add_keeps_created_type_and_unknown_header_keys() -> None:
    data = entry_file("Deploy", source="a chat").replace(b"type:", b"# by hand\ntype:")
    change = add(store(deploy=data), "Deploy", "new body", now=LATE)
    assert (change.created, change.modified) == ("2026-07-13", LATE)
    assert written(change) == (
        "---\nname: Deploy\ndescription: new body\n# by hand\ntype: project\ncreated: 2026-07-13\n"
        f"modified: {LATE}\nsource: a chat\n---\n\nnew body\n"
    )
    assert "type: user\n" in written(add(store(deploy=data), "Deploy", "new body", type="user", now=LATE))


def test_a_name_of_other_case_is_another_entry() -> None:
    change = add(store(Deploy=entry_file("Deploy")), "deploy", "text", now=LATE)
    assert change.file == "deploy.md"


def test_add_has_a_type_of_feedback_unless_told() -> None:
    assert "type: feedback\n" in written(add(StoreState({}), "a", "text", now=LATE))


@pytest.mark.parametrize(
    ("content", "description"),
    [
        ("Run `make unit`. It is fast.", "Run make unit."),
        ("# Title\n\nText.", "Title"),
        ("- [x] **Use** pnpm, *not* npm! Really", "Use pnpm, not npm!"),
        ("生产环境连接池上限是 40。默认是 10。", "生产环境连接池上限是 40。"),
        ("see ~/.ssh/config of v2.1, e.g. this. Then", "see ~/.ssh/config of v2.1, e.g. this."),
        ("> [the docs](https://example.org) and [[note|label]]", "the docs and label"),
        ("---\n\n***\nafter rules", "after rules"),
        ("```\nmake unit\n```\nThe command.", "The command."),
        ("```\nmake unit\n```", "make unit"),
        ("__init__.py and snake_case and __very important__", "__init__.py and snake_case and very important"),
        ("##", "the name"),
        ("| - |", "the name"),
        ("x" * 201, "x" * 199 + "…"),
        ("x" * 200, "x" * 200),
        ("a\x1b[31mred", "a [31mred"),
    ],
)
def test_the_default_description_is_the_first_sentence_without_marks(content: str, description: str) -> None:
    change = add(StoreState({}), "the name", content, now=LATE)
    assert f"description: {description}\n" in written(change)
    assert f"- [the name](the-name.md) — {description}\n" in written(change, "MEMORY.md")


@pytest.mark.parametrize(
    "name", ["", "  ", "two\nlines", "two\rlines", "two\u2028lines", "esc\x1b[0m", "a](x.md) — b", "nul\x00", "\ud800"]
)
def test_a_name_is_one_line_not_empty_and_forges_no_line(name: str) -> None:
    with pytest.raises(BadName):
        add(StoreState({}), name, "text", now=LATE)
    with pytest.raises(BadName):
        rename(store(a=entry_file("a")), "a", name, now=LATE)


def test_a_description_is_one_line() -> None:
    for description in ("two\nlines", "two\u2029lines", "esc\x1b[0m"):
        with pytest.raises(InvalidRequest, match="description"):
            add(StoreState({}), "a", "text", description, now=LATE)
        with pytest.raises(InvalidRequest, match="description"):
            replace(store(a=entry_file("a")), "a", description=description, now=LATE)


def test_what_is_no_content_or_type_is_refused() -> None:
    for content, kind in (("", None), (" \n", None), ("\ud800", None), ("text", "Project"), ("text", "")):
        with pytest.raises(InvalidRequest):
            add(StoreState({}), "a", content, type=kind, now=LATE)


def test_replace_keeps_what_is_not_given() -> None:
    state = store(a=entry_file("A", "the body"))
    assert written(replace(state, "A", content="new", now=LATE)) == (
        f"---\nname: A\ndescription: old\ntype: project\ncreated: 2026-07-13\nmodified: {LATE}\n---\n\nnew\n"
    )
    change = replace(state, "A", description="better", type="user", now=LATE)
    assert written(change) == (
        f"---\nname: A\ndescription: better\ntype: user\ncreated: 2026-07-13\nmodified: {LATE}\n---\n\nthe body\n"
    )
    assert written(change, "MEMORY.md") == "# Index\n\n- [A](a.md) — better\n"


def test_replace_needs_a_name_that_is_there_and_something_to_replace() -> None:
    with pytest.raises(NotFound, match="“B”"):
        replace(store(a=entry_file("A")), "B", content="x", now=LATE)
    for description in (None, "", " "):
        with pytest.raises(InvalidRequest, match="nothing to replace"):
            replace(store(a=entry_file("A")), "A", description=description, now=LATE)


def test_a_kept_body_stays_to_the_byte() -> None:
    body = b"  indented \xff\xfe\r\n\r\nlast line without an end  "
    data = entry_file("A").replace(b"old body\n", body)
    change = replace(store(a=data), "A", description="better", now=LATE)
    after = change.files[0].after
    assert after is not None and after.endswith(b"---\n\n" + body)


def test_a_header_keeps_its_line_ends_and_bad_bytes() -> None:
    data = entry_file("A", note="\0").replace(b"\0", b"\xff").replace(b"\n", b"\r\n")
    after = replace(store(a=data), "A", description="better", now=LATE).files[0].after
    assert after == data.replace(b": old\r", b": better\r").replace(EARLY.encode(), LATE.encode())


def test_of_a_key_that_stands_twice_the_one_that_is_read_is_changed() -> None:
    data = entry_file("A").replace(b"type:", b"description: last\ntype:")
    change = replace(store(a=data), "A", description="better", now=LATE)
    assert written(change).count("description: old\ndescription: better\n") == 1


def test_rename_takes_file_and_line_along_and_the_line_keeps_its_place() -> None:
    state = store(a=entry_file("A", source="chat"), b=entry_file("B"), c=entry_file("C"))
    change = rename(state, "B", "Second one", now=LATE)
    assert [(made.file, made.after is None) for made in change.files] == [
        ("Second-one.md", False),
        ("b.md", True),
        ("MEMORY.md", False),
    ]
    assert written(change, "MEMORY.md") == (
        "# Index\n\n- [A](a.md) — old\n- [Second one](Second-one.md) — old\n- [C](c.md) — old\n"
    )
    assert "name: Second one\n" in written(change) and "created: 2026-07-13\n" in written(change)
    assert (change.name, change.file, change.modified) == ("Second one", "Second-one.md", LATE)


def test_rename_onto_another_name_is_refused() -> None:
    with pytest.raises(Conflict, match=r"b\.md"):
        rename(store(a=entry_file("A"), b=entry_file("B")), "A", "B", now=LATE)
    with pytest.raises(NotFound):
        rename(store(a=entry_file("A")), "B", "C", now=LATE)


def test_rename_onto_its_own_file_name_or_name_stays_in_its_file() -> None:
    change = rename(StoreState({"A_B.md": entry_file("A/B")}, b""), "A/B", "A:B", now=LATE)
    assert [made.file for made in change.files] == ["A_B.md", "MEMORY.md"]
    assert rename(store(hand_named=entry_file("A/B")), "A/B", "A/B", now=LATE).file == "hand-named.md"


def test_rename_to_a_taken_file_name_gets_a_number() -> None:
    state = StoreState({"A_B.md": entry_file("A/B"), "c.md": entry_file("C")}, b"")
    assert rename(state, "C", "A:B", now=LATE).file == "A_B-2.md"


def test_remove_takes_file_and_line() -> None:
    state = store(a=entry_file("A"), b=entry_file("B"))
    change = remove(state, "A")
    assert (change.files[0].file, change.files[0].after) == ("a.md", None)
    assert written(change, "MEMORY.md") == "# Index\n\n- [B](b.md) — old\n"
    with pytest.raises(NotFound):
        remove(state, "a")


def test_what_is_no_entry_is_left_alone_with_a_clear_error() -> None:
    legacy = b"---\nname: Old topic\nupdated: 2025-01-01\n---\n\ntext\n"
    state = store(Old_topic=legacy, prose=b"# Just prose\n")
    for name in ("Old topic", "prose", "prose.md"):
        for act in (
            lambda name: replace(state, name, content="x", now=LATE),
            lambda name: rename(state, name, "other", now=LATE),
            lambda name: remove(state, name),
        ):
            with pytest.raises(UnreadableHeader, match="is no entry"):
                act(name)
    change = add(state, "Old topic", "text", now=LATE)
    assert change.file == "Old-topic-2.md"
    assert kinds(change) == ["not_an_entry"]
    assert "missing description, type, created, modified" in change.notices[0].message


def test_a_file_that_cannot_be_read_is_not_doubled_and_what_can_be_no_entry_is_passed() -> None:
    for reason in ("not_permitted", "io_error", "too_large", "hard_link", "changed_during_read"):
        with pytest.raises(UnsafeFile, match=reason):
            add(StoreState({}, unsafe={"A.md": reason}), "A", "text", now=LATE)
    for reason in ("symlink", "fifo", "socket", "device", "not_a_file"):
        assert add(StoreState({}, unsafe={"A.md": reason}), "A", "text", now=LATE).file == "A-2.md"


def test_several_entries_of_one_name_are_never_silent() -> None:
    state = store(a=entry_file("A", modified=LATE), b=entry_file("A"))
    change = replace(state, "A", content="x", now=LATE)
    assert (change.file, kinds(change)) == ("b.md", ["same_name"])
    assert "a.md" in change.notices[0].message
    assert replace(state, "A", content="x", now=LATE, file="a.md").file == "a.md"
    assert remove(state, "A", file="a.md").file == "a.md"
    with pytest.raises(NotFound):
        remove(state, "A", file="c.md")


def folding(*files: str) -> StoreState:
    """A store on a file system that folds case and normalises Unicode."""

    def fold(file: str) -> str:
        return unicodedata.normalize("NFD", file).casefold()

    names = {fold(file) for file in files}
    return StoreState(
        {file: entry_file(file.removesuffix(".md")) for file in files},
        exists=lambda file: fold(file) in names,
        same_file=lambda one, other: fold(one) == fold(other),
    )


def test_a_folding_file_system_overwrites_no_other_entry() -> None:
    state = folding("Deploy.md", "Café.md")
    assert add(state, "deploy", "text", now=LATE).file == "deploy-2.md"
    assert add(state, "Cafe\u0301", "text", now=LATE).file == "Cafe\u0301-2.md"
    assert add(state, "DEPLOY", "text", now=LATE).file == "DEPLOY-2.md"
    assert rename(state, "Café", "deploy", now=LATE).file == "deploy-2.md"


def test_a_rename_of_case_or_form_alone_keeps_the_file_on_a_folding_file_system() -> None:
    for old, new in (("Deploy", "deploy"), ("Café", "Cafe\u0301")):
        change = rename(folding(f"{old}.md"), old, new, now=LATE)
        assert change.file == f"{old}.md"
        assert [made.file for made in change.files] == [f"{old}.md", "MEMORY.md"]
        assert f"- [{new}]({old}.md) — old\n" in written(change, "MEMORY.md")


@pytest.mark.parametrize("name", ["MEMORY", ".MEMORY", "memory", "Memory"])
def test_no_name_reaches_the_index(name: str) -> None:
    state = store(a=entry_file("A"))
    change = add(state, name, "text", now=LATE)
    assert change.file.casefold() == "memory-2.md"
    assert [made.file for made in change.files] == [change.file, "MEMORY.md"]
    assert rename(state, "A", name, now=LATE).file.casefold() == "memory-2.md"


def test_what_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(OverLimit, match=r"A\.md would be"):
        add(StoreState({}), "A", "x" * 128 * 1024, now=LATE)
    with pytest.raises(OverLimit, match="the index"):
        add(StoreState({}, b"# " + b"x" * (128 * 1024 - 10)), "A", "text", now=LATE)


_NAMES = st.sampled_from(["A", "B", "a/b", "a:b", "MEMORY", "中文", "é", "e\u0301", "A-2"])
_STEPS = st.lists(st.tuples(st.sampled_from(["add", "replace", "rename", "remove"]), _NAMES, _NAMES), max_size=25)


@settings(max_examples=150, deadline=None)
@given(_STEPS)
def test_any_sequence_of_writes_agrees_with_a_dictionary(steps: list[tuple[str, str, str]]) -> None:
    """Names to contents, as a dictionary keeps them; after each step the index has exactly one right line each."""
    state = StoreState({})
    model: dict[str, str] = {}
    for number, (step, name, other) in enumerate(steps):
        text = f"text {number}"
        try:
            if step == "add":
                change = add(state, name, text, now=LATE)
                model[name] = text
            elif step == "replace":
                change = replace(state, name, content=text, now=LATE)
                model[name] = text
            elif step == "rename":
                change = rename(state, name, other, now=LATE)
                model[other] = model.pop(name)
            else:
                change = remove(state, name)
                del model[name]
        except (NotFound, Conflict):
            assert name not in model or other in model
            continue
        state = state.after(change)
        assert {entry.name: entry.body for entry in state.entries.values()} == model
        assert not drift(state.parsed_index, state.entries.values())
        assert not state.not_entries
