"""The journal: whole lines from many writers, rotation without a loss, no secret, bounded (SPEC §7)."""

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from pony_memory.limits import JOURNAL_MAX_BYTES, JOURNAL_RECORD_MAX_BYTES
from pony_memory.recall.decisions import Decision, Recall, Verdict
from pony_memory.recall.journal import Journal, JournalFollower, JournalPlace, encode, parse_line, read_journal

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


def made(query="how do we deploy", count=1, term="deploy"):
    decisions = tuple(
        Decision(f"user/notes/n{n}.md", n + 1, 9.0 - n / 100, 1.0, Verdict.KEPT, 12, (term,)) for n in range(count)
    )
    return Recall(query, decisions, "", 12 * count, 9.0, 2.7)


def line(query="how do we deploy", *, time=NOW, **options):
    return encode(made(query, **options), source="recall", session="s", pid=7, time=time)


@pytest.fixture
def where(tmp_path):
    return JournalPlace.of(str(tmp_path), "git", "github.com__o__r")


def test_a_record_comes_back_as_it_was_written(where):
    Journal(where).append(line(), now=NOW)
    (record,) = read_journal(where).records
    assert (record.query, record.session, record.pid, record.threshold) == ("how do we deploy", "s", 7, 2.7)
    assert record.kept[0].path == "user/notes/n0.md"


def test_everything_is_owner_only_whatever_the_umask(where):
    old = os.umask(0)
    try:
        Journal(where).append(line(), now=NOW)
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(where.directory).st_mode) == 0o700
    for name in os.listdir(where.directory):
        assert stat.S_IMODE(os.stat(os.path.join(where.directory, name)).st_mode) == 0o600


def test_no_secret_reaches_it_nor_pieces_of_one_as_terms():
    data = line(f"use {SECRET} please", term=SECRET[:20])
    assert b"sk-ant" not in data
    assert json.loads(data)["candidates"][0]["terms"] == []


@pytest.mark.parametrize("query", ["数据库" * 5_000, "x" * 100_000, "\ud800\udfff", '"\\\n\x00' * 2_000])
def test_a_record_is_one_line_of_at_most_8_kib(query):
    data = line(query, count=500, term="很长的词" * 50)
    assert len(data) <= JOURNAL_RECORD_MAX_BYTES
    assert data.count(b"\n") == 1
    record = parse_line(data)
    assert record is not None
    assert len(record.query) <= 500
    assert len(record.candidates) + sum(record.rest.values()) == 500


def test_rotation_keeps_one_older_generation_and_loses_nothing_in_between(where):
    journal = Journal(where)
    follower = JournalFollower(where)
    followed = 0
    total = 0
    while not os.path.exists(os.path.join(where.directory, where.name + ".1")):
        journal.append(line(f"query {total} " + "x" * 400, count=20), now=NOW)
        total += 1
        if total % 7 == 0:
            followed += len(follower.poll().records)
    followed += len(follower.poll().records)
    follower.close()
    assert followed == total
    assert len(read_journal(where).records) == total
    assert os.path.getsize(os.path.join(where.directory, where.name)) <= JOURNAL_MAX_BYTES
    assert os.path.getsize(os.path.join(where.directory, where.name + ".1")) <= JOURNAL_MAX_BYTES


def test_a_follower_goes_on_after_removal(where):
    journal = Journal(where)
    journal.append(line("one"), now=NOW)
    follower = JournalFollower(where)
    assert [record.query for record in follower.poll().records] == ["one"]
    os.unlink(os.path.join(where.directory, where.name))
    assert follower.poll().records == ()
    journal.append(line("two"), now=NOW)
    assert [record.query for record in follower.poll().records] == ["two"]
    follower.close()


def test_corrupt_and_torn_lines_are_skipped_and_counted(where):
    journal = Journal(where)
    journal.append(line("one"), now=NOW)
    path = os.path.join(where.directory, where.name)
    with open(path, "ab") as file:
        file.write(b"\xff\xfenonsense\n{}\n" + line("torn")[:40])
    journal.append(line("two"), now=NOW)
    read = read_journal(where)
    assert [record.query for record in read.records] == ["one", "two"]
    assert read.skipped == 3


def test_nothing_older_than_30_days_stays(where):
    journal = Journal(where)
    for days in (45, 31, 29, 1):
        journal.append(line(f"{days} days", time=NOW - timedelta(days=days)), now=NOW - timedelta(days=days))
    journal.append(line("now"), now=NOW)
    assert [record.query for record in read_journal(where).records] == ["29 days", "1 days", "now"]


def test_eight_writers_tear_and_lose_nothing(where):
    program = (
        "import sys\n"
        "from datetime import datetime, UTC\n"
        "from pony_memory.recall.decisions import Recall\n"
        "from pony_memory.recall.journal import Journal, JournalPlace, encode\n"
        "directory, name, who = sys.argv[1:]\n"
        "journal = Journal(JournalPlace(directory, name))\n"
        "for n in range(25):\n"
        "    made = Recall(f'{who} {n} ' + 'x' * 450, (), '', 0, 0.0, 0.0)\n"
        "    journal.append(encode(made, source='recall', session=who, pid=1, time=datetime.now(UTC)))\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, where.directory, where.name, str(who)]) for who in range(8)
    ]
    assert [writer.wait() for writer in writers] == [0] * 8
    read = read_journal(where)
    assert read.skipped == 0
    written = sorted(tuple(map(int, record.query.split()[:2])) for record in read.records)
    assert written == [(who, n) for who in range(8) for n in range(25)]


def test_the_configuration_turns_it_off(place):
    config = place.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"recall": {"journal": false}}')
    place.write("user/notes/a.md", "needle")
    memory = place.memory()
    memory.recall("needle", session="s", record=True)
    assert not (place.home / ".pony" / "recall").exists()


def test_nothing_of_it_is_inside_the_workspace(place):
    place.write("user/notes/a.md", "needle")
    before = set(place.workspace.rglob("*"))
    assert place.memory().recall("needle", session="s", record=True).notices == ()
    assert set(place.workspace.rglob("*")) == before
    assert len(list((place.home / ".pony" / "recall" / "local").glob("*.jsonl"))) == 1
