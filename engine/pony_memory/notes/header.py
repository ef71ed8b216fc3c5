"""The header of a note (SPEC §4): `---`, some `key: value` lines, `---`.

Two readers, tried in this order.

* The plain grammar: one `key: value` a line. Values are literal, so ``description: Constraints (REQ): read the spec``
  reads as what was meant; strict YAML refuses it, and a note that vanishes for a colon is worse than any grammar.
* PyYAML's safe loader, for headers with nested or multi-line values, within 8 KiB. The tokens are looked at first:
  anchors, aliases, tags and deep nesting are refused before anything is composed, and nothing is ever constructed.

A header that has nested or multi-line values and is no YAML for its colons is read by the plain grammar once more,
now passing over what is nested below keys that mean nothing here.

A header neither reads is body, with a :class:`Doubt` for doctor's advice and ``header_readable`` false: a file whose
header could not be read is never rewritten by the product.

An ordinary document may open with a horizontal rule. It counts as one, and is no doubt, when nothing that looks
like a `key: value` line follows at once and the rule is never answered by a second one, or when a blank line follows
and what is between the two rules names none of the keys of a header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pony_memory.limits import YAML_HEADER_MAX_BYTES

if TYPE_CHECKING:
    from yaml.nodes import Node

#: Deeper than any header a person writes; PyYAML composes by recursion and would run out of stack.
YAML_HEADER_MAX_DEPTH: Final = 16

SCALAR_KEYS: Final = ("name", "type", "description")
LIST_KEYS: Final = ("tags", "aliases", "supersedes")
_KNOWN: Final = frozenset(SCALAR_KEYS + LIST_KEYS)

_RULE = "---"
_KEY_LINE = re.compile(r"([^\W\d][\w.-]*)[ \t]*:(?:[ \t]+(.*)|)\Z")
#: `name:value` without a space is taken for the keys read here only; `https://…` shall not be a key.
_TIGHT_KEY_LINE = re.compile(rf"({'|'.join(SCALAR_KEYS + LIST_KEYS)}):(.*)\Z")
_BLOCK_SCALAR = re.compile(r"[|>][+\-0-9]{0,2}(?:[ \t]+#.*)?\Z")
_AFTER_FLOW_LIST = re.compile(r"\](?:[ \t]+#.*)?\Z")


@dataclass(frozen=True, slots=True)
class Doubt:
    """One piece of advice about a note. ``kind`` is stable, ``message`` plain words without the note's content."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Header:
    """What a header says. ``None`` or empty where it says nothing; ``unknown`` names the keys that are ignored."""

    name: str | None = None
    type: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """A note split in header and body. ``body_line`` is the 1-based line of the file on which ``body`` starts.

    Blank lines below a header are not part of the body.
    """

    header: Header
    body: str
    body_line: int
    doubts: tuple[Doubt, ...]
    header_readable: bool


_NO_HEADER = Header()


