"""Edit a note in the person's own editor, through the boundary (SPEC §3, §22).

The editor gets an owner-only copy with plain LF line ends. What comes back is put over the file only if the file still
is what was copied; lines that were not edited keep their bytes, line ends and byte order mark included.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pony_memory.canonical import NOTES_SCOPES, CanonicalPath
from pony_memory.errors import Conflict, InvalidRequest, NotFound, OverLimit, SensitiveContent, Undecodable
from pony_memory.files.atomic import make_private_directory, replace_file
from pony_memory.files.boundary import Root, RootSpec
from pony_memory.files.text import BOM, decode
from pony_memory.limits import BACKUPS_KEPT, LOCK_TIMEOUT_MS, MAX_FILE_BYTES
from pony_memory.notices import Notice
from pony_memory.scopes.place import Scopes
from pony_memory.writes import trees
from pony_memory.writes.backups import backup_before_write
from pony_memory.writes.history import Actor, Edit, WriteEvent, recorded, sha256_of
from pony_memory.writes.places import Place, disk_errors, exclusive, place_of
from pony_memory.writes.secrets import check_text, findings

ACTION: Final = "edit"
_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
#: A middle of more lines than this is taken as rewritten: matching lines is quadratic.
_DIFF_MAX_LINES: Final = 2_000


@dataclass(frozen=True, slots=True)
class EditCopy:
    """``copy`` is the file to edit, alone in an owner-only directory; ``sha256`` is of the bytes it was made from."""

    path: CanonicalPath
    copy: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class PutBack:
    """``changed`` is false when the edit left the text as it was: then nothing was written."""

    path: CanonicalPath
    changed: bool
    bytes: int
    backup: str | None
    warnings: tuple[Notice, ...] = ()


def edit_copy(scopes: Scopes, path: CanonicalPath, *, new: bool = False) -> EditCopy:
    """A copy of a note for the editor; with ``new`` an empty one for a note that does not exist yet.

    Raises :class:`InvalidRequest` for a path of the project scope, :class:`NotFound`, :class:`UnsafeFile`,
    :class:`Conflict` for a ``new`` note that exists, and :class:`Undecodable` for one that is not UTF-8.
    """
    if path.scope not in NOTES_SCOPES or path.block is not None:
        raise InvalidRequest(f"{path} is no note; entries are changed with `pony-memory entry replace`")
    root = Root.resolve(scopes.get(path.scope).spec)
    data = None if root is None else _read(root, path)
    if data is None and not new:
        raise NotFound(f"no such memory: {path}")
    if data is not None and new:
        raise Conflict(f"{path} exists already")
    text = _decoded(data or b"", str(path))
    directory = tempfile.mkdtemp(prefix="pony-memory-")
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with disk_errors("the copy for the editor could not be made"):
            trees.fill(descriptor, {(path.parts[-1],): text.encode()})
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)
    return EditCopy(path, os.path.join(directory, path.parts[-1]), sha256_of(data))


def discard(copy: EditCopy) -> None:
    """Remove the copy. Nothing else."""
    shutil.rmtree(os.path.dirname(copy.copy), ignore_errors=True)


def put_back(
    scopes: Scopes,
    copy: EditCopy,
    *,
    actor: Actor,
    environ: Mapping[str, str],
    allow_secret: bool = False,
    keep: int = BACKUPS_KEPT,
    timeout_ms: int = LOCK_TIMEOUT_MS,
) -> PutBack:
    """Put the edited copy in the note's place and remove the copy.

    Raises :class:`Conflict` when the note changed since it was copied, :class:`SensitiveContent` for a credential on
    an edited line, :class:`OverLimit`, :class:`Undecodable`, ``Locked``, ``UnsafeFile``, ``PonyError``. After any of
    them the note is as it was, and the copy is still there.
    """
    where = f"your edit is kept in {copy.copy}"
    edited = _decoded(_edited(copy, where), "the edited copy")
    place = place_of(scopes, copy.path.scope, environ, create=copy.sha256 is None)
    if place is None:
        raise Conflict(f"{copy.path} was removed while it was edited; {where}")
    with (
        disk_errors(f"{copy.path} could not be written ({where})"),
        exclusive(place, ACTION, timeout_ms=timeout_ms) as check,
    ):
        before = _unchanged(place, copy, where)
        after, changed_lines = _merged(before or b"", edited)
        if after == before or (before is None and not edited.strip()):
            discard(copy)
            return PutBack(copy.path, False, len(before or b""), None)
        if len(after) > MAX_FILE_BYTES:
            raise OverLimit(
                f"{copy.path} would be {len(after):,} bytes; a file takes at most {MAX_FILE_BYTES:,}; {where}"
            )
        if not allow_secret:
            _check_lines(edited, changed_lines, environ, where)
        file = "/".join(copy.path.parts)
        backup = backup_before_write(place.files, ACTION, [file], keep, into=place.records)

        def still_the_same() -> None:
            check()
            _unchanged(place, copy, where)

        _write(place, copy.path, after, still_the_same)
        event = WriteEvent(actor, ACTION, copy.path, backup=backup)
        warnings = recorded(place.records, event, [Edit(copy.path, before, after)])
    discard(copy)
    return PutBack(copy.path, True, len(after), backup, warnings)


def _edited(copy: EditCopy, where: str) -> bytes:
    directory, name = os.path.split(copy.copy)
    root = Root.resolve(RootSpec(directory, (), follow_trusted=True))
    try:
        if root is None:
            raise NotFound("the directory is gone")
        # Read past the limit of a note, so that the error can say by how much it is over.
        return root.read((name,), limit=64 * MAX_FILE_BYTES).data
    except NotFound:
        raise NotFound(f"the copy of {copy.path} is gone; nothing was written ({where})") from None


def _unchanged(place: Place, copy: EditCopy, where: str) -> bytes | None:
    data = _read(place.files, copy.path)
    if sha256_of(data) != copy.sha256:
        raise Conflict(
            f"{copy.path} changed on the disk while it was edited; nothing was written and {where}",
            hint="Look at the note as it is now and merge your edit by hand.",
        )
    return data


def _write(place: Place, path: CanonicalPath, data: bytes, before_rename: Callable[[], None]) -> None:
    for depth, name in enumerate(path.parts[:-1]):
        with place.files.open_dir(path.parts[:depth]) as directory:
            make_private_directory(directory, name)
    with place.files.open_dir(path.parts[:-1]) as directory:
        replace_file(
            directory,
            path.parts[-1],
            data,
            keep_mode=not path.is_agent_notes,
            before_rename=before_rename,
        )


def _check_lines(text: str, changed: frozenset[int], environ: Mapping[str, str], where: str) -> None:
    """Only what was edited is judged: a person must be able to mend a note whatever else is in it."""
    try:
        for finding in findings(text, environ=environ):
            if finding.line in changed:
                check_text(text, environ=environ)
    except SensitiveContent as error:
        raise SensitiveContent(f"{error.message}; {where}", hint=error.hint) from None


def _read(root: Root, path: CanonicalPath) -> bytes | None:
    try:
        return root.read(path.parts).data
    except NotFound:
        return None


def _decoded(data: bytes, what: str) -> str:
    text = decode(data)
    if text.replaced or "\0" in text.text:
        raise Undecodable(
            f"{what} holds bytes that are not UTF-8 text, and a rewrite would have to guess at them",
            hint="Convert it to UTF-8 with a tool that knows its encoding.",
        )
    return text.text


def _merged(before: bytes, edited: str) -> tuple[bytes, frozenset[int]]:
    """The edited text with the old bytes of the lines that stayed; and the 1-based numbers of those that did not."""
    mark = BOM if before.startswith(BOM) else b""
    old = [match.groups() for match in _LINE.finditer(before.removeprefix(BOM).decode())]
    if len(old) > 1 and old[-2][1] == "":
        old.pop()  # the empty match behind a last line that has no line end
    new = edited.split("\n")
    usual = Counter(ending for _, ending in old if ending).most_common(1)
    usual_end = usual[0][0] if usual else "\n"
    stayed = _stayed([content for content, _ in old], new)
    pieces: list[str] = []
    last_end = ""
    for number, line in enumerate(new[:-1]):
        end = (old[stayed[number]][1] or usual_end) if number in stayed else usual_end
        # A CR and the LF of an empty line behind it would read as one line end.
        last_end = "\r" if last_end == "\r" and not line and end == "\n" else end
        pieces += (line, last_end)
    pieces.append(new[-1])
    changed = frozenset(number + 1 for number in range(len(new)) if number not in stayed)
    return mark + "".join(pieces).encode(), changed


def _stayed(old: list[str], new: list[str]) -> dict[int, int]:
    """For each line of ``new`` that is one of ``old``: which."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    found = {number: number for number in range(head)}
    found.update({len(new) - number: len(old) - number for number in range(1, tail + 1)})
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(middle_old), len(middle_new)) <= _DIFF_MAX_LINES:
        matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False)
        for block in matcher.get_matching_blocks():
            found.update({head + block.b + k: head + block.a + k for k in range(block.size)})
    return found
