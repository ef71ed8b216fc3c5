"""Credentials that are told by their shape: the prefix rules of SPEC §9, standard library only.

The rules are kept apart from :mod:`pony_memory.writes.secrets` because the recall journal redacts by them (SPEC §7)
on every turn and must not pay for detect-secrets. Here they are compiled on first use, and a text without any of
their marks is answered by one cheap search.

A rule names what it found and marks where; nothing in this module prints, logs or raises with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pony_memory.writes.secret_phrases import phrase_spans

#: Longest stretch of one line looked at in one piece. Rules with two open ends are quadratic in the worst case;
#: windows keep a hostile line of 128 KiB linear. The overlap is longer than any credential the rules know.
WINDOW_CHARS: Final = 4_096
WINDOW_OVERLAP_CHARS: Final = 1_024

# No \b: a token may follow a Chinese character, which is a word character too.
_START: Final = r"(?<![A-Za-z0-9])"
_END: Final = r"(?![A-Za-z0-9])"

#: (what it is, pattern). The order decides which name an overlapping find gets.
RULES: Final[tuple[tuple[str, str], ...]] = (
    ("Anthropic API key", _START + r"sk-ant-[A-Za-z0-9_-]{16,}"),
    (
        "OpenAI API key",
        # With a known infix, or the bare form: 20 characters with a digit among them, or 32 of any kind, so that
        # "sk-" before an ordinary long word is left alone.
        _START + r"sk-(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}|(?=[A-Za-z]{0,32}[0-9])[A-Za-z0-9]{20,}"
        r"|[A-Za-z0-9]{32,})",
    ),
    ("GitHub fine-grained token", _START + r"github_pat_[A-Za-z0-9_]{22,}"),
    ("GitHub token", _START + r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("AWS access key", _START + r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}" + _END),
    (
        "AWS secret key",
        # Forty characters of base64 after the key's name. All lower-case hex is a commit id, not a secret.
        r"(?i:secret[ _-]?(?:access[ _-]?)?key)[\"'`]?[ \t]*(?:=>|:=|[:=]|(?i:is)\b)?[ \t]*[\"'`]?"
        r"((?![0-9a-f]{40}(?![A-Za-z0-9/+]))[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    ("Google API key", _START + r"AIza[A-Za-z0-9_-]{35}"),
    ("Google OAuth secret", _START + r"(?:GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,})"),
    (
        "Slack token",
        _START + r"(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})"
        r"|https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/]{16,}",
    ),
    ("npm token", _START + r"npm_[A-Za-z0-9]{36,}" + r"|:_authToken[ \t]*=[ \t]*([A-Za-z0-9_-]{16,})"),
    ("Hugging Face token", _START + r"(?:hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,})"),
    ("Stripe key", _START + r"[rs]k_live_[A-Za-z0-9]{20,}"),
    ("GitLab token", _START + r"gl(?:pat|dt|ft|soat|rt|cbt|ptt|agent)-[A-Za-z0-9_-]{20,}"),
    ("JSON web token", _START + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    ("private key", r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[23]"),
    (
        "bearer header",
        # In a header eight characters with a digit do; in prose ("Bearer authentication is required") more is asked.
        r"(?i:authorization)[\"'`]?[ \t]*[:=][ \t]*[\"'`]?(?i:bearer|basic|token)[ \t]+"
        r"((?=[A-Za-z._~+/=-]{0,64}[0-9])[A-Za-z0-9._~+/=-]{8,}|[A-Za-z0-9._~+/=-]{24,})"
        r"|" + _START + r"(?i:bearer)[ \t]+((?=[A-Za-z._~+/=-]{0,64}[0-9])[A-Za-z0-9._~+/=-]{16,})"
        r"|(?i:x-api-key)[\"'`]?[ \t]*[:=][ \t]*[\"'`]?([A-Za-z0-9._~+/=-]{16,})",
    ),
    (
        "password in a URL",
        # Placeholders such as <password> or ${PASS} hold characters that are left out here.
        r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/?#\[\]@<>{}$\"'`]{1,256}:([^\s:/?#\[\]@<>{}$*\"'`]{3,256})@(?=[A-Za-z0-9\[])",
    ),
)

#: At least one of these is in every text a rule can match (case-folded); see ``test_secrets_are_refused``.
_MARK: Final = re.compile(
    r"sk-|_pat_|gh[pousr]_|a3t|abia|acca|akia|asia|secret|aiza|gocspx-|ya29\.|xox|xapp-|hooks\.slack|npm_|_authtoken"
    r"|hf_|api_org_|k_live_|gl[a-z]{2,5}-|eyj|private key|putty-user|authorization|bearer|x-api-key|://"
    r"|pass|pwd|passcode|token|key|密|口令|令牌|暗号",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one text that looks like a credential: what kind, and from where to where in code points."""

    kind: str
    start: int
    end: int


@lru_cache(maxsize=1)
def compiled_rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern)) for kind, pattern in RULES)


def windows(line: str) -> Iterator[tuple[int, str]]:
    """Cut one line into overlapping pieces: (offset of the piece in the line, piece)."""
    if len(line) <= WINDOW_CHARS:
        yield 0, line
        return
    step = WINDOW_CHARS - WINDOW_OVERLAP_CHARS
    for offset in range(0, max(1, len(line) - WINDOW_OVERLAP_CHARS), step):
        yield offset, line[offset : offset + WINDOW_CHARS]


def rule_spans(text: str) -> Iterator[Span]:
    """Every find of the prefix rules in one piece of text, in the order of the rules."""
    if _MARK.search(text) is None:
        return
    for kind, pattern in compiled_rules():
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            yield Span(kind, match.start(group), match.end(group))


def redact_prefixes(text: str) -> str:
    """``text`` with everything the prefix rules and the ``password is …`` rule find replaced by ``[redacted: kind]``.

    Line ends are kept. A private key is taken out with all lines up to its end mark.
    """
    if _MARK.search(text) is None:
        return text
    text = _private_key_blocks().sub("[redacted: private key]", text)
    return "\n".join(_redact_line(line) for line in text.split("\n"))


@lru_cache(maxsize=1)
def _private_key_blocks() -> re.Pattern[str]:
    return re.compile(
        r"-----BEGIN ((?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?)-----"
        r"(?:(?!-----BEGIN ).)*?(?:-----END \1-----|\Z)",
        re.DOTALL,
    )


def _redact_line(line: str) -> str:
    if _MARK.search(line) is None:
        return line
    found = [
        Span(span.kind, span.start + offset, span.end + offset)
        for offset, piece in windows(line)
        for span in (*rule_spans(piece), *(Span(kind, start, end) for kind, start, end in phrase_spans(piece)))
    ]
    found.sort(key=lambda span: (span.start, -span.end))
    out: list[str] = []
    done = 0
    for span in found:
        if span.end <= done:
            continue
        if span.start >= done:
            out += (line[done : span.start], f"[redacted: {span.kind}]")
        done = span.end
    out.append(line[done:])
    return "".join(out)
