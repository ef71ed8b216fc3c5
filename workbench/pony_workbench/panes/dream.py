"""The dream reviewer's place. What it will show is said; nothing is pretended (SPEC §22)."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from pony_workbench.messages import StoreView
from pony_workbench.widgets.pane import Pane


class DreamPane(Pane):
    """Says when the last dream was, and what a review will look like."""

    TITLE = "5 Dream"
    HELP = """\
A dream consolidates the entries of the project: it merges duplicates, mends the index, and makes descriptions say
something. It will never touch a file by itself: it makes a proposal, and here each step of it will be accepted, edited
or refused, with its reason, its evidence and its diff. Planning and reviewing proposals is not in this version.
"""
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self) -> None:
        super().__init__(id="dream")

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="dream-scroll"):
            yield Static("", id="dream-text")

    def on_mount(self) -> None:
        super().on_mount()
        self._show(None)

    def show(self, view: StoreView) -> None:
        self._show(view)

    def _show(self, view: StoreView | None) -> None:
        text = Text.assemble(("No proposals.", "bold"), "\n\n")
        text.append(
            "A dream will propose merging duplicates, mending the index, better descriptions and absolute dates. Each "
            "group of changes will be shown here with its reason and its diff, to accept, edit or refuse, and nothing "
            "will be written before that.\n\nThis version cannot plan one yet.",
            "dim",
        )
        if view is not None and view.status.dir is not None:
            text.append("\n\nLast dream  ", "bold").append(view.status.last_dream or "never")
            if view.status.nudge:
                text.append(f"\n! due: {view.status.nudge}", "yellow")
        self.query_one("#dream-text", Static).update(text)
