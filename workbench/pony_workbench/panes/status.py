"""The status pane: the lock, how full the index is, and what others would lose in silence (SPEC §22)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import ClassVar, assert_never

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Button, Static

from pony_memory.files.lock_state import Abandoned, Free, Held, LockState, Unreadable
from pony_memory.memory import Memory
from pony_memory.reports.status import Status
from pony_workbench.messages import StoreView, UnlockWanted
from pony_workbench.panes.scopes import age
from pony_workbench.text_safety import visible, visible_line
from pony_workbench.widgets.pane import Pane

_GAUGE_CELLS = 20
_NAMES_SHOWN = 12


class StatusPane(Pane):
    """Everything of ``status``, live."""

    TITLE = "4 Status"
    HELP = """\
The project's store and everything around it, as it is now.

  u    unlock: shows who holds the .lock and asks
  r    look again

Lines   how many of the index's lines are used; what falls outside is named, because whoever loads the index drops it.
Drift   where index and entries disagree; `pony-memory repair` mends it line by line.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("u", "unlock", "Unlock"),
        Binding("r", "app.refresh_store", "Refresh"),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(id="status")
        self._memory = memory
        self._locked = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="status-scroll"):
            yield Static("", id="status-lock")
            yield Button("Unlock…  (u)", id="unlock", compact=True)
            yield Static(Text("Looking…", "dim"), id="status-text")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#unlock").display = False

    def show(self, view: StoreView) -> None:
        lock = view.status.lock
        self._locked = not isinstance(lock, Free)
        self.query_one("#status-lock", Static).update(_lock(lock, view.taken))
        self.query_one("#unlock").display = self._locked
        lines = [*_status(view.status), *_notices(self._memory)]
        self.query_one("#status-text", Static).update(Text("\n").join(lines))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._locked if action == "unlock" else True

    def action_unlock(self) -> None:
        self.post_message(UnlockWanted())

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(UnlockWanted())

    def action_scroll(self, step: int) -> None:
        self.query_one("#status-scroll", VerticalScroll).scroll_relative(y=step, animate=False)

    def focus_inside(self) -> None:
        self.query_one("#status-scroll").focus()


def _lock(state: LockState, taken: datetime) -> Text:
    match state:
        case Free():
            return Text.assemble(("Lock ", "bold"), ("○ free", "green"))
        case Held():
            holder = state.holder
            head = ("● held", "bold yellow")
        case Abandoned():
            holder = state.holder
            head = ("✗ abandoned: it stops every write", "bold red")
        case Unreadable():
            return Text.assemble(("Lock ", "bold"), ("✗ unreadable", "bold red"), f"\n  {visible_line(state.reason)}")
        case _:
            assert_never(state)
    return Text.assemble(
        ("Lock ", "bold"),
        head,
        f"\n  {visible_line(holder.op)} by pid {holder.pid} on {visible_line(holder.hostname)}",
        f"\n  since {visible_line(holder.started_at)}{_ago(holder.started_at, taken)}",
    )


def _ago(started: str, taken: datetime) -> str:
    try:
        return f" ({age(started, taken)})"
    except (ValueError, TypeError):
        return ""


def _status(found: Status) -> Iterator[Text]:
    yield Text()
    if found.state == "disabled":
        yield Text.assemble(("Memory ", "bold"), ("disabled", "yellow"))
        yield Text('set "enabled": true in memory.json and start again', "dim")
    else:
        if found.state == "misconfigured":
            yield Text.assemble(("Memory ", "bold"), ("misconfigured", "bold red"))
            for error in found.errors:
                yield Text(f"  {visible(error)}", "red")
        yield from _index(found)
    yield Text()
    for scope, sizes in found.agent_notes.items():
        yield Text(f"Agent Notes ({scope})", "bold")
        yield _gauge(sizes.bytes, sizes.hard_limit, "bytes", warn_from=sizes.soft_limit)
    if found.dir is not None and found.state != "disabled":
        yield Text.assemble(("Last dream ", "bold"), found.last_dream or "never")
        if found.nudge:
            yield Text(f"  ! due: {found.nudge}", "yellow")
        yield Text.assemble(("Backups ", "bold"), str(found.backups))
    for task, model in found.models.items():
        told = Text.assemble((f"{task} ", "bold"), visible_line(model.model or "no model"))
        if not model.resolvable:
            told.append(f"\n  ! {visible(model.reason or '')}", "yellow")
        yield told
    yield from _named("Left out", [f"{item.path} ({item.reason})" for item in found.left_out])
    for name, why in found.unavailable:
        yield Text(f"! {name} is not available: {why}", "yellow")


def _index(found: Status) -> Iterator[Text]:
    if found.dir is None:
        return
    yield Text.assemble(("Index ", "bold"), f"{found.entries} entries")
    yield _gauge(found.index.lines, found.index.max_lines, "lines")
    yield _gauge(found.index.bytes, found.index.max_bytes, "bytes")
    yield from _named("Outside the index", found.index.outside)
    drift = found.drift
    if drift:
        yield Text.assemble(("Drift ", "bold"), ("! index and entries disagree", "yellow"))
    elif found.entries:
        yield Text.assemble(("Drift ", "bold"), ("○ none", "green"))
    yield from _named("  no index line", drift.unindexed)
    yield from _named("  line without a file", drift.dead_lines)
    yield from _named("  two lines", drift.duplicate_lines)
    yield from _named("  differs from its entry", drift.stale_lines)
    yield from _named("No entries", [f"{item.file} ({item.reason})" for item in found.not_entries])


def _gauge(used: int, most: int, unit: str, *, warn_from: int | None = None) -> Text:
    share = used / most if most else 0.0
    filled = min(_GAUGE_CELLS, round(share * _GAUGE_CELLS))
    warned = used >= warn_from if warn_from is not None else share >= 0.8
    style = "red" if share > 1 else "yellow" if warned else "green"
    mark = "✗" if share > 1 else "!" if warned else " "
    bar = "█" * filled + "░" * (_GAUGE_CELLS - filled)
    return Text.assemble((f"{mark} ", style), (bar, style), f" {share:4.0%}\n  {used:,} of {most:,} {unit}")


def _named(title: str, names: Iterable[str]) -> Iterator[Text]:
    names = list(names)
    if not names:
        return
    text = Text(f"{title}: {len(names):,}", "yellow")
    for name in names[:_NAMES_SHOWN]:
        text.append(f"\n    {visible_line(name)}", "default")
    if len(names) > _NAMES_SHOWN:
        text.append(f"\n    … and {len(names) - _NAMES_SHOWN:,} more", "dim")
    yield text


def _notices(memory: Memory) -> Iterator[Text]:
    for notice in memory.notices:
        yield Text(f"! {visible(notice.message)}", "yellow")
        if notice.hint:
            yield Text(f"  {visible(notice.hint)}", "dim")
