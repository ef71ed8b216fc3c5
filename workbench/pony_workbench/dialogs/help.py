"""Help of the focused pane, and the keys that work everywhere."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

_EVERYWHERE: Final = """\
1 … 6   scopes, reader, search, status, dream, recall
/       search from anywhere          ?        this help
ctrl+p  every command by name         q        quit
tab     to the next part of the pane  esc      leave a field or a dialog
"""


class HelpDialog(ModalScreen[None]):
    """Closed by any of the keys that might be tried."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss_help", "Close", key_display="esc"),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="dialog"):
            yield Static(Text.assemble(self._text, "\n", ("Everywhere\n", "bold"), _EVERYWHERE))

    def on_mount(self) -> None:
        self.query_one("#dialog").border_title = f"Help: {self._title}"

    def action_dismiss_help(self) -> None:
        self.dismiss(None)


class TargetDialog(ModalScreen[bool]):
    """Shows where a web address leads before it is opened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Open"),
        Binding("n,escape", "answer(False)", "Leave"),
    ]

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="dialog"):
            yield Static(
                Text.assemble(
                    "This note wants to open\n\n", (self._url, "bold"), "\n\nin the browser.  y open   n leave it"
                )
            )

    def on_mount(self) -> None:
        self.query_one("#dialog").border_title = "Open a web address?"

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
