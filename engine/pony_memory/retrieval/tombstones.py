"""``supersedes``: a note that names another takes it out of the index (SPEC §5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pony_memory.canonical import CanonicalPath
from pony_memory.retrieval.documents import Document, Kind


@dataclass(frozen=True, slots=True)
class Removed:
    """``path`` left the index because ``by`` supersedes ``name``; ``cross_scope`` if they are of two scopes."""

    path: CanonicalPath
    by: CanonicalPath
    name: str
    cross_scope: bool


@dataclass(frozen=True, slots=True)
class Tombstones:
    """What left the index and by whom, and the cycles, which remove nothing, as paths in canonical order."""

    removed: tuple[Removed, ...]
    cycles: tuple[tuple[CanonicalPath, ...], ...]


def find_tombstones(documents: Sequence[Document], *, cross_scope: bool = True) -> Tombstones:
    """Which documents the ``supersedes`` headers of User Notes remove.

    Names are compared case-folded. No note supersedes itself. Notes that supersede one another in a circle all stay;
    what a member of the circle supersedes outside it still goes. With ``cross_scope`` false a tombstone reaches its
    own scope only.
    """
    if not any(document.supersedes for document in documents):
        return Tombstones((), ())
    by_name: dict[str, list[Document]] = {}
    for document in documents:
        if document.kind is not Kind.AGENT_BLOCK:
            by_name.setdefault(document.name.casefold(), []).append(document)
    edges: dict[CanonicalPath, list[tuple[Document, str]]] = {}
    for document in documents:
        for name in document.supersedes:
            for target in by_name.get(name.casefold(), ()):
                if target.path == document.path:
                    continue
                if not cross_scope and target.path.scope != document.path.scope:
                    continue
                edges.setdefault(document.path, []).append((target, name))
    if not edges:
        return Tombstones((), ())
    circle_of = _circles({source: [target.path for target, _ in targets] for source, targets in edges.items()})
    removed: dict[CanonicalPath, Removed] = {}
    for source in sorted(edges, key=lambda path: path.sort_key):
        for target, name in edges[source]:
            if source in circle_of and circle_of.get(source) == circle_of.get(target.path):
                continue
            removed.setdefault(
                target.path, Removed(target.path, source, name, cross_scope=source.scope != target.path.scope)
            )
    circles: dict[int, list[CanonicalPath]] = {}
    for path, circle in circle_of.items():
        circles.setdefault(circle, []).append(path)
    return Tombstones(
        tuple(sorted(removed.values(), key=lambda item: item.path.sort_key)),
        tuple(
            sorted(
                (tuple(sorted(members, key=lambda path: path.sort_key)) for members in circles.values()),
                key=lambda members: members[0].sort_key,
            )
        ),
    )


def _circles(edges: dict[CanonicalPath, list[CanonicalPath]]) -> dict[CanonicalPath, int]:
    """Node → number of its circle (strongly connected component of two or more), by Tarjan's method, iteratively."""
    index: dict[CanonicalPath, int] = {}
    low: dict[CanonicalPath, int] = {}
    stack: list[CanonicalPath] = []
    on_stack: set[CanonicalPath] = set()
    circle_of: dict[CanonicalPath, int] = {}
    circles = 0
    for start in edges:
        if start in index:
            continue
        work: list[tuple[CanonicalPath, Iterable[CanonicalPath]]] = [(start, iter(edges.get(start, ())))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(edges.get(target, ()))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members: list[CanonicalPath] = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        members.append(member)
                        if member == node:
                            break
                    if len(members) > 1:
                        circle_of.update(dict.fromkeys(members, circles))
                        circles += 1
    return circle_of
