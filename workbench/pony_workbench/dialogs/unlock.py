"""The unlock dialog: the holder, whether it lives, how old the lock is; typed confirmation for one that may live."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from pony_memory.files.lock_state import Abandoned, Free, Held, LockState
from pony_workbench.panes.scopes import age
from pony_workbench.text_safety import visible_line

#: What has to be typed before a lock is removed whose holder may live.
TYPED_CONFIRMATION: Final = "unlock"


class UnlockDialog(ModalScreen[bool]):
    """Asks; the answer is true when the lock that is shown should be removed. Removing is the caller's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave"),
        Binding("y", "confirm", "Remove"),
        Binding("n", "leave", "Leave it"),
    ]

    def __init__(self, state: LockState, taken: datetime) -> None:
        super().__init__()
        self.state = state
        self._taken = taken

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-danger" if self.state.may_live else ""):
            yield Static(self._text(), id="dialog-text")
            if self.state.may_live:
                yield Input(placeholder=f"type {TYPED_CONFIRMATION} to go on", id="typed")
            with Horizontal(id="dialog-buttons"):
                yield Button("Leave it", id="leave")
                yield Button("Remove the lock", id="remove", variant="error", disabled=self.state.may_live)

    def on_mount(self) -> None:
        self.query_one("#dialog").border_title = "Unlock"
        self.query_one("#typed" if self.state.may_live else "#leave").focus()

    def _text(self) -> Text:
        text = Text()
        if isinstance(self.state, Held | Abandoned):
            holder = self.state.holder
            for label, value in (
                ("operation", holder.op),
                ("process", f"{holder.pid} on {holder.hostname}"),
                ("started", f"{holder.started_at}{_ago(holder.started_at, self._taken)}"),
            ):
                text.append(f"{label:<10} ", "dim").append(f"{visible_line(value)}\n")
        text.append("\n")
        if isinstance(self.state, Abandoned):
            text.append("✗ The process is gone", "bold red").append(f": {visible_line(self.state.why)}.\n")
            text.append("Nobody else will remove this lock, and no write can happen until it is removed.")
        elif self.state.may_live:
            text.append("! Its holder may be alive.", "bold yellow").append(
                " If it is writing, two writers will work on the store at once: exclusion is not promised afterwards. "
                "Waiting for it is the safe way."
            )
        elif not isinstance(self.state, Free):
            text.append("✗ The lock cannot be read", "bold red").append(
                f": {visible_line(getattr(self.state, 'reason', ''))}."
            )
        return text

    @on(Input.Changed, "#typed")
    def _typed(self, event: Input.Changed) -> None:
        self.query_one("#remove", Button).disabled = event.value.strip() != TYPED_CONFIRMATION

    @on(Input.Submitted, "#typed")
    @on(Button.Pressed, "#remove")
    def action_confirm(self) -> None:
        if not self.query_one("#remove", Button).disabled:
            self.dismiss(True)

    @on(Button.Pressed, "#leave")
    def action_leave(self) -> None:
        self.dismiss(False)


def _ago(started: str, taken: datetime) -> str:
    try:
        return f"  ({age(started, taken)} ago)"
    except (ValueError, TypeError):
        return ""
