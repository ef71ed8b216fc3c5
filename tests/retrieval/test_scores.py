"""Scores are the formula's, and the explanation adds up to them (SPEC §5)."""

import math
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pony_memory.limits import FIELD_WEIGHTS
from pony_memory.retrieval.tokens import tokenise
from support.places import Place

WORDS = [
    "deploy",
    "deploying",
    "staging",
    "port",
    "user_name",
    "userName",
    "the",
    "数据库",
    "库",
    "连接池",
    "tests",
    "café",
]
words = st.lists(st.sampled_from(WORDS), min_size=0, max_size=8).map(" ".join)
notes = st.fixed_dictionaries(
    {
        "name": words,
        "description": words,
        "tags": st.lists(st.sampled_from(["ops", "ssh", "数据库"]), max_size=2),
        "body": words,
    }
)


def fields_of(note, number):
    name = note["name"].strip() or f"n{number}"
    found = {"name": name, "description": note["description"].strip(), "body": note["body"]}
    found["tags"] = "\n".join(note["tags"])
    return {field: text for field, text in found.items() if text}


def reference(stored, query):
    """The formula of SPEC §5, as plainly as it can be written. Nothing of the engine but the splitting into terms."""
    documents = [{field: tokenise(text) for field, text in fields.items()} for fields in stored]
    lengths = [sum(map(len, fields.values())) for fields in documents]
    average = sum(lengths) / len(lengths)
    scores = [0.0] * len(documents)
    for term in dict.fromkeys(tokenise(query)):
        frequencies = [
            sum(FIELD_WEIGHTS[field] * terms.count(term) for field, terms in fields.items()) for fields in documents
        ]
        df = sum(frequency > 0 for frequency in frequencies)
        if not df:
            continue
        idf = math.log((len(documents) - df + 0.5) / (df + 0.5) + 1)
        for number, frequency in enumerate(frequencies):
            if frequency:
                norm = 1.5 * (1 - 0.75 + 0.75 * lengths[number] / average)
                scores[number] += idf * frequency * 2.5 / (frequency + norm)
    return scores


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(notes, min_size=1, max_size=8),
    st.lists(st.sampled_from([w for w in WORDS if w != "库"]), min_size=1, max_size=4),
)
def test_scores_equal_the_reference_and_explanations_add_up(stored, query_words):
    query = " ".join(query_words)
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        fields = [fields_of(note, number) for number, note in enumerate(stored)]
        for number, found in enumerate(fields):
            place.write(
                f"user/notes/n{number}.md",
                f"---\nname: {found['name']}\ndescription: {found.get('description', '')}\n"
                f"tags: [{', '.join(stored[number]['tags'])}]\n---\n{found.get('body', '')}",
            )
        result = place.memory().search(query, limit=20, explain=True)
        if not tokenise(query):
            return
        expected = reference(fields, query)
        got = {str(hit.path): hit for hit in result.hits}
        assert set(got) == {f"user/notes/n{number}.md" for number, score in enumerate(expected) if score}
        for number, score in enumerate(expected):
            if score:
                hit = got[f"user/notes/n{number}.md"]
                assert abs(hit.score - score) < 1e-9
                assert abs(sum(sum(by_field.values()) for by_field in hit.terms.values()) - hit.score) < 1e-9
        order = [(-hit.score, str(hit.path)) for hit in result.hits]
        assert order == sorted(order)


def test_lazy_terms_add_up_too(place):
    place.write("user/notes/a.md", "---\ndescription: 仓库\n---\n数据库 的 库存, the port of the house")
    place.write("user/notes/b.md", "nothing of it")
    for query, count in (("库", 1), ("the", 1), ("of the", 2)):
        result = place.memory().search(query, explain=True)
        assert len(result.hits) == count, query
        for hit in result.hits:
            assert abs(sum(sum(fields.values()) for fields in hit.terms.values()) - hit.score) < 1e-9
            assert hit.snippets
