"""What every pane has: a title, a help text beside its bindings, and a border that shows the focus."""

from __future__ import annotations

from typing import ClassVar

from textual.containers import Vertical


class Pane(Vertical):
    """Base of the six panes. ``HELP`` is shown by ``?`` and stands beside the bindings it explains."""

    TITLE: ClassVar[str] = ""
    HELP: ClassVar[str] = ""

    def on_mount(self) -> None:
        self.border_title = self.TITLE

    def focus_inside(self) -> None:
        """Give the focus to the widget of this pane that a person works with."""
        for widget in self.query("*"):
            if widget.focusable:
                widget.focus()
                return