class _Unreadable(Exception):
    """One reader's answer to a header it cannot read."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.doubt = Doubt(kind, message)


#: What a reader found: the keys with a value as text, a list of texts, or ``None`` for a value of a wrong shape.
_Fields = dict[str, "str | list[str] | None"]


def parse_note(text: str) -> ParsedNote:
    """Split ``text`` in header and body. Never raises, whatever the text holds.

    ``text`` is decoded as SPEC §3 says (``files.text.decode``); a BOM and CR line ends are tolerated all the same.
    """
    text = text.removeprefix("\ufeff")
    if not text.startswith(_RULE):
        return ParsedNote(_NO_HEADER, _lf(text), 1, (), True)
    text = _lf(text)
    lines = text.split("\n")
    if not _is_rule(lines[0]):
        return ParsedNote(_NO_HEADER, text, 1, (), True)
    close = next((number for number in range(1, len(lines)) if _is_rule(lines[number])), None)
    if close is None:
        return _never_closed(text, lines)
    inside = lines[1:close]
    try:
        fields, doubts = _read(inside)
    except _Unreadable as unreadable:
        if inside and not inside[0].strip() and not any(_known_key(line) for line in inside):
            return ParsedNote(_NO_HEADER, text, 1, (), True)
        return ParsedNote(_NO_HEADER, text, 1, (unreadable.doubt,), False)
    if inside and not inside[0].strip() and fields and _KNOWN.isdisjoint(fields):
        return ParsedNote(_NO_HEADER, text, 1, (), True)
    header, more = _header(fields)
    start = next((number for number in range(close + 1, len(lines)) if lines[number].strip()), None)
    if start is None:
        return ParsedNote(header, "", close + 2, (*doubts, *more), True)
    return ParsedNote(header, "\n".join(lines[start:]), start + 1, (*doubts, *more), True)


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _is_rule(line: str) -> bool:
    return line.rstrip(" \t") == _RULE


def _known_key(line: str) -> bool:
    matched = _key_line(line)
    return matched is not None and matched[0] in _KNOWN


def _never_closed(text: str, lines: list[str]) -> ParsedNote:
    first = next((line for line in lines[1:] if not line.startswith("#")), "")
    if _key_line(first) is None:
        return ParsedNote(_NO_HEADER, text, 1, (), True)
    doubt = Doubt("header_not_closed", "the header opens with --- and is never closed, so all of it is read as text")
    return ParsedNote(_NO_HEADER, text, 1, (doubt,), False)


def _read(inside: list[str]) -> tuple[_Fields, tuple[Doubt, ...]]:
    """The fields of a header. Raises :class:`_Unreadable` when no reader takes it."""
    plain = _read_plain(inside, pass_over_nested=False)
    if plain is not None:
        return plain
    try:
        return _read_yaml("\n".join(inside) + "\n")
    except _Unreadable as unreadable:
        if unreadable.doubt.kind != "header_syntax":
            raise
        plain = _read_plain(inside, pass_over_nested=True)
        if plain is None:
            raise
        return plain


def _key_line(line: str) -> tuple[str, str] | None:
    matched = _KEY_LINE.match(line) or _TIGHT_KEY_LINE.match(line)
    return None if matched is None else (matched.group(1), (matched.group(2) or "").strip())


def _read_plain(inside: list[str], *, pass_over_nested: bool) -> tuple[_Fields, tuple[Doubt, ...]] | None:
    """The plain grammar; ``None`` for a header it does not cover."""
    fields: _Fields = {}
    doubts: dict[Doubt, None] = {}
    number = 0
    while number < len(inside):
        line = inside[number]
        number += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _key_line(line)
        if found is None:
            return None
        key, value = found
        below = list(_below(inside, number))
        number += len(below)
        content = [stripped for stripped in map(str.strip, below) if stripped and not stripped.startswith("#")]
        read: str | list[str] | None
        if key in LIST_KEYS:
            read = _plain_list(value, content)
        elif key in SCALAR_KEYS:
            read = _plain_scalar(value, content, fold=pass_over_nested)
        else:
            simple = not content and not _BLOCK_SCALAR.match(value)
            read = value if simple or pass_over_nested else None
        if read is None:
            return None
        if key in fields:
            doubts[_duplicate(key)] = None
        fields[key] = read
    return fields, tuple(doubts)


def _below(inside: list[str], start: int) -> Iterator[str]:
    """The lines that belong to the key above them: indented ones, list items, and blank or comment lines between."""
    waiting: list[str] = []
    for number in range(start, len(inside)):
        line = inside[number]
        if not line.strip() or line.startswith("#"):
            waiting.append(line)
        elif line[0] in " \t" or line == "-" or line.startswith("- "):
            yield from waiting
            waiting = []
            yield line
        else:
            return


def _plain_scalar(value: str, below: list[str], *, fold: bool) -> str | None:
    if not below and not _BLOCK_SCALAR.match(value):
        return _unquoted(value)
    if not fold:
        return None
    return " ".join([*([] if _BLOCK_SCALAR.match(value) else [value]), *below])


def _plain_list(value: str, below: list[str]) -> list[str] | None:
    if below:
        if value and not value.startswith("#"):
            return None
        if not all(item == "-" or item.startswith("- ") for item in below):
            return None
        items = [item[1:].strip() for item in below]
        if any(item == "-" or item.startswith("- ") for item in items):
            return None
        return [text for text in map(_unquoted, items) if text]
    if value.startswith("["):
        return _flow_list(value)
    if value.startswith("{") or _BLOCK_SCALAR.match(value):
        return None
    scalar = _unquoted(value)
    return [scalar] if scalar else []


def _flow_list(value: str) -> list[str] | None:
    """`[a, "b, c", 'd']`; ``None`` for a list that nests, or goes on in the next line."""
    items: list[str] = []
    start = 1
    quote = ""
    begun = False
    for position in range(1, len(value)):
        char = value[position]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and not begun:
            quote = char
            begun = True
        elif char in "[{":
            return None
        elif char in ",]":
            items.append(value[start:position].strip())
            start = position + 1
            begun = False
            if char == "]":
                closed = _AFTER_FLOW_LIST.match(value, position)
                return [text for text in map(_unquoted, items) if text] if closed else None
        elif not char.isspace():
            begun = True
    return None


def _unquoted(value: str) -> str:
    """``value`` without its one pair of matching quotes; nothing inside them is interpreted."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].strip()
    return value


