"""The scope browser: scopes → kind → folders → files, as they are on the disk now (SPEC §22)."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from pony_memory.reports.listing import FileRow
from pony_memory.scopes.scopes import Scopes
from pony_workbench.messages import NoteOpened, StoreView
from pony_workbench.text_safety import fit, visible_line
from pony_workbench.widgets.pane import Pane

KINDS = {
    "note": "User Notes",
    "agent_notes": "Agent Notes",
    "entry": "Entries",
    "index": "Index",
    "other": "No entries",
}
_NO_NOTES = "no notes yet: put Markdown files into notes/"
_NO_ENTRIES = "no entries yet: agents and `pony-memory entry add` write them"


class Item(NamedTuple):
    """What a tree node stands for: ``key`` is stable over refreshes, ``row`` is set for files."""

    key: str
    row: FileRow | None


class ScopesPane(Pane):
    """A tree that keeps its cursor and its open folders while the disk changes under it."""

    TITLE = "1 Scopes"
    HELP = """\
Everything the scopes hold, the files that are not read included.

  !  not read, with the reason      ?  no entry (a header field is missing)
  ~  superseded by another note     +  an entry without a line in the index

  ↑ ↓ j k     move                  enter, →    open a folder or a memory
  ← h         close the folder      r           look at the disk again
The tree follows the disk by itself; the cursor stays where it is.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open"),
        Binding("r", "app.refresh_store", "Refresh"),
    ]

    def __init__(self, scopes: Scopes) -> None:
        super().__init__(id="scopes")
        self._scopes = scopes
        self._items: dict[str, TreeNode[Item]] = {}
        self._shown: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield ScopeTree("scopes", Item("", None), id="scope-tree")

    def on_mount(self) -> None:
        super().on_mount()
        tree = self.scope_tree
        tree.show_root = False
        tree.guide_depth = 2
        tree.auto_expand = True

    @property
    def scope_tree(self) -> Tree[Item]:
        return self.query_one("#scope-tree", ScopeTree)

    def show(self, view: StoreView) -> None:
        """Show what the place holds now, the cursor and the open folders as they were."""
        unindexed = frozenset(view.status.drift.unindexed)
        wanted = (view.rows, unindexed, view.taken.date())
        if wanted == self._shown:
            return
        first = not self._shown
        self._shown = wanted
        tree = self.scope_tree
        cursor = tree.cursor_node.data.key if tree.cursor_node and tree.cursor_node.data else None
        line = tree.cursor_line
        closed = {key for key, node in self._items.items() if node.allow_expand and not node.is_expanded}
        opened = {key for key, node in self._items.items() if node.allow_expand and node.is_expanded}
        with self.app.batch_update():
            tree.clear()
            self._items.clear()
            for scope in self._scopes.available:
                self._add_scope(scope.name, scope.location, view, unindexed)
            for name, why in self._scopes.unavailable:
                self._leaf(tree.root, f"{name}:", Text.assemble((name, "bold"), f"  not available: {why}"), None)
            for key, node in self._items.items():
                if not node.allow_expand:
                    continue
                default = not key.endswith(":entry") or len(node.children) <= 40
                if key in opened or (key not in closed and default):
                    node.expand()
                else:
                    node.collapse()
        if cursor is not None and cursor in self._items:
            target = self._items[cursor]
            self.call_after_refresh(lambda: tree.move_cursor(target))
        elif first:
            self.call_after_refresh(lambda: tree.move_cursor_to_line(0))
        else:
            self.call_after_refresh(lambda: tree.move_cursor_to_line(min(line, max(0, tree.last_line))))

    def _add_scope(self, name: str, location: str, view: StoreView, unindexed: frozenset[str]) -> None:
        rows = [row for row in view.rows if row.scope == name]
        label = Text.assemble((name, "bold"), (f"  {len(rows)} files", "dim"))
        scope = self._branch(self.scope_tree.root, f"{name}:", label)
        if not any(row.kind in ("note", "entry", "other") for row in rows):
            empty = _NO_ENTRIES if name == "project" else _NO_NOTES
            self._leaf(scope, f"{name}:empty", Text.assemble((empty, "italic dim")), None)
            self._leaf(scope, f"{name}:where", Text.assemble((visible_line(location), "dim")), None)
        for kind, title in KINDS.items():
            mine = [row for row in rows if row.kind == kind]
            if not mine:
                continue
            if kind in ("agent_notes", "index"):
                for row in mine:
                    self._leaf(scope, row.path, self._label(title, row, view.taken, False), row)
                continue
            label = Text.assemble(title, (f"  {len(mine)}", "dim"))
            branch = self._branch(scope, f"{name}:{kind}", label)
            for row in mine:
                self._add_file(branch, row, view.taken, unindexed)

    def _add_file(self, branch: TreeNode[Item], row: FileRow, taken: datetime, unindexed: frozenset[str]) -> None:
        *folders, name = row.path.split("/")[1 if row.scope == "project" else 2 :] or [row.path]
        at = branch
        key = f"{row.scope}:{row.kind}"
        for folder in folders:
            key = f"{key}/{folder}"
            at = self._items.get(key) or self._branch(at, key, Text(f"{visible_line(folder)}/"))
        shown = name.removesuffix(".md")
        self._leaf(at, row.path, self._label(shown, row, taken, row.scope == "project" and name in unindexed), row)

    def _label(self, shown: str, row: FileRow, taken: datetime, unindexed: bool) -> Text:
        badge, style = _badge(row, unindexed)
        told: list[str] = []
        if row.bytes is not None:
            told.append(_size(row.bytes))
        if row.modified is not None:
            told.append(age(row.modified, taken))
        if row.type:
            told.append(visible_line(row.type))
        if row.status != "ok":
            told = [visible_line(row.status.replace("_", " ")), *told]
        return Text.assemble(
            (f"{badge} " if badge else "", style), fit(visible_line(shown), 40), ("  " + " · ".join(told), "dim")
        )

    def _branch(self, parent: TreeNode[Item], key: str, label: Text) -> TreeNode[Item]:
        node = parent.add(label, Item(key, None))
        self._items[key] = node
        return node

    def _leaf(self, parent: TreeNode[Item], key: str, label: Text, row: FileRow | None) -> None:
        self._items[key] = parent.add_leaf(label, Item(key, row))

    def action_open(self) -> None:
        self.scope_tree.action_select_cursor()

    def on_tree_node_selected(self, event: Tree.NodeSelected[Item]) -> None:
        event.stop()
        item = event.node.data
        if item is not None and item.row is not None:
            self.post_message(NoteOpened(item.row.path))

    def focus_inside(self) -> None:
        self.scope_tree.focus()


