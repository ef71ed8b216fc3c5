"""Numbered text of any length: only the rows on the screen are ever rendered."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from pony_workbench.text_safety import cells, visible

_GUTTER = 2
#: Links and web addresses are marked where they stand, so that a person sees what Enter would follow.
_LINKS = re.compile(r"\[\[[^\[\]\n]{1,400}\]\]|https?://[^\s<>()\"'`]+")


class LineView(ScrollView, can_focus=True):
    """Lines with numbers, soft-wrapped, with a cursor line and highlighted finds. Everything is shown as text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("pagedown,space,ctrl+f", "move_screen(1)", "Screen down", show=False),
        Binding("pageup,ctrl+b", "move_screen(-1)", "Screen up", show=False),
        Binding("home,g", "go_to(1)", "First line", show=False),
        Binding("end,G", "go_to(-1)", "Last line", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line-view--number",
        "line-view--cursor",
        "line-view--match",
        "line-view--link",
    }

    cursor: reactive[int] = reactive(0)

    class CursorMoved(Message):
        """The cursor is on another line (0-based)."""

        def __init__(self, line: int) -> None:
            super().__init__()
            self.line = line

    def __init__(self, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self._lines: list[str] = []
        self._rows: list[tuple[int, int, int]] = []
        self._first_row: list[int] = []
        self._needle = ""
        self._first_number = 1

    @property
    def lines(self) -> list[str]:
        """The lines as shown: controls made visible, tabs expanded."""
        return self._lines

    def show(self, lines: Iterable[str], *, first_number: int = 1, cursor: int = 0) -> None:
        """Show other lines; ``first_number`` is the number of the first."""
        self._lines = [visible(line).expandtabs(4) for line in lines]
        self._first_number = first_number
        self._wrap()
        self.cursor = max(0, min(cursor, len(self._lines) - 1))
        self._show_cursor(top=True)
        self.refresh()

    def extend_to(self, lines: Iterable[str]) -> None:
        """Show ``lines``, which begin with those shown already, without moving anything."""
        self._lines = [visible(line).expandtabs(4) for line in lines]
        self._wrap()
        self.refresh()

    def highlight(self, needle: str) -> None:
        """Mark every occurrence of ``needle`` (compared case-folded); an empty one marks nothing."""
        self._needle = needle.casefold()
        self.refresh()

    def find(self, needle: str, *, backwards: bool = False, include_cursor: bool = False) -> bool:
        """Move the cursor to the next line with ``needle``, around the end; false if there is none."""
        needle = needle.casefold()
        count = len(self._lines)
        if not needle or not count:
            return False
        start = 0 if include_cursor else 1
        for step in range(start, count + start):
            index = (self.cursor - step if backwards else self.cursor + step) % count
            if needle in self._lines[index].casefold():
                self.cursor = index
                self._show_cursor()
                return True
        return False

    def go_to_line(self, number: int) -> None:
        """Put the cursor on line ``number`` (as numbered), or the nearest there is."""
        self.cursor = max(0, min(number - self._first_number, len(self._lines) - 1))
        self._show_cursor(top=True)

    def action_move(self, step: int) -> None:
        self.cursor = max(0, min(self.cursor + step, len(self._lines) - 1))
        self._show_cursor()

    def action_move_screen(self, direction: int) -> None:
        self.action_move(direction * max(1, self.scrollable_content_region.height - 1))

    def action_go_to(self, number: int) -> None:
        self.go_to_line(self._first_number + len(self._lines) - 1 if number < 0 else self._first_number)

    def watch_cursor(self, old: int, new: int) -> None:
        if old != new:
            self.post_message(self.CursorMoved(new))
        self.refresh()

    def on_resize(self, _event: Resize) -> None:
        self._wrap()
        self._show_cursor()

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None:
            row = self.scroll_offset.y + offset.y
            if 0 <= row < len(self._rows):
                self.cursor = self._rows[row][0]

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = self.scroll_offset.y + y
        base = self.rich_style
        if not 0 <= row < len(self._rows):
            return Strip.blank(width, base)
        index, start, end = self._rows[row]
        if index == self.cursor and self.has_focus:
            base += self.get_component_rich_style("line-view--cursor", partial=True)
        digits = self._digits
        number = f"{index + self._first_number:>{digits}}" if start == 0 else " " * digits
        mark = "›" if index == self.cursor and start == 0 else " "
        gutter = base + self.get_component_rich_style("line-view--number", partial=True)
        segments = [Segment(f"{number}{mark} ", gutter)]
        segments += self._styled(self._lines[index], start, end, base)
        return Strip(segments).adjust_cell_length(width, base)

    def _styled(self, line: str, start: int, end: int, base: Style) -> list[Segment]:
        marks: list[tuple[int, int, str]] = []
        if "[[" in line or "http" in line:
            marks += [(m.start(), m.end(), "line-view--link") for m in _LINKS.finditer(line[: end + 400])]
        if self._needle:
            folded = line.casefold()
            at = folded.find(self._needle) if len(folded) == len(line) else -1
            while at >= 0 and at < end:
                marks.append((at, at + len(self._needle), "line-view--match"))
                at = folded.find(self._needle, at + len(self._needle))
        if not marks:
            return [Segment(line[start:end], base)]
        edges = sorted({start, end, *[min(max(edge, start), end) for mark in marks for edge in mark[:2]]})
        segments: list[Segment] = []
        for left, right in itertools.pairwise(edges):
            style = base
            for begin, finish, name in marks:
                if begin <= left and right <= finish:
                    style += self.get_component_rich_style(name, partial=True)
            segments.append(Segment(line[left:right], style))
        return segments

    @property
    def _digits(self) -> int:
        return max(3, len(str(self._first_number + len(self._lines))))

    def _wrap(self) -> None:
        width = max(8, self.scrollable_content_region.width - self._digits - _GUTTER)
        rows: list[tuple[int, int, int]] = []
        first: list[int] = []
        for index, line in enumerate(self._lines):
            first.append(len(rows))
            if len(line) * 2 <= width or (line.isascii() and len(line) <= width) or cells(line) <= width:
                rows.append((index, 0, len(line)))
            else:
                rows.extend((index, start, end) for start, end in _wrapped(line, width))
        self._rows, self._first_row = rows, first
        self.virtual_size = Size(self.scrollable_content_region.width, len(rows))

    def _show_cursor(self, *, top: bool = False) -> None:
        if not self._rows:
            return
        row = self._first_row[self.cursor]
        height = self.scrollable_content_region.height or 1
        if top and len(self._rows) > height:
            self.scroll_to(y=max(0, row - 2), animate=False, force=True)
        else:
            self.scroll_to_region(Region(0, row, 1, 1), animate=False, force=True)


def _wrapped(line: str, width: int) -> Iterable[tuple[int, int]]:
    start = 0
    used = 0
    blank = -1
    for index, char in enumerate(line):
        wide = 1 if char.isascii() else cells(char)
        if used + wide > width:
            end = blank + 1 if blank > start else index
            yield start, end
            start, blank = end, -1
            used = cells(line[start:index])
        if char == " ":
            blank = index
        used += wide
    yield start, len(line)
