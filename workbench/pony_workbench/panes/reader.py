"""The note reader: pages of a memory with line numbers, or what is visible of it as rendered Markdown (SPEC §22)."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.reactive import reactive
from textual.widgets import Markdown, Static
from textual.worker import get_current_worker

from pony_memory.canonical import CanonicalPath
from pony_memory.errors import PonyError
from pony_memory.memory import Memory
from pony_memory.paging import Page
from pony_memory.retrieval.documents import Document
from pony_workbench.messages import NoteOpened, StoreView, TargetWanted
from pony_workbench.text_safety import fit, visible, visible_line
from pony_workbench.widgets.line_view import LineView
from pony_workbench.widgets.pane import Pane
from pony_workbench.widgets.prompt import Prompt

#: Lines that are rendered as Markdown at a time: about what two tall screens hold.
RENDERED_LINES: Final = 120
_TARGET: Final = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|[^\[\]\n]{0,200})?\]\]|(https?://[^\s<>()\"'`]+)")
_NOTHING: Final = "Nothing is open. Choose a memory in the scopes (1), or search for one (/)."


class ReaderPane(Pane):
    """One memory. Its first page shows at once; the others are added behind it."""

    TITLE = "2 Reader"
    HELP = """\
↑ ↓ j k        line by line             space, pgup  screen by screen
n p            next, previous page      :            go to a line
f              find; then . and ,       next, previous find
enter          follow the [[link]] or web address on the line
b              back to the note before  m            rendered Markdown, or raw
y              copy the path

