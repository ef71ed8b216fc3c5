"""The recall watch: decisions of every process of this project, as they are made (SPEC §7, §22)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.reactive import reactive
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from pony_memory.memory import Memory
from pony_memory.recall.journal import JournalCandidate, JournalFollower, JournalRecord
from pony_workbench.messages import NoteOpened
from pony_workbench.text_safety import fit, visible_line
from pony_workbench.widgets.pane import Pane
from pony_workbench.widgets.prompt import Prompt

POLL_SECONDS: Final = 0.5
#: Decisions kept on the screen; older ones are in the journal.
MOST_RECORDS: Final = 200
_BAR_CELLS: Final = 20
_NOTHING: Final = "No recall decisions yet."
_EXPLAINED: Final = (
    "When an agent recalls, each decision appears here: the query, the candidates with their scores against the "
    "threshold, and why each was kept or dropped.\n\nTry it: pony-memory recall 'how do we deploy?' --record"
)


class RecallPane(Pane):
    """Newest first: the decisions, and below them the one under the cursor."""

    TITLE = "6 Recall"
    HELP = """\
Each time an agent asks, the engine decides which memories go into its prompt. The decisions of every process of this
project appear here as they are made.

  ↑ ↓ j k   another decision            enter   open the best note that was kept
  p         pause, go on                f       filter by a word of the query or of a path

The bar shows a candidate's share of the best score; │ marks the threshold below which nothing is kept.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open"),
        Binding("p", "pause", "Pause"),
        Binding("f", "filter", "Filter"),
    ]

    paused: reactive[bool] = reactive(False)

    def __init__(self, memory: Memory) -> None:
        super().__init__(id="recall")
        self._memory = memory
        self._follower: JournalFollower | None = None
        self._records: list[JournalRecord] = []
        self._shown: list[JournalRecord] = []
        self._skipped = 0
        self._needle = ""

    def compose(self) -> ComposeResult:
        yield Decisions(id="decisions")
        with VerticalScroll(id="decision-scroll", can_focus=False):
            yield Static("", id="decision")
        yield Prompt(id="recall-prompt")

    def on_mount(self) -> None:
        super().on_mount()
        place = self._memory.journal_place()
        if place is not None:
            self._follower = JournalFollower(place)
        self._show()
        self.set_interval(POLL_SECONDS, self.poll)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def on_unmount(self) -> None:
        if self._follower is not None:
            self._follower.close()

    def poll(self) -> None:
        """Take in what was written since; while paused it waits in the journal."""
        if self._follower is None or self.paused:
            return
        read = self._follower.poll()
        self._skipped += read.skipped
        if read.records:
            self._records = [*reversed(read.records), *self._records][:MOST_RECORDS]
            self._show()

    def watch_paused(self) -> None:
        self._show_place()

    def action_pause(self) -> None:
        self.paused = not self.paused
        self.poll()

    def action_filter(self) -> None:
        self.query_one(Prompt).ask("filter", "show decisions with this word; nothing shows all")

    @on(Prompt.Answered)
    def _answered(self, event: Prompt.Answered) -> None:
        event.stop()
        self._needle = event.value.strip().casefold()
        self._show()
        self.focus_inside()

    @on(Prompt.Left)
    def _left(self, event: Prompt.Left) -> None:
        event.stop()
        self.focus_inside()

    @on(OptionList.OptionHighlighted)
    def _highlighted(self) -> None:
        record = self._chosen()
        if record is not None:
            self.query_one("#decision", Static).update(_decision(record))

    @on(OptionList.OptionSelected)
    def action_open(self) -> None:
        record = self._chosen()
        if record is None:
            return
        best = record.kept[0] if record.kept else record.candidates[0] if record.candidates else None
        if best is not None:
            self.post_message(NoteOpened(best.path, best.lines[0] if best.lines and "#" not in best.path else 1))

    def focus_inside(self) -> None:
        self.query_one("#decisions", Decisions).focus()

    def _chosen(self) -> JournalRecord | None:
        place = self.query_one("#decisions", Decisions).highlighted
        return self._shown[place] if place is not None and place < len(self._shown) else None

    def _matches(self, record: JournalRecord) -> bool:
        texts = (record.query, *[item.path for item in record.candidates])
        return not self._needle or any(self._needle in text.casefold() for text in texts)

    def _show(self) -> None:
        chosen = self._chosen()
        decisions = self.query_one("#decisions", Decisions)
        self._shown = [record for record in self._records if self._matches(record)]
        width = max(30, decisions.scrollable_content_region.width - 2)
        decisions.clear_options()
        decisions.add_options([Option(_row(record, width)) for record in self._shown])
        if self._shown:
            decisions.highlighted = self._shown.index(chosen) if chosen in self._shown else 0
        else:
            nothing = "No decision has this word." if self._records else _NOTHING
            self.query_one("#decision", Static).update(
                Text.assemble((nothing, "bold"), "" if self._records else (f"\n\n{_EXPLAINED}", "dim"))
            )
        self._show_place()

    def _show_place(self) -> None:
        told = [f"{len(self._shown)} decisions"] if self._records else []
        if self.paused:
            told.append("paused")
        if self._needle:
            told.append(f"filter: {fit(visible_line(self._needle), 20)}")
        if self._skipped:
            told.append(f"{self._skipped} damaged lines skipped")
        self.border_subtitle = " · ".join(told)


class Decisions(OptionList):
    """The decisions, with vi keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]


def _row(record: JournalRecord, width: int) -> Text:
    kept = len(record.kept)
    head = f"{record.time[11:19]}  "
    tail = f"  {kept} kept"
    room = max(10, width - len(head) - len(tail))
    return Text.assemble(
        (head, "dim"),
        (fit(visible_line(record.query), room), "bold"),
        (tail, "green" if kept else "dim"),
        no_wrap=True,
    )


def _decision(record: JournalRecord) -> Text:
    return Text("\n").join(_lines(record))


def _lines(record: JournalRecord) -> Iterator[Text]:
    yield Text(visible_line(record.query), "bold")
    session = f", session {visible_line(record.session)}" if record.session else ""
    yield Text(f"{record.source} at {record.time} by pid {record.pid}{session}", "dim")
    yield Text(f"threshold {record.threshold:.3f} of best {record.best:.3f} · {record.tokens:,} tokens given", "dim")
    for item in record.candidates:
        yield _candidate(item, record)
    rest = sum(record.rest.values())
    if rest:
        told = ", ".join(f"{count} {verdict}" for verdict, count in record.rest.items())
        yield Text(f"and {rest:,} more: {told}", "dim")


def _candidate(item: JournalCandidate, record: JournalRecord) -> Text:
    kept = item.verdict == "kept"
    filled = min(_BAR_CELLS, round(item.normalized * _BAR_CELLS))
    border = round(record.threshold / record.best * _BAR_CELLS) if record.best else 0
    bar = "".join(
        "│" if place == border and place >= filled else "█" if place < filled else "░" for place in range(_BAR_CELLS)
    )
    lines = f":{item.lines[0]}-{item.lines[1]}" if item.lines else ""
    text = Text.assemble(
        ("✓ " if kept else "· ", "green" if kept else "dim"),
        (f"{item.score:7.3f} ", "bold"),
        (bar, "green" if kept else "dim"),
        f" {item.verdict:<15} ",
        (f"{visible_line(item.path)}{lines}", "bold" if kept else ""),
    )
    if item.terms:
        text.append(f"\n             {fit(visible_line(' '.join(item.terms)), 60)}", "dim")
    return text
