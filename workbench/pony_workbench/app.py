"""The workbench: six panes over one :class:`~pony_memory.memory.Memory` (SPEC §22)."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import ClassVar, Final

from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.reactive import reactive
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import Footer, Static
from textual.worker import Worker, WorkerState, get_current_worker

from pony_memory.errors import PonyError
from pony_memory.files.lock_state import Free, LockState
from pony_memory.memory import Memory
from pony_workbench.dialogs.help import HelpDialog, TargetDialog
from pony_workbench.dialogs.unlock import UnlockDialog
from pony_workbench.messages import NoteOpened, StoreView, TargetWanted, UnlockWanted
from pony_workbench.panes.dream import DreamPane
from pony_workbench.panes.reader import ReaderPane
from pony_workbench.panes.recall import RecallPane
from pony_workbench.panes.scopes import ScopesPane
from pony_workbench.panes.search import SearchPane
from pony_workbench.panes.status import StatusPane
from pony_workbench.text_safety import fit, visible, visible_line
from pony_workbench.watching import POLL_SECONDS, DiskWatcher
from pony_workbench.widgets.pane import Pane

#: At this width browser, reader and status are seen together.
WIDE_COLUMNS: Final = 120
PANES: Final = ("scopes", "reader", "search", "status", "dream", "recall")
_ALWAYS_WHEN_WIDE: Final = frozenset(("scopes", "status"))

#: What the demo's scripted agent asks, and how often.
DEMO_PROMPTS: Final = (
    "how do we deploy, and is Friday all right?",
    "which port does ssh on staging listen on?",
    "数据库主库不可用的时候怎么切换？",
    "what's for lunch?",
    "add cursor pagination to the tickets list",
    "why do integration tests hang for a minute?",
)
DEMO_RECALL_SECONDS: Final = 6.0

DARK: Final = Theme(
    name="pony-dark",
    primary="#8ab4d8",
    secondary="#b9a3d6",
    accent="#e0af68",
    success="#8fbf7f",
    warning="#e0af68",
    error="#e06c75",
    foreground="#d6d9de",
    background="#16181d",
    surface="#1b1e24",
    panel="#262a33",
    dark=True,
)
LIGHT: Final = Theme(
    name="pony-light",
    primary="#2b5f8f",
    secondary="#6b4f93",
    accent="#9a5b00",
    success="#3b7a33",
    warning="#8f5a00",
    error="#b3261e",
    foreground="#22252b",
    background="#fbfaf7",
    surface="#f3f1ec",
    panel="#e6e3dc",
    dark=False,
)


class WorkbenchApp(App[None]):
    """Browses, reads, searches and watches the memories of one place.

    ``clock`` gives the time ages are told by. Whatever the engine raises is shown; it never ends the app.
    """

    TITLE = "pony-memory"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - declared so by App
        (0, "-narrow"),
        (WIDE_COLUMNS, "-wide"),
    ]
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "show_pane('scopes')", "Scopes", show=False),
        Binding("2", "show_pane('reader')", "Reader", show=False),
        Binding("3", "show_pane('search')", "Search", show=False),
        Binding("4", "show_pane('status')", "Status", show=False),
        Binding("5", "show_pane('dream')", "Dream", show=False),
        Binding("6", "show_pane('recall')", "Recall", show=False),
        Binding("slash", "show_pane('search')", "Search", key_display="/"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
    ]

    current: reactive[str] = reactive("scopes")
    #: What stands in the middle on a wide screen.
    middle: reactive[str] = reactive("reader")

    def __init__(
        self, memory: Memory, *, demo: bool = False, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        super().__init__()
        self.memory = memory
        self.demo = demo
        self._clock = clock
        self._view: StoreView | None = None
        self._watcher = DiskWatcher(self.action_refresh_store)
        self._looking = False
        self._look_again = False
        self._demo_turn = 0
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name

    def compose(self) -> ComposeResult:
        yield Static("", id="bar")
        with Horizontal(id="panes"):
            yield ScopesPane(self.memory.scopes)
            yield ReaderPane(self.memory)
            yield SearchPane(self.memory)
            yield DreamPane()
            yield RecallPane(self.memory)
            yield StatusPane(self.memory)
        yield Footer(show_command_palette=True)

    def on_mount(self) -> None:
        self._arrange()
        self.query_one(ScopesPane).focus_inside()
        self.action_refresh_store()
        self.set_interval(POLL_SECONDS, self.action_refresh_store)
        if self.demo:
            self.set_interval(DEMO_RECALL_SECONDS, self._demo_recalls)
        self.run_worker(self._watcher.run(), group="watch", exclusive=True, exit_on_error=False)
        if self.memory.config_error is not None:
            self._tell(self.memory.config_error)

    # What is shown

    def watch_current(self) -> None:
        self._arrange()

    def watch_middle(self) -> None:
        self._arrange()

    def on_resize(self) -> None:
        self.call_after_refresh(self._arrange)

    def _arrange(self) -> None:
        if not self.is_running or not self.screen_stack[0].query("#panes"):
            return
        wide = self.size.width >= WIDE_COLUMNS
        for name in PANES:
            pane = self.screen_stack[0].query_one(f"#{name}", Pane)
            pane.display = (name in _ALWAYS_WHEN_WIDE or name == self.middle) if wide else name == self.current
        self._show_bar()

    def _show_bar(self) -> None:
        from rich.text import Text  # noqa: PLC0415

        wide = self.size.width >= WIDE_COLUMNS
        place = os.path.basename(self.memory.scopes.workspace) or self.memory.scopes.workspace
        text = Text.assemble((" pony-memory ", "bold"), f" {fit(visible_line(place), 24)} ", no_wrap=True)
        if self.demo:
            text.append(" demo: a copy, nothing of yours " if wide else " demo ", "italic")
        for number, name in enumerate(PANES, 1):
            current = name == self.current
            label = f"{number} {name}" if wide or current else f"{number} {name[:6]}"
            seen = wide and (name == self.middle or name in _ALWAYS_WHEN_WIDE)
            text.append(" " if not wide else "  ").append(label, "bold underline" if current else "" if seen else "dim")
        self.screen_stack[0].query_one("#bar", Static).update(text)

    def action_show_pane(self, name: str) -> None:
        """Bring a pane to the front and give it the focus."""
        if len(self.screen_stack) > 1:
            return
        if name not in _ALWAYS_WHEN_WIDE:
            self.middle = name
        self.current = name
        pane = self.screen.query_one(f"#{name}", Pane)
        self.call_after_refresh(pane.focus_inside)

    def on_descendant_focus(self) -> None:
        """The pane that has the focus is the current one, however it came by it."""
        focused = self.focused
        for pane in self.screen.query(Pane):
            if focused is not None and pane in focused.ancestors_with_self and pane.id and pane.display:
                self.set_reactive(WorkbenchApp.current, pane.id)
                self._show_bar()

    def action_help(self) -> None:
        if len(self.screen_stack) > 1:
            return
        pane = self.query_one(f"#{self.current}", Pane)
        self.push_screen(HelpDialog(pane.TITLE[2:], pane.HELP))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for name in PANES:
            yield SystemCommand(f"Go to {name}", f"Show the {name} pane", lambda name=name: self.action_show_pane(name))
        yield SystemCommand("Unlock", "Show the .lock and ask whether to remove it", self._ask_unlock)
        yield SystemCommand("Refresh", "Look at the disk again", self.action_refresh_store)
        yield SystemCommand("Help of this pane", "What it shows and which keys it has", self.action_help)
        yield SystemCommand("Theme", "Choose dark, light or another theme", self.action_change_theme)
        yield SystemCommand("Save a screenshot", "As an SVG file in the current directory", self.deliver_screenshot)
        yield SystemCommand("Quit", "Leave the workbench", self.action_quit)

    # Following the disk

    def action_refresh_store(self) -> None:
        """Look at the place again, in the background; one look at a time, and one more if asked meanwhile."""
        if self._looking:
            self._look_again = True
            return
        self._looking = True
        self._look()

    @work(thread=True, group="look", exit_on_error=False)
    def _look(self) -> None:
        worker = get_current_worker()
        try:
            # One snapshot for all three: what the panes show together was together on the disk.
            snapshot = self.memory.snapshot()
            rows = self.memory.list_files(snapshot=snapshot)
            view = StoreView(snapshot, rows, self.memory.status(snapshot=snapshot), self._clock())
        except PonyError as error:
            self.call_from_thread(self._looked, None, error)
            return
        if not worker.is_cancelled:
            self.call_from_thread(self._looked, view, None)

    def _looked(self, view: StoreView | None, error: PonyError | None) -> None:
        self._looking = False
        if error is not None:
            self._tell(error)
        if view is not None:
            self._watcher.cover(view.snapshot.directories)
            before = self._view
            self._view = view
            # The files themselves are compared too: a change that left size and time as they were is a change.
            if before is None or _seen(before) != _seen(view):
                self._show_view(view)
        if self._look_again:
            self._look_again = False
            self.action_refresh_store()

    def _show_view(self, view: StoreView) -> None:
        screen = self.screen_stack[0]
        screen.query_one(ScopesPane).show(view)
        screen.query_one(ReaderPane).show(view)
        screen.query_one(SearchPane).show(view)
        screen.query_one(StatusPane).show(view)
        screen.query_one(DreamPane).show(view)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A worker that failed in a way nobody thought of is told calmly; the app goes on."""
        if event.state is WorkerState.ERROR:
            self._looking = False
            self.notify(
                f"something unexpected happened: {type(event.worker.error).__name__}",
                severity="error",
                markup=False,
            )

    @work(thread=True, exclusive=True, group="demo", exit_on_error=False)
    def _demo_recalls(self) -> None:
        """The demo's scripted agent asks its next question."""
        prompt = DEMO_PROMPTS[self._demo_turn % len(DEMO_PROMPTS)]
        self._demo_turn += 1
        self.memory.recall(prompt, session="demo", record=True)

    # What panes ask for

    @on(NoteOpened)
    def _open_note(self, event: NoteOpened) -> None:
        self.screen_stack[0].query_one(ReaderPane).open(event.path, event.line)
        self.action_show_pane("reader")

    @on(TargetWanted)
    def _ask_target(self, event: TargetWanted) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                webbrowser.open(event.url)

        self.push_screen(TargetDialog(visible(event.url)), answered)

    @on(UnlockWanted)
    def _unlock_wanted(self) -> None:
        self._ask_unlock()

    def _ask_unlock(self) -> None:
        try:
            seen = self.memory.lock_state()
        except PonyError as error:
            self._tell(error)
            return
        if isinstance(seen, Free):
            self.notify("The lock is free.", markup=False)
            self.action_refresh_store()
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._unlock(seen)

        self.push_screen(UnlockDialog(seen, self._clock()), answered)

    @work(thread=True, group="unlock", exit_on_error=False)
    def _unlock(self, seen: LockState) -> None:
        try:
            done = self.memory.unlock(seen, force_live=seen.may_live)
        except PonyError as error:
            self.call_from_thread(self._tell, error)
        else:
            told = "The lock was removed." if done.removed else "The lock was free already."
            self.call_from_thread(self.notify, told, markup=False)
        self.call_from_thread(self.action_refresh_store)

    def _tell(self, error: PonyError) -> None:
        hint = f"\n{visible(error.hint)}" if error.hint else ""
        self.notify(f"{visible(error.message)}{hint}", title=error.code, severity="error", markup=False, timeout=10)


def _seen(view: StoreView) -> tuple[object, ...]:
    """What a look at the disk is compared by; files that were not read again are the same objects, so this is cheap."""
    return view.snapshot.files, view.rows, view.status