A page is what `memory_read` gives an agent: 2,000 lines, 50 KiB or the token budget. Raw text is shown as it is, with
control and invisible characters written out. Web addresses open only after you have seen where they lead.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "page(1)", "Next page"),
        Binding("p", "page(-1)", "Previous page", show=False),
        Binding("colon", "ask_line", "Go to line", key_display=":"),
        Binding("f", "ask_find", "Find"),
        Binding("full_stop", "find_next(1)", "Next find", show=False, key_display="."),
        Binding("comma", "find_next(-1)", "Previous find", show=False, key_display=","),
        Binding("enter", "follow", "Follow link"),
        Binding("b,backspace", "back", "Back"),
        Binding("m", "toggle_markdown", "Markdown"),
        Binding("y", "copy_path", "Copy path", show=False),
    ]

    path: reactive[str] = reactive("")
    rendered: reactive[bool] = reactive(False)

    def __init__(self, memory: Memory) -> None:
        super().__init__(id="reader")
        self._memory = memory
        self._view: StoreView | None = None
        self._back: list[tuple[str, int]] = []
        self._pages: list[Page] = []
        self._needle = ""

    def compose(self) -> ComposeResult:
        yield Static(Text(_NOTHING, style="dim"), id="card")
        yield LineView("lines")
        with VerticalScroll(id="markdown-scroll"):
            yield Markdown(id="markdown", open_links=False)
        yield Prompt(id="reader-prompt")

    @property
    def lines(self) -> LineView:
        return self.query_one("#lines", LineView)

    def open(self, path: str, line: int = 1, *, remember: bool = True) -> None:
        """Show the memory at ``path`` from ``line`` on."""
        if remember and self.path:
            self._back.append((self.path, self.lines.cursor + 1))
            del self._back[:-100]
        self.path = path
        self.rendered = False
        self._load(path, line)

    def show(self, view: StoreView) -> None:
        """The disk changed: read the open memory again if it is among what changed."""
        before, self._view = self._view, view
        if not self.path or before is None:
            return
        try:
            file = CanonicalPath.parse(self.path).file
        except PonyError:
            return
        if before.snapshot.files.get(file) is not view.snapshot.files.get(file):
            self._load(self.path, self.lines.cursor + 1)

    @work(thread=True, exclusive=True, group="reader", exit_on_error=False)
    def _load(self, path: str, line: int) -> None:
        """Show the pages up to ``line`` as soon as they are there, then all of them."""
        worker = get_current_worker()
        pages: list[Page] = []
        shown = False
        continuation: str | None = None
        try:
            while not worker.is_cancelled:
                page = self._memory.read(path, continuation=continuation)
                pages.append(page)
                continuation = page.continuation
                if continuation is None or (not shown and page.end >= line):
                    self.app.call_from_thread(self._show_pages, path, list(pages), None if shown else line)
                    shown = True
                if continuation is None:
                    return
        except PonyError as error:
            self.app.call_from_thread(self._show_error, path, error)

    def _show_pages(self, path: str, pages: list[Page], line: int | None) -> None:
        if path != self.path:
            return
        self._pages = pages
        if line is None:
            self.lines.extend_to(_lines_of(pages))
        else:
            self.lines.show(_lines_of(pages), cursor=line - 1)
        self._show_card()

    def _show_error(self, path: str, error: PonyError) -> None:
        if path != self.path:
            return
        self._pages = []
        self.lines.show([])
        told = Text.assemble((visible_line(path), "bold"), "\n", (visible(error.message), "red"))
        if error.hint:
            told.append(f"\n{visible(error.hint)}", "dim")
        self.query_one("#card", Static).update(told)

    def _show_card(self) -> None:
        told = Text()
        document = self._document()
        told.append(visible_line(self.path), "bold")
        if document is not None:
            if document.name != CanonicalPath.parse(self.path).stem and document.name:
                told.append(f"  {visible_line(document.name)}", "bold italic")
            for label, value in (
                ("type", document.type or ""),
                ("tags", ", ".join(document.tags)),
                ("aliases", ", ".join(document.aliases)),
                ("supersedes", ", ".join(document.supersedes)),
            ):
                if value:
                    told.append(f"  {label} ", "dim")
                    told.append(visible_line(value))
            if document.description:
                told.append(f"\n{visible_line(document.description)}", "italic")
        removed = self._removed_by()
        if removed:
            told.append(f"\n~ superseded by {visible_line(removed)}: it is out of the index", "yellow")
        self.query_one("#card", Static).update(told)
        self._show_place()

    def _show_place(self) -> None:
        if not self._pages:
            self.border_subtitle = ""
            return
        total = self._pages[0].total_lines
        line = self.lines.cursor + 1
        number = next((i for i, page in enumerate(self._pages, 1) if line <= page.end), len(self._pages))
        pages = f" · page {number} of {len(self._pages)}" if len(self._pages) > 1 else ""
        self.border_subtitle = f"line {line:,} of {total:,}{pages}" if total else "empty"

    def _document(self) -> Document | None:
        if self._view is None:
            return None
        path = CanonicalPath.parse(self.path)
        found = self._view.snapshot.numbered.get(path)
        if found is not None:
            return found[2]
        gone = self._view.snapshot.removed_documents.get(path)
        return gone[0] if gone is not None else None

    def _removed_by(self) -> str | None:
        if self._view is None:
            return None
        for removed in self._view.snapshot.tombstones.removed:
            if str(removed.path) == self.path:
                return str(removed.by)
        return None

    @on(LineView.CursorMoved)
    def _cursor_moved(self) -> None:
        if not self.rendered:
            self._show_place()

    def watch_rendered(self, rendered: bool) -> None:
        if not self.is_mounted:
            return
        self.lines.display = not rendered
        scroll = self.query_one("#markdown-scroll", VerticalScroll)
        scroll.display = rendered
        if rendered:
            self._render_markdown()
            scroll.focus()
        elif self.has_focus_within:
            self.lines.focus()

    def _render_markdown(self) -> None:
        """Render from the cursor's line on; from the start of the body where the cursor is still in the header."""
        start = max(self.lines.cursor, self._body_start())
        end = min(start + RENDERED_LINES, len(self.lines.lines))
        # Raw HTML is not rendered by the widget, and what is invisible was written out before it came here.
        self.query_one("#markdown", Markdown).update("\n".join(self.lines.lines[start:end]))
        self.query_one("#markdown-scroll", VerticalScroll).scroll_home(animate=False)
        self.border_subtitle = f"Markdown of lines {start + 1:,} to {end:,} of {len(self.lines.lines):,}"

    def _body_start(self) -> int:
        document = self._document()
        return document.body_line - 1 if document is not None and "#" not in self.path else 0

    def action_toggle_markdown(self) -> None:
        if self._pages:
            self.rendered = not self.rendered
            if not self.rendered:
                self._show_place()

    def action_page(self, step: int) -> None:
        if self.rendered:
            if step < 0 or self.lines.cursor + RENDERED_LINES < len(self.lines.lines):
                self.lines.action_move(step * RENDERED_LINES)
            self._render_markdown()
            return
        line = self.lines.cursor + 1
        starts = [page.start for page in self._pages]
        wanted = [start for start in starts if (start > line if step > 0 else start < line)]
        if wanted:
            self.lines.go_to_line(wanted[0] if step > 0 else wanted[-1])
        elif step > 0:
            self.lines.action_go_to(-1)
        else:
            self.lines.action_go_to(1)

    def action_ask_line(self) -> None:
        self.query_one(Prompt).ask("line", "go to line")

    def action_ask_find(self) -> None:
        self.query_one(Prompt).ask("find", "find in this memory")

    @on(Prompt.Answered)
    def _answered(self, event: Prompt.Answered) -> None:
        event.stop()
        self.lines.focus()
        if event.kind == "line":
            if event.value.strip().isdigit():
                self.lines.go_to_line(int(event.value))
            elif event.value.strip():
                self.notify(f"not a line number: {visible_line(event.value)}", severity="warning", markup=False)
        elif event.kind == "find":
            self._needle = event.value
            self.lines.highlight(self._needle)
            if self._needle and not self.lines.find(self._needle, include_cursor=True):
                self.notify(f"not found: {fit(visible_line(event.value), 60)}", severity="warning", markup=False)

    @on(Prompt.Left)
    def _left_prompt(self, event: Prompt.Left) -> None:
        event.stop()
        self.lines.focus()

    def action_find_next(self, direction: int) -> None:
        if self._needle:
            self.lines.find(self._needle, backwards=direction < 0)
        else:
            self.action_ask_find()

    def action_follow(self) -> None:
        if not self.lines.lines:
            return
        match = _TARGET.search(self.lines.lines[self.lines.cursor])
        if match is None:
            self.notify("There is no link on this line.", markup=False)
        elif match.group(2):
            self.post_message(TargetWanted(match.group(2)))
        else:
            self._follow_name(match.group(1))

    def _follow_name(self, name: str) -> None:
        if self._view is None:
            return
        target = self._view.snapshot.links.resolve(name, self._document())
        if target is None:
            self.notify(f"no note is called {visible_line(name)}", severity="warning", markup=False)
        else:
            self.post_message(NoteOpened(str(target.path)))

    @on(Markdown.LinkClicked)
    def _link_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        if event.href.startswith(("http://", "https://")):
            self.post_message(TargetWanted(event.href))
        else:
            self.notify(f"only http and https links open: {visible_line(event.href)}", markup=False)

    def action_back(self) -> None:
        if self._back:
            path, line = self._back.pop()
            self.open(path, line, remember=False)

    def action_copy_path(self) -> None:
        if self.path:
            self.app.copy_to_clipboard(self.path)
            self.notify(f"copied {visible_line(self.path)}", markup=False)

    def focus_inside(self) -> None:
        if self.rendered:
            self.query_one("#markdown-scroll").focus()
        else:
            self.lines.focus()


def _lines_of(pages: list[Page]) -> list[str]:
    text = "".join(page.text for page in pages)
    return text.removesuffix("\n").split("\n") if text else []
