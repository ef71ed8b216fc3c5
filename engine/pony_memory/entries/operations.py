"""The writes of SPEC §10 as functions of what a store holds: `add`, `replace`, `rename`, `remove`.

They decide everything and touch nothing, so the store, a dream's staged copy and the tests share one set of rules.
"""

from __future__ import annotations

import re

from pony_memory.entries.description import default_description
from pony_memory.entries.entry import DEFAULT_ENTRY_TYPE, ENTRY_TYPES, FORGES_AN_INDEX_LINE, Entry, is_entry_type
from pony_memory.entries.file_names import candidates, file_name_for, free_file_name
from pony_memory.entries.rewrite import new_file, rewritten
from pony_memory.entries.state import Change, FileChange, StoreState, changed_files
from pony_memory.errors import BadName, Conflict, InvalidRequest, NotFound, UnreadableHeader, UnsafeFile
from pony_memory.notices import Notice

#: Everything that some reader takes for the end of a line, and the control characters but the tab.
_NOT_IN_ONE_LINE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOT_IN_TEXT = re.compile("[\ud800-\udfff]")
#: A file declined for one of these is no memory, so a free name beside it is right; for any other reason it may well
#: be the very entry that is meant, and a second one would hide it.
_NEVER_AN_ENTRY = frozenset({"symlink", "fifo", "socket", "device", "not_a_file"})


def add(
    state: StoreState,
    name: str,
    content: str,
    description: str | None = None,
    type: str | None = None,  # noqa: A002 - the field's name in the contract
    *,
    now: str,
) -> Change:
    """A new entry, or another content for the one of exactly this name.

    An overwritten entry keeps `created`, its type unless one is given, unknown header keys and its file. ``now`` is
    the time in the store's form (:func:`store.timestamp`). Raises :class:`BadName`, :class:`InvalidRequest`,
    :class:`OverLimit`, :class:`UnsafeFile`.
    """
    name = checked_name(name)
    content = checked_content(content)
    if not content:
        raise InvalidRequest(f"the content of {_quoted(name)} is empty", hint="Give the text that is to be remembered.")
    _check_type(type)
    given = checked_description(description)
    described = given if given is not None else default_description(content, name)
    named = state.named(name)
    if named:
        entry = named[0]
        fields = {"description": described, "type": type or entry.type, "modified": now}
        before = state.files[entry.file]
        after = rewritten(before, fields, content)
        created = entry.created
        file = entry.file
    else:
        _refuse_unreadable_double(state, name)
        file = free_file_name(name, state.taken)
        created = now[:10]
        before = None
        fields = {"name": name, "description": described, "type": type or DEFAULT_ENTRY_TYPE}
        after = new_file({**fields, "created": created, "modified": now}, content)
    index = state.parsed_index.with_line(file, name, described)
    return Change(
        action="add",
        name=name,
        file=file,
        files=changed_files(state, FileChange(file, before, after), index),
        created=created,
        modified=now,
        texts=(name, described, content),
        notices=(*_double_notices(named), *(_beside_notices(state, name) if not named else ())),
    )


def replace(
    state: StoreState,
    name: str,
    content: str | None = None,
    description: str | None = None,
    type: str | None = None,  # noqa: A002 - the field's name in the contract
    *,
    now: str,
    file: str | None = None,
) -> Change:
    """Another content, description or type for an entry; what is not given stays (SPEC §10).

    ``file`` chooses among several entries of one name. Raises :class:`NotFound` for an unknown name.
    """
    name = name.strip()
    _check_type(type)
    text = None if content is None else checked_content(content)
    described = checked_description(description)
    if text is None and described is None and type is None:
        raise InvalidRequest("nothing to replace: give a content, a description or a type")
    entry, notices = _one(state, name, file)
    fields = {"modified": now}
    if described is not None:
        fields["description"] = described
    if type is not None:
        fields["type"] = type
    before = state.files[entry.file]
    after = rewritten(before, fields, text)
    index = state.parsed_index.with_line(entry.file, entry.name, entry.description if described is None else described)
    return Change(
        action="replace",
        name=entry.name,
        file=entry.file,
        files=changed_files(state, FileChange(entry.file, before, after), index),
        created=entry.created,
        modified=now,
        texts=tuple(given for given in (described, text) if given is not None),
        notices=notices,
    )


def rename(state: StoreState, name: str, new_name: str, *, now: str, file: str | None = None) -> Change:
    """Another name for an entry; file and index line go along, the line keeps its place.

    Raises :class:`Conflict` for a name another entry has, :class:`NotFound` for an unknown one.
    """
    name = name.strip()
    new_name = checked_name(new_name)
    entry, notices = _one(state, name, file)
    if new_name != entry.name and state.named(new_name):
        raise Conflict(
            f"an entry named {_quoted(new_name)} exists already: {state.named(new_name)[0].file}",
            hint="Choose another name, or replace the one and remove the other.",
        )
    if new_name != entry.name:
        _refuse_unreadable_double(state, new_name)
    target = _file_for_rename(state, entry, new_name)
    before = state.files[entry.file]
    after = rewritten(before, {"name": new_name, "modified": now}, None)
    index = state.parsed_index.with_renamed(entry.file, target, new_name, entry.description)
    changes = [FileChange(target, before if target == entry.file else None, after)]
    if target != entry.file:
        # The new file first: a crash between the two leaves the memory twice, never not at all.
        changes.append(FileChange(entry.file, before, None))
    return Change(
        action="rename",
        name=new_name,
        file=target,
        files=changed_files(state, *changes, index),
        created=entry.created,
        modified=now,
        texts=(new_name,),
        notices=notices,
    )


