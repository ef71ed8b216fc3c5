"""What people read: plain lines of at most 80 columns where the content allows it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, assert_never

from pony_workbench.cli.context import Style
from pony_workbench.text_safety import cells, fit, visible, visible_line

if TYPE_CHECKING:
    from pony_memory.entries.entry import Entry
    from pony_memory.files.lock_state import LockState
    from pony_memory.reports.doctor import Doctor
    from pony_memory.reports.listing import FileRow
    from pony_memory.reports.review import Review
    from pony_memory.reports.status import Status
    from pony_memory.retrieval.search import Hit, SearchResult
    from pony_memory.scopes.scopes import Scopes

WIDTH = 80
DISABLED_LINES = (
    "Memory: disabled",
    'Dir: not initialized — set "enabled": true in memory.json and restart',
)
_MARKS = {"ok": " ", "superseded": "~", "not_an_entry": "?"}


def size(number: int | None) -> str:
    """Bytes in at most six columns."""
    if number is None:
        return "-"
    return f"{number} B" if number < 10_000 else f"{number / 1024:.0f} KB"


def file_rows(rows: Iterable[FileRow], scopes: Scopes, style: Style) -> Iterator[str]:
    rows = list(rows)
    for scope in scopes.available:
        mine = [row for row in rows if row.scope == scope.name]
        yield f"{style.bold(scope.name)}  {style.dim(visible_line(scope.location))}"
        if not mine:
            yield style.dim("  nothing here yet")
        for row in mine:
            mark = _MARKS.get(row.status, "!")
            prefix = f"{mark} {size(row.bytes):>7}  {(row.modified or '')[:10]:<10}  "
            path = visible_line(row.path)
            title = "" if row.kind in ("agent_notes", "index") else visible_line(row.title)
            line = prefix + path
            if row.status != "ok":
                told = f"{row.status}: {row.detail}" if row.detail else row.status
                line = f"{line}  {style.yellow(visible_line(told))}"
            elif title and title != path.rsplit("/", 1)[-1].removesuffix(".md"):
                room = WIDTH - cells(line) - 2
                line = f"{line}  {style.dim(fit(title, room))}" if room >= 8 else line
            yield line
    for name, why in scopes.unavailable:
        yield f"{style.bold(name)}  {style.yellow('not available')}: {why}"
    marks = {_MARKS.get(row.status, "!") for row in rows}
    legend = [("!", "not read"), ("~", "superseded"), ("?", "no entry")]
    shown = [f"{mark} {text}" for mark, text in legend if mark in marks]
    if shown:
        yield style.dim("   ".join(shown))


def search_result(result: SearchResult, style: Style, *, explain: bool) -> Iterator[str]:
    if not result.hits:
        if not result.query.strip():
            yield "An empty query finds nothing."
        elif result.documents == 0:
            yield "There is nothing to search yet: no memories in these scopes."
        else:
            yield f"Nothing found in {result.documents:,} documents."
        return
    for number, hit in enumerate(result.hits, 1):
        yield from _hit(number, hit, style, explain=explain)
    yield style.dim(f"{len(result.hits)} of {result.documents:,} documents")


def _hit(number: int, hit: Hit, style: Style, *, explain: bool) -> Iterator[str]:
    filled = round(hit.normalized * 8)
    bar = "█" * filled + "░" * (8 - filled)
    yield f"{number:>2}  {hit.score:7.3f}  {style.cyan(bar)}  {style.bold(visible_line(str(hit.path)))}"
    if hit.via is not None:
        yield style.dim(f"    linked as [[{visible_line(hit.via.name)}]] from {visible_line(str(hit.via.source))}")
    for snippet in hit.snippets:
        yield f"    {style.dim(f'{snippet.line:>5}')}  {fit(visible_line(snippet.text), WIDTH - 11)}"
    if explain and hit.terms:
        for term, fields in hit.terms.items():
            told = ", ".join(f"{field} {gain:.3f}" for field, gain in fields.items())
            yield style.dim(f"           {visible_line(term)} = {sum(fields.values()):.3f}  ({told})")


def review_blocks(found: Review, style: Style) -> Iterator[str]:
    if not found.blocks:
        yield "No Agent Notes yet."
        return
    for block in found.blocks:
        yield f"{style.bold(visible_line(block.path))}  {style.dim(visible_line(block.time))}"
        for line in visible(block.text).split("\n"):
            yield f"    {line}"
    share = found.bytes / found.hard_limit
    yield style.dim(
        f"{len(found.blocks)} blocks, {found.bytes:,} bytes ({share:.0%} of the {found.hard_limit:,} of one scope)"
    )


def entry_rows(found: Iterable[Entry], style: Style) -> Iterator[str]:
    entries = list(found)
    if not entries:
        yield "No entries yet."
    for entry in entries:
        yield (
            f"- {style.bold(visible_line(entry.name))} ({entry.type}, modified {entry.modified}) — "
            f"{visible_line(entry.description)} {style.dim(f'[{visible_line(entry.file)}]')}"
        )


def lock_line(state: LockState) -> str:
    """The seed's line on the lock, with what this product adds for an abandoned one."""
    from pony_memory.files.lock_state import Abandoned, Free, Held, Unreadable

    match state:
        case Free():
            return "free"
        case Held():
            return _held(state.holder)
        case Abandoned():
            return f"{_held(state.holder)} — abandoned, run pony-memory unlock"
        case Unreadable():
            return "unreadable — run pony-memory unlock"
        case _:
            assert_never(state)


