"""The bytes of an entry file: made new, or changed where something changed (SPEC §10, §3).

A rewrite works on the bytes of the disk. Unknown header keys, comments and line ends of the header stay, and a body
that was not given anew stays to the byte, whatever in it is not UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pony_memory.entries.entry import FIELD_LINE, FIELDS, RULE, is_rule

_LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_LINE_END = re.compile(rb"(?:\r\n|\r|\n)?\Z")


def new_file(fields: Mapping[str, str], content: str) -> bytes:
    """An entry file of the five ``fields``, each one line, and ``content`` without blank ends."""
    header = "\n".join([RULE, *(f"{key}: {fields[key]}" for key in FIELDS), RULE, ""])
    return (header + _body(content)).encode()


def rewritten(data: bytes, fields: Mapping[str, str], content: str | None) -> bytes:
    """``data``, which is an entry, with other values for some ``fields`` and, unless ``None``, another ``content``.

    Of a key that stands twice the last one is changed, which is the one that is read.
    """
    lines: list[bytes] = _LINES.findall(data)
    close = next(number for number in range(1, len(lines)) if is_rule(_text(lines[number])))
    places = {
        matched.group(1): number
        for number in range(1, close)
        if (matched := FIELD_LINE.match(_text(lines[number]))) is not None
    }
    for key, value in fields.items():
        line = lines[places[key]]
        end = _LINE_END.search(line)
        lines[places[key]] = f"{key}: {value}".encode() + (end.group() if end is not None else b"")
    if content is None:
        return b"".join(lines)
    header = b"".join(lines[: close + 1])
    if not header.endswith((b"\n", b"\r")):
        header += b"\n"
    return header + _body(content).encode()


def _body(content: str) -> str:
    return f"\n{content}\n" if content else ""


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")