def remove(state: StoreState, name: str, *, file: str | None = None) -> Change:
    """No entry of this name any more, and no line. Raises :class:`NotFound` for an unknown one."""
    entry, notices = _one(state, name.strip(), file)
    index = state.parsed_index.without(entry.file)
    return Change(
        action="remove",
        name=entry.name,
        file=entry.file,
        files=changed_files(state, FileChange(entry.file, state.files[entry.file], None), index),
        notices=notices,
    )


def checked_name(name: str) -> str:
    """``name`` trimmed. Raises :class:`BadName` unless it is one line, not empty and without ``](`` (SPEC §10)."""
    name = name.strip()
    if not name:
        raise BadName("the name is empty", hint="Give a short title of one line.")
    if _NOT_IN_ONE_LINE.search(name):
        raise BadName(
            "the name holds a line break or a control character", hint="A name is one line of printable text."
        )
    if FORGES_AN_INDEX_LINE in name:
        raise BadName(
            f"the name holds {FORGES_AN_INDEX_LINE!r}, which would forge an index line",
            hint="Write the name without a Markdown link.",
        )
    return name


def checked_description(description: str | None) -> str | None:
    """``description`` trimmed, ``None`` if none is given or an empty one, which would make the entry invisible.

    Raises :class:`InvalidRequest` unless it is one line.
    """
    if description is None:
        return None
    description = description.strip()
    if not description:
        return None
    if _NOT_IN_ONE_LINE.search(description):
        raise InvalidRequest(
            "the description holds a line break or a control character",
            hint="A description is one line that stands without the body; put the rest into the content.",
        )
    return description


def checked_content(content: str) -> str:
    """``content`` with LF line ends and without blank ends. Raises :class:`InvalidRequest` for what is no text."""
    if _NOT_IN_TEXT.search(content):
        raise InvalidRequest("the content is not valid UTF-8 text", hint="Convert it to UTF-8 first.")
    return content.replace("\r\n", "\n").replace("\r", "\n").strip()


def _check_type(type: str | None) -> None:  # noqa: A002
    if type is not None and not is_entry_type(type):
        raise InvalidRequest(f"unknown type {_quoted(type)}", hint=f"A type is one of {', '.join(ENTRY_TYPES)}.")


def _one(state: StoreState, name: str, file: str | None) -> tuple[Entry, tuple[Notice, ...]]:
    """The entry that ``name`` (and ``file``) speak of, with a notice where the name speaks of several."""
    named = state.named(name)
    if file is not None:
        chosen = next((entry for entry in named if entry.file == file), None)
        if chosen is None:
            raise NotFound(f"there is no entry named {_quoted(name)} in {_quoted(file)}")
        return chosen, ()
    if named:
        return named[0], _double_notices(named)
    for other in state.not_entries.values():
        if other.name == name or other.file in (file_name_for(name), name):
            raise UnreadableHeader(
                f"{other.file} is no entry ({other.reason}), so it is left alone",
                hint="Give it the five header fields name, description, type, created, modified in an editor.",
            )
    raise NotFound(f"there is no entry named {_quoted(name)}", hint="`pony-memory entry list` shows the names.")


def _file_for_rename(state: StoreState, entry: Entry, new_name: str) -> str:
    if new_name == entry.name:
        return entry.file
    for candidate in candidates(new_name):
        if state.is_same(candidate, entry.file):
            # Its own file under another spelling. A new file there would be the old one, and taking the old one away
            # would take both; so the entry stays in the file it is in.
            return entry.file
        if not state.taken(candidate):
            return candidate
    raise AssertionError("candidates never end")


def _refuse_unreadable_double(state: StoreState, name: str) -> None:
    file = file_name_for(name)
    reason = state.unsafe.get(file)
    if reason is not None and reason not in _NEVER_AN_ENTRY:
        raise UnsafeFile(
            f"{file} is there and cannot be read ({reason}); it may be the entry named {_quoted(name)}",
            reason=reason,
            hint="Make the file readable or move it away; `pony-memory doctor` names every such file.",
        )


def _double_notices(named: tuple[Entry, ...]) -> tuple[Notice, ...]:
    if len(named) < 2:
        return ()
    others = ", ".join(entry.file for entry in named[1:])
    return (
        Notice(
            "same_name",
            f"more than one entry is named {_quoted(named[0].name)}: this went to {named[0].file}, not to {others}",
            "Give one of them another name in its header.",
        ),
    )


def _beside_notices(state: StoreState, name: str) -> tuple[Notice, ...]:
    """What stands where the new entry would have gone, or calls itself the same, and is no entry."""
    return tuple(
        Notice(
            "not_an_entry",
            f"{other.file} is no entry ({other.reason}) and was left as it is",
            "Complete its header in an editor, or move it away.",
        )
        for other in state.not_entries.values()
        if other.name == name or other.file == file_name_for(name)
    )


def _quoted(text: str) -> str:
    shown = text if len(text) <= 80 else text[:79] + "…"
    return f"“{shown}”" if shown.isprintable() else ascii(shown)