def _held(holder: object) -> str:
    from pony_memory.files.lock_state import Holder

    assert isinstance(holder, Holder)
    return visible_line(f"held by {holder.op} (pid {holder.pid} on {holder.hostname}, started {holder.started_at})")


def status_lines(found: Status, style: Style) -> Iterator[str]:
    """The seed's six lines, then what it does not tell."""
    if found.state == "disabled":
        yield from DISABLED_LINES
    elif found.state == "misconfigured":
        yield "Memory: misconfigured"
        yield "Dir: not initialized"
        yield from (f"- {visible(error)}" for error in found.errors)
    else:
        index = found.index
        yield "Memory: enabled"
        yield f"Dir: {visible_line(found.dir) if found.dir else 'not available'}"
        yield (
            f"Index: {index.lines}/{index.max_lines} lines, {index.bytes}/{index.max_bytes} bytes, "
            f"{index.unrecognized} unrecognized lines"
        )
        yield f"Entries: {found.entries}"
        yield f"Last dream: {found.last_dream or 'never'}"
    if found.state != "misconfigured" or found.dir:
        yield f"Lock: {lock_line(found.lock)}"
    yield from _details(found, style)


def _details(found: Status, style: Style) -> Iterator[str]:
    if found.state != "disabled":
        yield ""
        yield from _index_details(found, style)
    for scope, sizes in found.agent_notes.items():
        over = "  over the soft limit" if sizes.bytes > sizes.soft_limit else ""
        yield (
            f"Agent Notes ({scope}): {sizes.bytes:,} bytes of {sizes.hard_limit:,}, warned from {sizes.soft_limit:,}"
            f"{style.yellow(over)}"
        )
    if found.backups:
        yield f"Backups: {found.backups}"
    if found.nudge:
        yield f"Dream: due, {found.nudge}"
    for task, model in found.models.items():
        told = "" if model.resolvable else f"  {style.yellow(f'not resolvable: {model.reason}')}"
        yield f"Model for {task}: {model.model or 'none'}{told}"
    for name, why in found.unavailable:
        yield style.yellow(f"Scope {name} is not available: {why}")
    yield from _named("Left out", [f"{item.path} ({item.reason})" for item in found.left_out], style)


def _index_details(found: Status, style: Style) -> Iterator[str]:
    index = found.index
    share = max(index.lines / index.max_lines, index.bytes / index.max_bytes)
    free = max(0, index.max_lines - index.lines)
    told = f"Headroom: {free} lines, {max(0, index.max_bytes - index.bytes):,} bytes ({share:.0%} used)"
    yield style.yellow(told) if index.headroom else told
    yield from _named("Outside the index", index.outside, style)
    drift = found.drift
    if not drift:
        yield "Drift: none"
    yield from _named("Entries with no index line", drift.unindexed, style)
    yield from _named("Index lines with no file", drift.dead_lines, style)
    yield from _named("Files with two index lines", drift.duplicate_lines, style)
    yield from _named("Index lines that differ from their entry", drift.stale_lines, style)
    if drift:
        yield style.dim("  pony-memory repair mends these line by line")
    yield from _named("Files that are no entries", [f"{x.file} ({x.reason})" for x in found.not_entries], style)


def _named(title: str, names: Iterable[str], style: Style) -> Iterator[str]:
    names = list(names)
    if not names:
        return
    yield style.yellow(f"{title}: {len(names):,}")
    for name in names[:50]:
        yield f"  {visible_line(name)}"
    if len(names) > 50:
        yield f"  … and {len(names) - 50:,} more; --json names all"


def doctor_lines(found: Doctor, style: Style) -> Iterator[str]:
    unsafe = [check for check in found.checks if check.status != "ok"]
    for check in unsafe:
        yield f"{style.red('unsafe')}  {visible_line(check.path)}: {check.reason}"
    safe = len(found.checks) - len(unsafe)
    verdict = f"{safe:,} of {len(found.checks):,} files can be read safely"
    yield style.red(verdict) if unsafe else style.green(verdict)
    if found.advice:
        yield ""
        yield style.bold(f"Advice ({len(found.advice):,})")
    for item in found.advice:
        where = f"  {visible_line(item.path)}" if item.path else ""
        yield f"  {style.yellow(item.kind)}{where}"
        indent = " " * 4
        yield from textwrap.wrap(
            visible_line(item.message), WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