class ScopeTree(Tree[Item]):
    """A tree with vi keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("h,left", "close", show=False),
        Binding("l,right", "open", show=False),
        Binding("g,home", "scroll_home", show=False),
        Binding("G,end", "scroll_end", show=False),
    ]

    def action_close(self) -> None:
        node = self.cursor_node
        if node is None:
            return
        if node.is_expanded and node.allow_expand:
            node.collapse()
        elif node.parent is not None and node.parent is not self.root:
            self.move_cursor(node.parent)

    def action_open(self) -> None:
        node = self.cursor_node
        if node is not None and node.allow_expand and not node.is_expanded:
            node.expand()
        else:
            self.action_select_cursor()

    def action_scroll_home(self) -> None:
        self.move_cursor_to_line(0)

    def action_scroll_end(self) -> None:
        self.move_cursor_to_line(max(0, self.last_line))


def _badge(row: FileRow, unindexed: bool) -> tuple[str, str]:
    if row.status == "ok":
        return ("+", "yellow") if unindexed else ("", "")
    return {"superseded": ("~", "dim"), "not_an_entry": ("?", "yellow")}.get(row.status, ("!", "bold red"))


def _size(number: int) -> str:
    return f"{number} B" if number < 1_000 else f"{number / 1024:.1f} KB" if number < 10_240 else f"{number >> 10} KB"


def age(modified: str, taken: datetime) -> str:
    """How long ago, in its largest unit."""
    seconds = (taken - datetime.fromisoformat(modified)).total_seconds()
    for limit, divisor, unit in _AGES:
        if seconds < limit:
            return "now" if divisor == 0 else f"{int(seconds // divisor)}{unit}"
    return f"{int(seconds // 31_557_600)}y"


_AGES: tuple[tuple[float, int, str], ...] = (
    (60, 0, ""),
    (3_600, 60, "min"),
    (86_400, 3_600, "h"),
    (86_400 * 60, 86_400, "d"),
    (31_557_600 * 2, 2_629_800, "mo"),
)
