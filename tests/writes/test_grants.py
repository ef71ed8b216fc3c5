"""SPEC §9: who may save is read from the user's own words of this turn, and from nothing else."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.errors import NotAuthorised
from pony_memory.limits import SAVES_PER_GRANT
from pony_memory.writes.grants import Grant, GrantBook, NoGrant, Origin
from support.grant_messages import ASKS, DOES_NOT_ASK


@pytest.mark.parametrize("prompt", ASKS)
def test_a_plain_request_grants(prompt):
    assert isinstance(GrantBook().grant_for(prompt, session="s"), Grant)


@pytest.mark.parametrize("prompt", DOES_NOT_ASK)
def test_anything_else_grants_nothing(prompt):
    verdict = GrantBook().grant_for(prompt, session="s")
    assert isinstance(verdict, NoGrant)
    assert verdict.reason
    assert len(prompt) < 12 or prompt not in verdict.reason


def test_the_table_is_as_long_as_promised():
    for table in (ASKS, DOES_NOT_ASK):
        assert len(set(table)) == len(table)
        assert sum(any("\u3400" < char < "\u9fff" for char in prompt) for prompt in table) >= 30
    assert len(ASKS) + len(DOES_NOT_ASK) >= 60


PLAIN = [prompt for prompt in ASKS if not prompt.strip().startswith("/") and "\n" not in prompt and "`" not in prompt]


@pytest.mark.parametrize(
    "wrap",
    (
        lambda p: f'"{p}"',
        lambda p: f"“{p}”",
        lambda p: f"「{p}」",
        lambda p: f"`{p}`",
        lambda p: f"```\n{p}\n```",
        lambda p: f"~~~text\n{p}",
        lambda p: f"> {p}",
        lambda p: f"Explain:\n\n    {p}",
        lambda p: f"<note>\n{p}\n</note>",
        lambda p: f"Translate this into French: {p}",
        lambda p: f"翻译成英文：{p}",
        lambda p: f"He told me: {p}",
        lambda p: f"Summarise this article:\n\nOne.\n\n{p}\n\nThree.",
        lambda p: f"{p}\n\nNever mind, don't save that.",
        lambda p: f"{p}\n算了，别记了",
    ),
)
def test_a_request_of_somebody_else_or_taken_back_grants_nothing(wrap):
    granted = [
        prompt
        for prompt in PLAIN
        if not set(prompt) & set('"“「') and isinstance(GrantBook().grant_for(wrap(prompt), session="s"), Grant)
    ]
    assert granted == []


@given(
    st.sampled_from(PLAIN),
    st.sampled_from(("Run the tests.", "先跑测试。", "```\nx = 1\n```", "> quoted", "Thanks!", "What is `x`?")),
)
@settings(max_examples=150, deadline=None)
def test_a_request_grants_among_other_paragraphs(prompt, other):
    assert isinstance(GrantBook().grant_for(f"{other}\n\n{prompt}\n\n{other}", session="s"), Grant)


@given(st.text(max_size=400))
@settings(max_examples=150, deadline=None)
def test_every_prompt_has_a_verdict(prompt):
    assert isinstance(GrantBook().grant_for(prompt, session="s"), Grant | NoGrant)


# What a grant is worth ------------------------------------------------------------------------------------------


def granted(book: GrantBook, session: str = "s", prompt: str = "/remember it") -> Grant:
    grant = book.grant_for(prompt, session=session)
    assert isinstance(grant, Grant)
    return grant


def refused(book: GrantBook, grant: object) -> None:
    with pytest.raises(NotAuthorised), book.spending(grant):
        pytest.fail("a save got through")


@pytest.mark.parametrize("origin", [origin for origin in Origin if origin is not Origin.USER])
@pytest.mark.parametrize("prompt", ASKS[::9])
def test_only_the_current_user_can_grant(prompt, origin):
    verdict = GrantBook().grant_for(prompt, session="s", origin=origin)
    assert isinstance(verdict, NoGrant)
    assert origin.value in verdict.reason


def test_a_grant_serves_five_saves_and_no_sixth():
    book = GrantBook()
    grant = granted(book)
    for left in range(SAVES_PER_GRANT, 0, -1):
        assert book.saves_left(grant) == left
        with book.spending(grant):
            pass
    refused(book, grant)


def test_a_save_that_fails_is_not_counted():
    book = GrantBook()
    grant = granted(book)
    for _ in range(20):
        with pytest.raises(OSError, match="full"), book.spending(grant):
            raise OSError("full")
    assert book.saves_left(grant) == SAVES_PER_GRANT


def test_a_grant_dies_with_its_turn():
    book = GrantBook()
    first = granted(book)
    assert isinstance(book.grant_for("Now run the tests.", session="s"), NoGrant)
    refused(book, first)
    second = granted(book)
    refused(book, first)
    book.end_turn("s")
    refused(book, second)
    assert book.current("s") is None


def test_a_delegated_agent_neither_uses_nor_ends_the_turn_of_its_parent():
    book = GrantBook()
    grant = granted(book, "parent")
    assert isinstance(book.grant_for("/remember x", session="child", origin=Origin.DELEGATED), NoGrant)
    assert book.current("child") is None
    with book.spending(grant):
        pass


def test_sessions_do_not_share_grants():
    book = GrantBook()
    one = granted(book, "one")
    granted(book, "two")
    assert book.current("one") is one
    refused(book, Grant("two", one.prompt_sha256))


def test_a_grant_of_another_book_is_none():
    refused(GrantBook(), granted(GrantBook()))


def test_a_grant_cannot_be_copied_or_sent():
    grant = granted(GrantBook())
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotAuthorised):
            attempt(grant)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(_JSON)
@settings(max_examples=150, deadline=None)
def test_no_tool_argument_is_a_grant(argument):
    book = GrantBook()
    real = granted(book)
    for forged in (argument, Grant(real.session, real.prompt_sha256), repr(real), id(real), (real,), {"grant": real}):
        refused(book, forged)
    assert book.saves_left(real) == SAVES_PER_GRANT


def test_five_saves_stay_five_among_many_threads():
    book = GrantBook()
    grant = granted(book)
    saved: list[int] = []
    start = threading.Barrier(16)

    def work(number: int) -> None:
        start.wait()
        try:
            with book.spending(grant):
                saved.append(number)
        except NotAuthorised:
            pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(saved) == SAVES_PER_GRANT


@given(st.lists(st.sampled_from(("ask", "other", "child", "end", "save", "old")), max_size=30))
@settings(max_examples=100, deadline=None)
def test_no_order_of_events_lets_more_through_than_the_rules(events):
    """A model of §9 in a few lines, against the book."""
    book = GrantBook()
    live: Grant | None = None
    dead: list[Grant] = []
    left = 0
    for event in events:
        if event in ("ask", "other", "end") and live is not None:
            dead.append(live)
            live = None
        if event == "ask":
            live, left = granted(book), SAVES_PER_GRANT
        elif event == "other":
            assert isinstance(book.grant_for("run the tests", session="s"), NoGrant)
        elif event == "child":
            assert isinstance(book.grant_for("/remember x", session="s", origin=Origin.DELEGATED), NoGrant)
        elif event == "end":
            book.end_turn("s")
        elif event == "old":
            for grant in dead:
                refused(book, grant)
        elif live is None or left == 0:
            refused(book, live)
        else:
            with book.spending(live):
                left -= 1
