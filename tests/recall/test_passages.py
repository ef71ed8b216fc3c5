"""The best paragraph is chosen, and cut around its match (SPEC §7)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pony_memory.recall.passages import CUT_MARK, best_passage
from pony_memory.retrieval.tokens import tokenise
from pony_memory.tokens_count import BuiltinCounter

COUNTER = BuiltinCounter()


def choose(body, *terms, max_tokens=1_024, line=1):
    weights = {token: 1.0 for term in terms for token in tokenise(term)}
    return best_passage(body, line, weights, tokenise=tokenise, counter=COUNTER, max_tokens=max_tokens)


def test_the_matching_paragraph_wins_over_the_first():
    passage = choose("Nothing here.\n\nThe port is 2222.\nUse the key.\n\nThe end.", "port", line=10)
    assert passage.text == "The port is 2222.\nUse the key."
    assert (passage.start_line, passage.end_line) == (12, 13)
    assert not passage.cut


def test_a_heading_goes_with_what_it_heads():
    passage = choose("# Lantern\n\nIntro.\n\n## Port\n\n2222, not 22.", "port")
    assert passage.text == "## Port\n\n2222, not 22."
    assert passage.start_line == 5


def test_without_a_match_it_is_the_first_paragraph():
    assert choose("One.\n\nTwo.", "absent").text == "One."


def test_an_empty_body_gives_an_empty_passage():
    assert choose("", "x").text == ""
    assert choose("\n \n", "x").text == ""


def test_chinese_paragraphs_are_told_apart():
    body = "前端使用组件库。\n\n生产环境的数据库连接池上限是四十。\n\n上线窗口在周二。"
    assert choose(body, "数据库连接").text == "生产环境的数据库连接池上限是四十。"


def test_a_list_is_one_paragraph_and_cut_at_its_items():
    items = [f"- item {number} about nothing in particular" for number in range(400)]
    items[300] = "- the staging port is 2222"
    passage = choose("\n".join(items), "staging port", max_tokens=60)
    assert "- the staging port is 2222" in passage.text
    assert passage.tokens <= 60
    assert passage.cut
    assert passage.start_line > 290


def test_one_paragraph_of_100_kib_is_cut_around_its_match():
    filler = "lorem ipsum dolor sit amet " * 2_000
    passage = choose(f"{filler}the needle is here {filler}", "needle")
    assert "the needle is here" in passage.text
    assert passage.text.startswith(CUT_MARK)
    assert passage.text.endswith(CUT_MARK)
    assert 900 <= passage.tokens <= 1_024


def test_one_chinese_line_without_any_stop_is_cut_around_its_match():
    passage = choose("山水" * 20_000 + "连接池上限" + "花草" * 20_000, "连接池", max_tokens=200)
    assert "连接池" in passage.text
    assert passage.tokens <= 200


def test_a_window_that_covers_the_query_wins_over_a_repeated_word():
    body = "port. " * 300 + "x. " * 2_000 + "The port of staging. " + "y. " * 2_000
    assert "The port of staging." in choose(body, "port", "staging", max_tokens=80).text


def test_a_fenced_block_is_not_torn_at_its_blank_lines():
    body = "Intro.\n\n```\nfirst\n\nport 2222\n```\n\nEnd."
    assert choose(body, "port").text == "```\nfirst\n\nport 2222\n```"


@given(
    st.text(alphabet=st.sampled_from("ab 中文.。\n#`-x"), max_size=600),
    st.integers(min_value=8, max_value=80),
)
def test_any_text_stays_within_the_budget_and_comes_from_the_note(body, budget):
    passage = choose(body, "ab", "中文", max_tokens=budget)
    assert passage.tokens == COUNTER.count(passage.text) <= budget
    inner = passage.text.removeprefix(CUT_MARK).removesuffix(CUT_MARK) if passage.cut else passage.text
    assert inner.strip() in body or re.sub(r"\s", "", inner) in re.sub(r"\s", "", body)
