"""The reading view of a file's bytes (SPEC §3). Rewrites never go through it: they work on the bytes themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Text:
    """``text`` has LF line ends only and no BOM; ``replaced`` counts the U+FFFD put in place of bad bytes."""

    text: str
    replaced: int


def decode(data: bytes) -> Text:
    """UTF-8 with the BOM dropped, CRLF and CR read as LF, and bad bytes as U+FFFD. Never fails."""
    body = data.removeprefix(BOM)
    replaced = 0
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
        replaced = text.count("\ufffd") - body.count(b"\xef\xbf\xbd")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Text(text, replaced)
