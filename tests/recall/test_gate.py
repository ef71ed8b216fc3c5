"""The evidence gate's borders (SPEC §7)."""

from pony_memory.recall.gate import has_evidence


def test_one_matched_term_is_enough_for_a_query_of_up_to_two():
    assert has_evidence({"port"}, {"port": 1.0})
    assert has_evidence({"port"}, {"port": 0.1, "lunch": 9.0})


def test_nothing_matched_is_never_evidence():
    assert not has_evidence(set(), {})
    assert not has_evidence(set(), {"lunch": 1.0})


def test_a_longer_query_needs_two_terms():
    query = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    assert not has_evidence({"a"}, query)
    assert has_evidence({"a", "b"}, query)


def test_or_30_percent_of_the_idf_mass_exactly():
    query = {"rare": 3.0, "b": 3.5, "c": 3.5}
    assert has_evidence({"rare"}, query)
    assert not has_evidence({"rare"}, query | {"c": 3.6})
