"""One recall of a place: decide, remember what this session was given, and write the journal (SPEC §7)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pony_memory.notices import Notice
from pony_memory.recall.journal import Journal, JournalPlace, encode
from pony_memory.recall.recall import RecallLimits, RecallQuery, recall
from pony_memory.recall.recent import RecentCache
from pony_memory.scopes.place import cache_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pony_memory.config.load import Config
    from pony_memory.recall.decisions import Recall
    from pony_memory.retrieval.snapshot import MemoryQuerySnapshot
    from pony_memory.tokens_count import TokenCounter


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was decided; ``notices`` tell what could not be remembered or written."""

    recall: Recall
    notices: tuple[Notice, ...]


def decide(
    snapshot: MemoryQuerySnapshot,
    query: RecallQuery,
    *,
    config: Config,
    environ: Mapping[str, str],
    journal: JournalPlace | None,
    session: str = "",
    record: bool = False,
    counter: TokenCounter | None = None,
    now: datetime | None = None,
) -> Recalled:
    """Recall for a turn of ``session``.

    With ``record`` the turn counts: what is kept is left out of the session's next turns, and the decision goes to
    the journal if the configuration lets it. Neither can fail a recall.
    """
    settings = config.recall
    limits = RecallLimits(
        settings.top_k,
        settings.min_score,
        settings.max_passage_tokens,
        settings.max_tokens,
        settings.skip_recent_turns,
        settings.scopes,
    )
    directory = cache_directory(environ)
    cache = RecentCache(directory) if directory is not None and session else None
    recent = cache.load(session) if cache is not None else None
    given = recent.within(limits.skip_recent_turns) if recent is not None else frozenset()
    made = recall(snapshot, query, limits=limits, recent=given, counter=counter)
    notices: list[Notice] = []
    if not record:
        return Recalled(made, ())
    if cache is not None and recent is not None:
        recent.add_turn(decision.path for decision in made.kept)
        try:
            cache.save(session, recent)
        except OSError as error:
            notices.append(Notice("recent_not_kept", f"the list of recent recalls was not kept: {error.strerror}"))
    if settings.journal:
        notices += _write_journal(made, journal, session, now or datetime.now(UTC))
    return Recalled(made, tuple(notices))


def _write_journal(made: Recall, place: JournalPlace | None, session: str, now: datetime) -> tuple[Notice, ...]:
    from pony_memory.errors import PonyError  # noqa: PLC0415 - beside its use

    if place is None:
        return (Notice("journal_not_written", "the recall journal has no place here: $HOME is not set"),)
    try:
        Journal(place).append(encode(made, source="recall", session=session, pid=os.getpid(), time=now), now=now)
    except (OSError, PonyError) as error:
        return (Notice("journal_not_written", f"the recall journal was not written: {error}"),)
    return ()
