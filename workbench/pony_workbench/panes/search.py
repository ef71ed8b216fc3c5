"""Live search: results as you type, and why each was found (SPEC §22)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.events import Key
from textual.widgets import Checkbox, Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from pony_memory.canonical import ScopeName
from pony_memory.errors import PonyError
from pony_memory.limits import SEARCH_LIMIT_MAX
from pony_memory.memory import Memory
from pony_memory.retrieval.search import Hit, SearchResult
from pony_memory.retrieval.snippets import matches
from pony_workbench.messages import NoteOpened, StoreView
from pony_workbench.text_safety import fit, visible, visible_line
from pony_workbench.widgets.pane import Pane
from pony_workbench.widgets.prompt import LeaveInput

_BAR_CELLS: Final = 8
_EMPTY: Final = "Type to search names, tags, descriptions and text. 中文从一个字开始就能搜到。"


class SearchPane(Pane):
    """The field, the scopes it covers, the results, and the explanation of the one under the cursor."""

    TITLE = "3 Search"
    HELP = """\
Results come as you type, best first, with their BM25 score. The bar is the share of the best score.

  ↓            from the field to the results      enter   open at the matching line
  tab          to the scopes: space turns one off  esc     leave the field
  w            show or hide why a hit was found

"Why" splits the score by term and field; the numbers add up to the score. A hit with ↪ was added by a [[link]] of
another hit, at 0.4 of that hit's score. Scores use the statistics of all scopes, whichever are shown.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "toggle_why", "Why"),
        Binding("enter", "open", "Open", show=False),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(id="search")
        self._memory = memory
        self._hits: tuple[Hit, ...] = ()
        self._last: tuple[str, tuple[ScopeName, ...]] | None = None

    def compose(self) -> ComposeResult:
        yield LeaveInput(placeholder="search all memories", id="query")
        with Horizontal(id="search-scopes"):
            for name in self._memory.scopes.names:
                yield Checkbox(name, True, id=f"in-{name}", compact=True)
        yield Results(id="results")
        with VerticalScroll(id="why", can_focus=False):
            yield Static("", id="why-text")

    @property
    def results(self) -> OptionList:
        return self.query_one("#results", Results)

    def on_mount(self) -> None:
        super().on_mount()
        self._show_empty()

    def show(self, _view: StoreView) -> None:
        """The disk changed: the results may have, too."""
        if self._last is not None and self._last[0].strip():
            self._search(*self._last)

    @on(Input.Changed, "#query")
    @on(Checkbox.Changed)
    def _changed(self) -> None:
        query = self.query_one("#query", LeaveInput).value
        scopes: tuple[ScopeName, ...] = tuple(
            [name for name in self._memory.scopes.names if self.query_one(f"#in-{name}", Checkbox).value]
        )
        self._last = (query, scopes)
        if query.strip():
            self._search(query, scopes)
        else:
            self.workers.cancel_group(self, "search")
            self._show_empty()

    @work(thread=True, exclusive=True, group="search")
    def _search(self, query: str, scopes: tuple[ScopeName, ...]) -> None:
        worker = get_current_worker()
        try:
            result = self._memory.search(query, scopes, limit=SEARCH_LIMIT_MAX, explain=True)
        except PonyError as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self._show_note, error.message)
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_result, result)

    def _show_empty(self) -> None:
        self._hits = ()
        self.results.clear_options()
        self.border_subtitle = ""
        self.query_one("#why-text", Static).update(Text(_EMPTY, "dim"))

    def _show_note(self, message: str) -> None:
        self._show_empty()
        self.query_one("#why-text", Static).update(Text(visible(message), "yellow"))

    def _show_result(self, result: SearchResult) -> None:
        if self._last is None or result.query != self._last[0]:
            return
        chosen = self._chosen()
        keep = str(chosen.path) if chosen is not None else None
        self._hits = result.hits
        width = max(30, self.results.scrollable_content_region.width - 2)
        options = [Option(_row(hit, width), id=str(number)) for number, hit in enumerate(result.hits)]
        with self.app.batch_update():
            self.results.clear_options()
            self.results.add_options(options)
            self.border_subtitle = f"{len(result.hits)} of {result.documents:,} documents"
            if options:
                places = [number for number, hit in enumerate(result.hits) if str(hit.path) == keep]
                self.results.highlighted = places[0] if places else 0
            else:
                told = "There are no memories to search yet." if not result.documents else "Nothing found."
                self.query_one("#why-text", Static).update(Text(told, "dim"))
        self._show_why()

    @on(OptionList.OptionHighlighted)
    def _highlighted(self) -> None:
        self._show_why()

    @on(OptionList.OptionSelected)
    def _selected(self) -> None:
        self.action_open()

    @on(Input.Submitted, "#query")
    def _submitted(self) -> None:
        self.action_open()

    @on(LeaveInput.Left)
    def _left(self, event: LeaveInput.Left) -> None:
        event.stop()
        self.results.focus()

    def _chosen(self) -> Hit | None:
        place = self.results.highlighted
        return self._hits[place] if place is not None and place < len(self._hits) else None

    def _show_why(self) -> None:
        hit = self._chosen()
        if hit is not None:
            self.query_one("#why-text", Static).update(why(hit))

    def action_open(self) -> None:
        hit = self._chosen()
        if hit is None:
            return
        line = hit.snippets[0].line if hit.snippets else 1
        if hit.path.block is not None:
            line = max(1, line - hit.document.body_line + 1)
        self.post_message(NoteOpened(str(hit.path), line))

    def action_toggle_why(self) -> None:
        panel = self.query_one("#why")
        panel.display = not panel.display

    def focus_inside(self) -> None:
        self.query_one("#query", LeaveInput).focus()

    def on_key(self, event: Key) -> None:
        """From the field, the arrow down goes to the results."""
        if event.key == "down" and self.query_one("#query").has_focus and self._hits:
            event.stop()
            self.results.focus()


