"""A one-line question at the foot of a pane. Esc leaves it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input


class LeaveInput(Input):
    """An input in which every character is text and Esc leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave")]

    class Left(Message):
        """Esc was pressed."""

    def action_leave(self) -> None:
        self.post_message(self.Left())


class Prompt(Vertical):
    """Hidden until it asks; answers with :class:`Prompt.Answered` or :class:`Prompt.Left`."""

    class Answered(Message):
        """The question of this kind was answered."""

        def __init__(self, kind: str, value: str) -> None:
            super().__init__()
            self.kind = kind
            self.value = value

    class Left(Message):
        """The question was left unanswered."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._kind = ""

    def compose(self) -> ComposeResult:
        yield LeaveInput()

    def on_mount(self) -> None:
        self.display = False

    def ask(self, kind: str, placeholder: str) -> None:
        self._kind = kind
        field = self.query_one(LeaveInput)
        field.value = ""
        field.placeholder = placeholder
        self.display = True
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.display = False
        self.post_message(self.Answered(self._kind, event.value))

    def on_leave_input_left(self, event: LeaveInput.Left) -> None:
        event.stop()
        self.display = False
        self.post_message(self.Left())
