"""Evidence recall@6 on dialogue observations (SPEC §25): `search` must find what a question rests on.

The mean over all questions of the share of a question's evidence that the six best notes hold. It says something about
ranking English observations, and nothing about a model's use of what was found.
"""

import json
from pathlib import Path

import pytest

from support.places import Place

DATA = Path(__file__).parents[3] / "shared" / "data" / "locomo-dev.json"
LEAST_SHARE = 0.55
TOP = 6


@pytest.mark.skipif(not DATA.exists(), reason=f"development data is not beside this checkout: {DATA.name}")
def test_evidence_recall_at_6(tmp_path, record_property):
    shares = []
    for number, conversation in enumerate(json.loads(DATA.read_text(encoding="utf-8"))["conversations"]):
        place = Place(tmp_path / str(number))
        evidence_of = {}
        for note in conversation["notes"]:
            path = f"user/notes/{note['id']}.md"
            place.write(path, note["text"])
            evidence_of[path] = set(note["evidence"])
        snapshot = place.memory().snapshot()
        for question in conversation["questions"]:
            wanted = set(question["evidence"])
            hits = [str(hit.path) for hit in snapshot.search(question["question"], limit=TOP).hits[:TOP]]
            found = set().union(*[evidence_of[path] for path in hits])
            shares.append(len(wanted & found) / len(wanted))
    share = sum(shares) / len(shares)
    record_property("evidence_recall_at_6", share)
    print(f"evidence recall@{TOP}: {share:.1%} of the evidence of {len(shares):,} questions")
    assert share >= LEAST_SHARE
