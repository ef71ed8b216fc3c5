"""What is found, what is not, and what comes with it (SPEC §5)."""

import pytest

from pony_memory.errors import InvalidRequest


def paths(result):
    return [str(hit.path) for hit in result.hits]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("getUserName", "the user name of a session"),
        ("user name", "call getUserName() here"),
        ("username", "its user_name field"),
        ("tests", "we are testing it"),
        ("库", "生产环境的数据库"),
        ("数", "生产环境的数据库"),
        ("据", "生产环境的数据库"),
        ("端口", "用 2222 端口登录"),
        ("数据库连接", "数据库的连接上限"),
        ("パスワード", "パスワードは金庫にある"),
        ("の", "パスワードの場所"),
        ("비밀번호", "비밀번호는 금고에 있다"),
        ("café", "the cafe\u0301 is closed"),
        ("CAFÉ", "the café is closed"),
    ],
)
def test_it_is_found(place, query, text):
    place.write("user/notes/wanted.md", text)
    place.write("user/notes/other.md", "nothing to do with anything")
    assert paths(place.memory().search(query))[:1] == ["user/notes/wanted.md"]


def test_two_character_chinese_queries_find_what_holds_them(place):
    place.write("workspace/notes/部署.md", "每周二上线")
    place.write("workspace/notes/other.md", "something else")
    assert paths(place.memory().search("部署")) == ["workspace/notes/部署.md"]
    assert paths(place.memory().search("上线")) == ["workspace/notes/部署.md"]


def test_an_empty_query_gives_no_hits_and_no_error(place):
    place.write("user/notes/a.md", "text")
    assert place.memory().search("").hits == ()
    assert place.memory().search(" \n\t").hits == ()
    assert place.memory().search("?!。").hits == ()


@pytest.mark.parametrize("limit", [0, 21, -1])
def test_a_limit_out_of_range_is_refused(place, limit):
    with pytest.raises(InvalidRequest, match="1 to 20"):
        place.memory().search("x", limit=limit)


def test_a_scope_filter_only_filters(place):
    place.write("user/notes/a.md", "staging port")
    place.write("workspace/notes/a.md", "staging port and more words here")
    whole = place.memory().search("port")
    only = place.memory().search("port", ["workspace"])
    assert paths(only) == ["workspace/notes/a.md"]
    assert only.hits[0].score == whole.hits[1].score
    assert only.documents == whole.documents == 2


def test_ties_are_broken_by_path(place):
    for name in ("b", "a", "c"):
        place.write(f"user/notes/{name}.md", "same text")
    assert paths(place.memory().search("same")) == [f"user/notes/{name}.md" for name in "abc"]


def test_a_link_adds_its_target_once_at_0_4(place):
    place.write("user/notes/a.md", "needle, see [[target]] and [[Target|again]] and [[other-alias]]")
    place.write("user/notes/target.md", "no match here")
    place.write("user/notes/b.md", "---\naliases: [other-alias]\n---\nneither here")
    result = place.memory().search("needle", explain=True)
    assert paths(result) == ["user/notes/a.md", "user/notes/b.md", "user/notes/target.md"]
    direct, *linked = result.hits
    for hit in linked:
        assert hit.score == direct.score * 0.4
        assert hit.terms == {}
        assert hit.via is not None
        assert str(hit.via.source) == "user/notes/a.md"


def test_at_most_three_notes_are_added_and_no_further_than_one_hop(place):
    place.write("user/notes/a.md", "needle " + " ".join(f"[[n{number}]]" for number in range(6)))
    for number in range(6):
        place.write(f"user/notes/n{number}.md", "[[far]]")
    place.write("user/notes/far.md", "far away")
    assert len(paths(place.memory().search("needle"))) == 4
    assert "user/notes/far.md" not in paths(place.memory().search("needle"))


def test_a_superseded_note_is_neither_found_nor_linked(place):
    place.write("workspace/notes/new.md", "---\nsupersedes: [OLD]\n---\nneedle [[old]]")
    place.write("user/notes/old.md", "needle needle needle")
    memory = place.memory()
    assert paths(memory.search("needle")) == ["workspace/notes/new.md"]
    (removed,) = memory.snapshot().tombstones.removed
    assert (str(removed.path), str(removed.by), removed.cross_scope) == (
        "user/notes/old.md",
        "workspace/notes/new.md",
        True,
    )


def test_no_note_supersedes_itself_and_a_cycle_removes_nothing(place):
    place.write("user/notes/self.md", "---\nsupersedes: [self]\n---\nneedle")
    place.write("user/notes/a.md", "---\nsupersedes: [b, c]\n---\nneedle")
    place.write("user/notes/b.md", "---\nsupersedes: [a]\n---\nneedle")
    place.write("user/notes/c.md", "needle")
    memory = place.memory()
    assert paths(memory.search("needle")) == ["user/notes/a.md", "user/notes/b.md", "user/notes/self.md"]
    assert [[str(path) for path in circle] for circle in memory.snapshot().tombstones.cycles] == [
        ["user/notes/a.md", "user/notes/b.md"]
    ]


def test_each_agent_notes_block_is_a_document_with_its_line(place):
    place.write(
        "user/agent_notes.md",
        "- 2026-01-01T00:00:00.000Z  first\n- 2026-01-02T00:00:00.000Z  the needle\n  goes on\n",
    )
    (hit,) = place.memory().search("needle").hits
    assert str(hit.path) == "user/agent_notes.md#entry-2"
    assert hit.snippets[0].line == 2


def test_entries_are_searched_by_name_description_and_body_and_non_entries_not_at_all(place):
    place.entry("SSH port", "the key is elsewhere", description="staging listens on 2222")
    place.write("project/legacy.md", "---\nname: x\nupdated: 2025-01-01\n---\nneedle 2222")
    place.index("- [needle](needle.md) — needle")
    memory = place.memory()
    assert paths(memory.search("2222")) == ["project/SSH-port.md"]
    assert memory.search("needle").hits == ()


def test_snippets_are_matching_lines_with_numbers_and_bounded(place):
    place.write(
        "user/notes/a.md", "\n".join(["x"] * 20 + ["needle " + "y" * 500, "z", "a needle", "needle b", "needle c"])
    )
    (hit,) = place.memory().search("needle").hits
    assert len(hit.snippets) == 3
    assert all(len(snippet.text) <= 200 and "needle" in snippet.text for snippet in hit.snippets)
    assert hit.snippets[0].line == 21


def test_a_header_key_is_no_match(place):
    place.write("user/notes/a.md", "---\nname: tmux\ndescription: session names\n---\nkeys")
    (hit,) = place.memory().search("name").hits
    assert [snippet.line for snippet in hit.snippets] == [3]


@pytest.mark.parametrize("query", ["x" * 1_000_000, "\ud800", "\x00\x1b[31m", "a " * 400_000, "[[a]]" * 1_000])
def test_hostile_queries_have_a_clear_answer(place, query):
    place.write("user/notes/a.md", "text")
    assert place.memory().search(query).documents == 1


def test_ten_to_the_five_distinct_terms_are_answered(place):
    place.write("user/notes/a.md", "needle")
    query = " ".join(f"t{number}" for number in range(100_000)) + " needle"
    assert paths(place.memory().search(query)) == ["user/notes/a.md"]
