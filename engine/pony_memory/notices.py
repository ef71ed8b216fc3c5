"""What is worth telling beside a result: a warning that stops nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """``code`` is stable, ``message`` says what is so, ``hint`` what can be done about it."""

    code: str
    message: str
    hint: str | None = None