def _read_yaml(source: str) -> tuple[_Fields, tuple[Doubt, ...]]:
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > YAML_HEADER_MAX_BYTES:
        raise _Unreadable(
            "header_too_large",
            f"the header has nested or multi-line values and is {size:,} bytes; at most {YAML_HEADER_MAX_BYTES:,}"
            " are read as YAML",
        )
    # PyYAML is loaded for the few headers that need it: it costs more than reading a whole store of plain ones.
    import yaml  # noqa: PLC0415

    try:
        _refuse_tokens(source)
        root = yaml.compose(source, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        # Line 1 of the source is line 2 of the file, below the opening rule.
        where = "" if mark is None else f" at line {mark.line + 2}"
        raise _Unreadable("header_syntax", f"the header is neither key: value lines nor YAML{where}") from None
    if root is None:
        return {}, ()
    if not isinstance(root, yaml.MappingNode):
        raise _Unreadable("header_not_mapping", "the header holds no key: value pairs")
    fields: _Fields = {}
    doubts: dict[Doubt, None] = {}
    for key_node, value_node in root.value:
        if not isinstance(key_node, yaml.ScalarNode):
            continue
        key = key_node.value
        if key in fields:
            doubts[_duplicate(key)] = None
        fields[key] = _yaml_value(key, value_node)
    return fields, tuple(doubts)


def _refuse_tokens(source: str) -> None:
    """Look at the tokens alone, before anything is composed. Lazy, so that a hostile header ends the look early."""
    import yaml  # noqa: PLC0415

    depth = 0
    for token in yaml.scan(source, Loader=yaml.SafeLoader):
        if isinstance(token, (yaml.AnchorToken, yaml.AliasToken, yaml.TagToken, yaml.DirectiveToken)):
            raise _Unreadable("header_refused_yaml", "the header uses YAML anchors, aliases or tags; they are not read")
        if isinstance(
            token,
            (
                yaml.FlowSequenceStartToken,
                yaml.FlowMappingStartToken,
                yaml.BlockSequenceStartToken,
                yaml.BlockMappingStartToken,
            ),
        ):
            depth += 1
            if depth > YAML_HEADER_MAX_DEPTH:
                raise _Unreadable("header_too_deep", f"the header nests deeper than {YAML_HEADER_MAX_DEPTH} levels")
        elif isinstance(token, (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken, yaml.BlockEndToken)):
            depth -= 1


def _yaml_value(key: str, node: Node) -> str | list[str] | None:
    """A node's text as it is written: no dates, numbers or booleans are made of it."""
    import yaml  # noqa: PLC0415

    if isinstance(node, yaml.ScalarNode):
        null = node.tag == "tag:yaml.org,2002:null"
        text = "" if null else str(node.value)
        if key in LIST_KEYS:
            return [text] if text else []
        return text
    if key in LIST_KEYS and isinstance(node, yaml.SequenceNode):
        if not all(isinstance(item, yaml.ScalarNode) for item in node.value):
            return None
        return [str(item.value) for item in node.value if item.value]
    return None if key in _KNOWN else ""


def _duplicate(key: str) -> Doubt:
    which = f"the key {key}" if key in _KNOWN else "a key"
    return Doubt("duplicate_key", f"the header gives {which} more than once; the last one counts")


def _header(fields: _Fields) -> tuple[Header, tuple[Doubt, ...]]:
    doubts: list[Doubt] = []
    scalars: dict[str, str | None] = {}
    for key in SCALAR_KEYS:
        value = fields.get(key, "")
        if not isinstance(value, str):
            doubts.append(Doubt("header_value", f"{key} is no single line of text, so it is ignored"))
            value = ""
        scalars[key] = _one_line(value) or None
    lists: dict[str, tuple[str, ...]] = {}
    for key in LIST_KEYS:
        items = fields.get(key, [])
        if not isinstance(items, list):
            doubts.append(Doubt("header_value", f"{key} is no list of names, so it is ignored"))
            items = []
        lists[key] = tuple(line for line in map(_one_line, items) if line)
    name = scalars["name"]
    if name is not None and not name.strip("-"):
        # A rule is never a title, however it got here.
        name = None
    return Header(
        name=name,
        type=scalars["type"],
        description=scalars["description"],
        tags=lists["tags"],
        aliases=lists["aliases"],
        supersedes=lists["supersedes"],
        unknown=tuple(key for key in fields if key not in _KNOWN),
    ), tuple(doubts)


def _one_line(value: str) -> str:
    return " ".join(value.split()) if "\n" in value else value.strip()
