"""What a value in ``memory.json`` may be (SPEC §14).

Each kind of value is one small class that reads a parsed JSON value, says in words what is allowed, and gives the
same as JSON Schema, so that the loader, its messages and the shipped schema cannot drift apart. They are plain classes
because every command reads the configuration, and creating dataclasses is the dear part of that.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from pony_memory.canonical import SCOPE_NAMES, ScopeName

# `$` means different things to Python and to the ECMAScript of JSON Schema; this is the end of the text in both.
_END: Final = r"(?![\s\S])"


class Wrong(ValueError):
    """A value of the wrong type or out of range. ``why`` adds to what is allowed, where there is more to say."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why


class Rule(Protocol):
    """One kind of value. ``allowed`` are words that follow "must be"; a wrong value of a ``secret`` rule may be a
    credential put in the wrong place, and is never shown."""

    allowed: str
    secret: bool

    def read(self, value: object) -> object:
        """The value as the configuration holds it. Raises :class:`Wrong`."""

    def json_schema(self) -> dict[str, object]:
        """The same as JSON Schema (draft 2020-12)."""


class Flag:
    """``true`` or ``false``."""

    secret = False

    def __init__(self) -> None:
        self.allowed = "true or false"

    def read(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise Wrong

    def json_schema(self) -> dict[str, object]:
        return {"type": "boolean"}


class Whole:
    """A whole number from ``low`` to ``high``; ``200.0`` is one, as JSON and its schemas have it."""

    secret = False

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.allowed = f"a whole number from {low:,} to {high:,}"

    def read(self, value: object) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high:
            return value
        raise Wrong

    def json_schema(self) -> dict[str, object]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class Number:
    """A number from ``low`` to ``high``."""

    secret = False

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.allowed = f"a number from {low:g} to {high:g}"

    def read(self, value: object) -> float:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self.low <= value <= self.high:
            return float(value)
        raise Wrong

    def json_schema(self) -> dict[str, object]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}


class Choice:
    """One of a few words."""

    secret = False

    def __init__(self, *values: str) -> None:
        self.values = values
        self.allowed = "one of " + ", ".join(f'"{value}"' for value in values)

    def read(self, value: object) -> str:
        if isinstance(value, str) and value in self.values:
            return value
        raise Wrong

    def json_schema(self) -> dict[str, object]:
        return {"enum": list(self.values)}


class Shaped:
    """A text that matches ``pattern`` (understood alike by Python and ECMAScript, anchored by itself).

    ``retired`` are values of older versions with what to say about them.
    """

    def __init__(
        self, allowed: str, pattern: str, *, retired: tuple[tuple[str, str], ...] = (), secret: bool = False
    ) -> None:
        self.allowed, self.pattern, self.retired, self.secret = allowed, pattern, retired, secret

    def read(self, value: object) -> str:
        if isinstance(value, str):
            if re.search(self.pattern, value) is not None:
                return value
            for old, why in self.retired:
                if value == old:
                    raise Wrong(why)
        raise Wrong

    def json_schema(self) -> dict[str, object]:
        return {"type": "string", "pattern": self.pattern}


class ScopeList:
    """Scopes, each once; held in the order of scans."""

    secret = False

    def __init__(self) -> None:
        self.allowed = "a list of scopes, each once: " + ", ".join(f'"{name}"' for name in SCOPE_NAMES)

    def read(self, value: object) -> tuple[ScopeName, ...]:
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            chosen = tuple(name for name in SCOPE_NAMES if name in value)
            if len(chosen) == len(value):
                return chosen
        raise Wrong

    def json_schema(self) -> dict[str, object]:
        return {"type": "array", "items": {"enum": list(SCOPE_NAMES)}, "minItems": 1, "uniqueItems": True}


THINK_LEVELS: Final = Choice("off", "minimal", "low", "medium", "high", "xhigh")
EXTRACTION_MODES: Final = Choice("write", "review")

#: Names only: whether a model can be had is found out when it is needed.
MODEL: Final = Shaped(
    'a model as "provider/model-id", or "builtin/lexical"',
    rf"^[A-Za-z0-9][A-Za-z0-9._-]*/[^\s\u0000-\u001f\u007f]+{_END}",
    retired=(
        ("auto", "there is no automatic choice any more; leave the key out, or name a model"),
        ("", "leave the key out where no model is meant"),
    ),
)
DIRECTORY: Final = Shaped(
    'a directory as an absolute path, "~" or "~/…"',
    rf"^(?:/[^\u0000]*|~(?:/[^\u0000]*)?){_END}",
)
BASE_URL: Final = Shaped(
    "an http or https URL without credentials, query or fragment",
    rf"^https?://[^\s/?#@\\]+(?:/[^\s?#@\\]*)?{_END}",
    secret=True,
)
ENVIRONMENT_NAME: Final = Shaped(
    "the name of an environment variable that holds the key (never the key itself)",
    rf"^[A-Za-z_][A-Za-z0-9_]{{0,127}}{_END}",
    secret=True,
)
#: ``builtin`` is the product's own and not to be configured.
PROVIDER_NAME: Final = Shaped(
    'up to 64 letters, digits, "_" and "-", and not "builtin"',
    rf"^(?!builtin{_END})[A-Za-z0-9][A-Za-z0-9_-]{{0,63}}{_END}",
)
