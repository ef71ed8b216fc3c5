"""The evidence gate: a note is recalled only for what it shares with the query (SPEC §7).

The best of bad matches is still a bad match: without the gate, every question would recall whatever note happens to
share one common word with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

#: A query of up to this many content terms needs one of them.
SMALL_QUERY_TERMS: Final = 2
MIN_MATCHED_TERMS: Final = 2
MIN_IDF_SHARE: Final = 0.3
_ROUNDING: Final = 1e-9


def has_evidence(matched: Collection[str], query: Mapping[str, float]) -> bool:
    """Whether ``matched`` terms are enough of ``query`` (content term → idf; terms no document has included)."""
    if not matched:
        return False
    if len(query) <= SMALL_QUERY_TERMS or len(matched) >= MIN_MATCHED_TERMS:
        return True
    mass = sum(query.values())
    return sum(query[term] for term in matched) >= MIN_IDF_SHARE * mass - _ROUNDING
