"""What is a term (SPEC §5)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pony_memory.retrieval.stemmer import stem
from pony_memory.retrieval.tokens import stop_words_of, term_counts, tokenise


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("tests testing tested", ["test", "test", "test"]),
        ("café", ["café"]),
        ("cafe\u0301", ["café"]),
        ("数据库", ["数据", "据库"]),
        ("库", ["库"]),
        ("数据库,连接", ["数据", "据库", "连接"]),
        ("用2222端口", ["用", "2222", "端口"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("ﾊﾟｽ", ["パス"]),
        ("안녕하세요", ["안녕", "녕하", "하세", "세요"]),
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("user_name", ["usernam", "user", "name"]),
        ("user-name", ["usernam", "user", "name"]),
        ("XMLHttpRequest", ["xmlhttprequest", "xml", "http", "request"]),
        ("what's for lunch?", ["lunch"]),
        ("ＦＵＬＬ ｗｉｄｔｈ", ["full", "width"]),
        ("straße", ["strass"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
    ],
)
def test_terms(text, terms):
    assert tokenise(text) == [unicodedata.normalize("NFC", term) for term in terms]


def test_a_query_of_stop_words_is_known_as_such():
    assert tokenise("what is this") == []
    assert stop_words_of("What is this") == ["what", "is", "this"]


def test_short_words_and_numbers_are_their_own_stems():
    assert [stem(word) for word in ("a", "is", "v2", "2222", "数据")] == ["a", "is", "v2", "2222", "数据"]


@given(st.text(max_size=300))
def test_counting_gives_the_same_terms_as_splitting(text):
    terms = tokenise(text)
    assert term_counts(text) == {term: terms.count(term) for term in terms}


@given(st.text(alphabet=st.characters(codec=None), max_size=200))
def test_no_text_is_too_strange(text):
    assert all(isinstance(term, str) and term for term in tokenise(text))


def test_a_megabyte_of_distinct_words_is_bounded():
    words = " ".join(f"w{number}x" for number in range(100_000))
    assert len(set(tokenise(words))) == 100_000