class Results(OptionList):
    """The hits, with vi keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
    ]


def _row(hit: Hit, width: int) -> Text:
    filled = round(hit.normalized * _BAR_CELLS)
    bar = "█" * filled + "░" * (_BAR_CELLS - filled)
    link = "↪ " if hit.via is not None else ""
    head = f"{link}{visible_line(str(hit.path))}"
    text = Text.assemble(
        (f"{hit.score:7.2f} ", "bold"), (bar, "green"), " ", (fit(head, max(10, width - 18)), "bold"), no_wrap=True
    )
    weights = dict.fromkeys(hit.terms, 1.0)
    for snippet in hit.snippets[:2]:
        shown = fit(visible_line(snippet.text), max(10, width - 8))
        line = Text(f"\n{snippet.line:>6}  ", "dim", no_wrap=True)
        content = Text(shown)
        for start, end in matches(shown, weights):
            content.stylize("reverse", start, end)
        text.append_text(line).append_text(content)
    if not hit.snippets and hit.document.description:
        text.append(f"\n        {fit(visible_line(hit.document.description), max(10, width - 8))}", "dim")
    return text


def why(hit: Hit) -> Text:
    """The explanation of one hit."""
    return Text("\n").join(_why(hit))


def _why(hit: Hit) -> Iterator[Text]:
    yield Text.assemble(
        ("Why ", "dim"), (visible_line(hit.document.name or str(hit.path)), "bold"), (f"  {hit.score:.3f}", "bold")
    )
    if hit.via is not None:
        yield Text(f"linked as [[{visible_line(hit.via.name)}]] from {visible_line(str(hit.via.source))}, × 0.4")
        return
    best = max((sum(fields.values()) for fields in hit.terms.values()), default=1.0)
    for term, fields in hit.terms.items():
        gain = sum(fields.values())
        told = "  ".join(f"{field} {value:.3f}" for field, value in fields.items())
        bar = "▇" * max(1, round(6 * gain / best))
        yield Text.assemble(
            (f"{gain:7.3f} ", "bold"), (f"{bar:<6} ", "green"), visible_line(term), (f"  {told}", "dim")
        )
