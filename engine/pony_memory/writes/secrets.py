"""Credentials are refused in every durable write (SPEC §9).

``check_text`` is asked by every write before it touches the disk. It looks for

- what detect-secrets' named detectors know (never entropy alone: hashes, UUIDs and commit ids are facts);
- what our own prefix and phrase rules know, run as plugins beside them;
- the values of environment variables with secret names, eight characters and longer.

The refusal names the kind and the line, never the secret: nothing of the text is in the error's message, arguments,
cause or context. A person may override (``allow=True``); no tool can reach that argument.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pony_memory.errors import SensitiveContent
from pony_memory.writes.secret_phrases import words

if TYPE_CHECKING:
    from detect_secrets.plugins.base import RegexBasedDetector

MIN_ENVIRONMENT_SECRET_CHARS: Final = 8
#: The shortest find there is, 密码是 with four characters: shorter lines need no detectors.
_MIN_LINE_CHARS: Final = 7

#: Words that make a variable's name a secret's name, compared with the parts between underscores.
_SECRET_WORDS: Final = words(
    """secret secrets token password passwords passwd passphrase passcode pwd apikey apikeys apitoken accesskey
    secretkey privatekey credential credentials cred creds authtoken"""
)
#: The same, but only at the end of the name or after one of _KEY_OWNERS: KEY_BINDINGS and TOKENS_MAX are none.
_SECRET_LAST_WORDS: Final = words("key keys tokens pass pat auth dsn")
_KEY_OWNERS: Final = words("api access secret private signing encryption service account auth master")
#: Endings that name something about a secret, not the secret.
_ABOUT: Final = words(
    """file path dir directory sock socket url uri host port user username name id ids type ttl expires expiry length
    min max timeout enabled disabled store provider algorithm algo mode method region count version format header prefix
    suffix endpoint command cmd helper"""
)
_NEVER_SECRET: Final = frozenset({"PWD", "OLDPWD"})
_GLUED: Final = re.compile(r"(?i)(?:password|passwd|apikey|secretkey|accesskey|authtoken|apitoken)\Z")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen and on which line (1-based). It holds nothing of the text."""

    kind: str
    line: int


def check_text(text: str, *, environ: Mapping[str, str], allow: bool = False) -> None:
    """Raise :class:`SensitiveContent` if ``text`` looks as if it held a credential.

    ``allow`` is a person's open override (``--allow-secret``): nothing is looked at.
    """
    if allow:
        return
    finding = next(findings(text, environ=environ), None)
    if finding is None:
        return
    raise SensitiveContent(
        f"line {finding.line} looks as if it held a credential ({finding.kind}); nothing was written",
        hint="Leave the secret out and note where it is kept instead. "
        "If it is none, a person can save it with --allow-secret.",
    )


def findings(text: str, *, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Every line that looks as if it held a credential, in order, one finding a line."""
    plain = _without_disguise(text)
    secrets = _environment_secrets(environ)
    before = ""
    for number, (line, raw) in enumerate(zip(plain.split("\n"), _lines(text), strict=True), start=1):
        kind = _environment_find(secrets, raw, line) or _detected(line) or (before and _detected(before + line.strip()))
        if kind:
            yield Finding(kind, number)
        if line.strip():
            before = line if _value_follows(line) else ""
    for name, value in secrets:
        # A value of several lines, such as a key file put into a variable, is on no single line.
        if "\n" in value and value in text:
            yield Finding(f"the value of the environment variable {name}", text.count("\n", 0, text.index(value)) + 1)


def _detected(line: str) -> str:
    if len(line) < _MIN_LINE_CHARS:
        return ""
    from pony_memory.writes.secret_plugins import finds  # noqa: PLC0415 - imports detect-secrets
    from pony_memory.writes.secret_prefixes import windows  # noqa: PLC0415

    for _, piece in windows(line):
        for detector in _detectors():
            if finds(detector, piece):
                return str(detector.secret_type)
    return ""


@lru_cache(maxsize=1)
def _detectors() -> tuple[RegexBasedDetector, ...]:
    from pony_memory.writes.secret_plugins import detectors  # noqa: PLC0415 - imports detect-secrets

    return detectors()


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _without_disguise(text: str) -> str:
    """Compatibility forms folded and invisible characters dropped, so that neither hides a token. Lines stay lines."""
    folded = "\n".join(unicodedata.normalize("NFKC", line).replace("\n", " ") for line in _lines(text))
    if folded.isascii():
        return folded
    return "".join(char for char in folded if char == "\n" or unicodedata.category(char) != "Cf")


def _value_follows(line: str) -> bool:
    """``Password:`` at the end of a line: its value is on the next one."""
    return (
        re.search(r"(?i:pass(?:word|phrase|wd|code)|密码|口令)[\"'`*_]{0,3}\s*(?:[:=]|是|为)[\"'`*_]{0,3}\s*$", line)
        is not None
    )


def _environment_secrets(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value)
        for name, value in sorted(environ.items())
        if len(value) >= MIN_ENVIRONMENT_SECRET_CHARS and value.strip() and is_secret_name(name)
    )


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret: ``DB_PASSWORD`` does, ``PWD`` and ``TOKEN_FILE`` do not."""
    if name in _NEVER_SECRET:
        return False
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", name.lower()) if part]
    if not parts or parts[-1] in _ABOUT:
        return False
    if parts[-1] in _SECRET_LAST_WORDS or any(part in _SECRET_WORDS or _GLUED.search(part) for part in parts):
        return True
    return any(part == "key" and before in _KEY_OWNERS for before, part in itertools.pairwise(parts))


def _environment_find(secrets: tuple[tuple[str, str], ...], *lines: str) -> str:
    for name, value in secrets:
        if any(value in line for line in lines):
            return f"the value of the environment variable {name}"
    return ""
