"""The JSON shapes of SPEC §21, one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pony_memory.entries.entry import Entry
    from pony_memory.entries.store import Written
    from pony_memory.files.lock_state import Holder, LockState
    from pony_memory.paging import Page
    from pony_memory.recall.decisions import Recall
    from pony_memory.recall.journal import JournalRecord
    from pony_memory.reports.doctor import Doctor
    from pony_memory.reports.listing import FileRow
    from pony_memory.reports.review import Review
    from pony_memory.reports.status import Status
    from pony_memory.retrieval.search import SearchResult
    from pony_memory.writes.backups import Backup
    from pony_memory.writes.history import Event
    from pony_memory.writes.restore import Restored


def files(rows: Iterable[FileRow]) -> dict[str, Any]:
    return {
        "files": [
            {
                "path": row.path,
                "scope": row.scope,
                "kind": row.kind,
                "bytes": row.bytes,
                "modified": row.modified,
                "title": row.title,
                "status": row.status,
            }
            for row in rows
        ]
    }


def page(found: Page) -> dict[str, Any]:
    return {
        "path": found.path,
        "start": found.start,
        "end": found.end,
        "total_lines": found.total_lines,
        "sha256": found.sha256,
        "text": found.text,
        "continuation": found.continuation,
    }


def hits(result: SearchResult) -> dict[str, Any]:
    return {
        "query": result.query,
        "documents": result.documents,
        "hits": [
            {
                "path": str(hit.path),
                "scope": hit.scope,
                "kind": hit.kind.value,
                "score": hit.score,
                "normalized": hit.normalized,
                "snippets": [{"line": snippet.line, "text": snippet.text} for snippet in hit.snippets],
                "via": None if hit.via is None else {"name": hit.via.name, "from": str(hit.via.source)},
                "terms": {term: dict(fields) for term, fields in hit.terms.items()},
            }
            for hit in result.hits
        ],
    }


def review(found: Review) -> dict[str, Any]:
    return {
        "blocks": [{"path": block.path, "time": block.time, "text": block.text} for block in found.blocks],
        "bytes": found.bytes,
        "soft_limit": found.soft_limit,
        "hard_limit": found.hard_limit,
    }


def entries(found: Iterable[Entry]) -> dict[str, Any]:
    return {
        "entries": [
            {
                "name": entry.name,
                "file": entry.file,
                "type": entry.type,
                "description": entry.description,
                "created": entry.created,
                "modified": entry.modified,
            }
            for entry in found
        ]
    }


def holder(found: Holder | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"pid": found.pid, "hostname": found.hostname, "startedAt": found.started_at, "op": found.op}


def lock(state: LockState) -> dict[str, Any]:
    from pony_memory.files.lock_state import Abandoned, Free, Held, Unreadable

    match state:
        case Free():
            return {"state": "free", "holder": None}
        case Held():
            return {"state": "held", "holder": holder(state.holder)}
        case Abandoned():
            return {"state": "abandoned", "holder": holder(state.holder)}
        case Unreadable():
            return {"state": "unreadable", "holder": None}
        case _:
            assert_never(state)


def status(found: Status) -> dict[str, Any]:
    return {
        "state": found.state,
        "dir": found.dir,
        "errors": list(found.errors),
        "index": {
            "lines": found.index.lines,
            "max_lines": found.index.max_lines,
            "bytes": found.index.bytes,
            "max_bytes": found.index.max_bytes,
            "unrecognized": found.index.unrecognized,
            "outside": list(found.index.outside),
        },
        "entries": found.entries,
        "not_entries": [{"file": item.file, "reason": item.reason} for item in found.not_entries],
        "drift": {
            "unindexed": list(found.drift.unindexed),
            "dead_lines": list(found.drift.dead_lines),
            "duplicate_lines": list(found.drift.duplicate_lines),
            "stale_lines": list(found.drift.stale_lines),
        },
        "last_dream": found.last_dream,
        "sessions_since_dream": found.sessions_since_dream,
        "nudge": found.nudge,
        "lock": lock(found.lock),
        "backups": found.backups,
        "agent_notes": {
            scope: {"bytes": size.bytes, "soft_limit": size.soft_limit, "hard_limit": size.hard_limit}
            for scope, size in found.agent_notes.items()
        },
        "left_out": [{"path": item.path, "reason": item.reason} for item in found.left_out],
        "models": {
            task: {"model": state.model, "resolvable": state.resolvable, "reason": state.reason}
            for task, state in found.models.items()
        },
    }


def doctor(found: Doctor) -> dict[str, Any]:
    return {
        "checks": [
            {"scope": check.scope, "path": check.path, "status": check.status, "reason": check.reason}
            for check in found.checks
        ],
        "advice": [{"path": item.path, "kind": item.kind, "message": item.message} for item in found.advice],
    }


def written(done: Written) -> dict[str, Any]:
    return {
        "name": done.name,
        "file": done.file,
        "path": done.path,
        "created": done.created,
        "modified": done.modified,
    }


def backups(found: Iterable[Backup]) -> dict[str, Any]:
    return {
        "backups": [
            {"id": backup.id, "label": backup.label, "time": backup.time, "files": list(backup.files)}
            for backup in found
        ]
    }


def events(found: Iterable[Event]) -> dict[str, Any]:
    return {
        "events": [
            {
                "n": event.n,
                "time": event.time,
                "who": event.who,
                "action": event.action,
                "path": str(event.path),
                "before": event.before,
                "after": event.after,
            }
            for event in found
        ]
    }


def restored(done: Restored) -> dict[str, Any]:
    return {
        "restored": [str(path) for path in done.restored],
        "conflicts": [{"path": str(item.path), "reason": item.reason} for item in done.conflicts],
        "backup": done.backup,
    }


def recall(made: Recall) -> dict[str, Any]:
    return {
        "query": made.query,
        "decisions": [
            {
                "path": decision.path,
                "rank": decision.rank,
                "score": decision.score,
                "normalized": decision.normalized,
                "verdict": decision.verdict.value,
                "tokens": decision.tokens,
                "terms": list(decision.terms),
            }
            for decision in made.decisions
        ],
        "context": made.context,
        "tokens": made.tokens,
    }


def journal_record(record: JournalRecord) -> dict[str, Any]:
    return {
        "source": record.source,
        "time": record.time,
        "session": record.session,
        "pid": record.pid,
        "query": record.query,
        "threshold": record.threshold,
        "best": record.best,
        "tokens": record.tokens,
        "candidates": [
            {
                "path": item.path,
                "rank": item.rank,
                "score": item.score,
                "normalized": item.normalized,
                "verdict": item.verdict,
                "tokens": item.tokens,
                "terms": list(item.terms),
                "lines": list(item.lines) if item.lines is not None else None,
            }
            for item in record.candidates
        ],
        "rest": record.rest,
    }
