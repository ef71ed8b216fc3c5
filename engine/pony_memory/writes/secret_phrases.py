"""``password is …`` in English and Chinese: a credential told by the words around it (SPEC §9), standard library only.

"The password is hunter2" gives a secret away; "the password is stored in 1Password" does not. What follows the words
is judged by what it is, never by how random it looks:

- a value is one unbroken run of printable ASCII, with or without quotes around it;
- a digit, a symbol or a quotation makes it a password, unless it is a reference (``$DB_PASS``, ``<password>``,
  ``vault.get(…)``, a path, a URL), a quantity ("16 characters") or a technical word ("bcrypt", "base64-encoded");
- a plain word counts only where the sentence ends after it ("the password is swordfish"), and not if it is a word that
  sentences about passwords end in ("required", "rotated", "wrong").

Keys and tokens (``api key is …``, 令牌是 …) are asked for more: eight characters with a letter and a digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

PASSWORD: Final = "password"
KEY: Final = "key or token"


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MIN_PASSWORD_CHARS: Final = 4
_MIN_KEY_CHARS: Final = 8
_PASSPHRASE_MIN_WORDS: Final = 4

# What stands between the word and its value: "password for staging is", 密码已经改成. Bounded, within a sentence.
_BETWEEN_EN: Final = r"(?:[ \t]+(?:for|of|on|to|at|in)[ \t]+[^\s.;,:=!?]{1,40}(?:[ \t]+[^\s.;,:=!?]{1,40}){0,4}?)?"
_BETWEEN_ZH: Final = r"[^\s,.;:=!?，。；！？、]{0,12}?"
_LINK_EN: Final = (
    r"(?:[ \t]*(?:=>|:=|->|→|==?|::?)[ \t]*|[ \t]+(?:is|was|will[ \t]+be|has[ \t]+been[ \t]+set[ \t]+to|be|set[ \t]+to"
    r"|changed[ \t]+to|becomes|are)(?:[ \t]+(?:now|still|currently|just|simply))?[ \t]*:?[ \t]+|'s[ \t]+)"
)
_LINK_TO: Final = r"[ \t]+to[ \t]+"
_LINK_ZH: Final = (
    r"[ \t]*(?:就是|还是|仍是|依然是|是|为|改成了?|改为了?|换成了?|设成了?|设为了?|设置为|设置成|叫|用的是"
    r"|=>|:=|==?|[:：])[ \t]*[:：]?[ \t]*"
)

_PASSWORD_EN: Final = r"pass(?:word|phrase|code|wd)s?|pwd"
_KEY_EN: Final = (
    r"(?:api|access|secret|client|auth|authentication|account|service|deploy|signing|encryption|private|shared|session"
    r"|refresh|bearer|bot|personal[ _-]access|webhook)[ _-]?(?:key|token|secret)|token|secret"
)
_PASSWORD_ZH: Final = r"密码|口令|暗号"
_KEY_ZH: Final = r"密钥|秘钥|令牌"

#: Sentences about passwords end in these without giving one away.
_ORDINARY: Final = words(
    """a absent again all allowed an and any anything as at bad bcrypt blank bool boolean broken by bytes case changing
    char clear confidential correct crucial default derived different down due easy either empty enough equal
    essential evil expired false fine forbidden forgotten free from gone good hard hash hashes here hidden hint
    his human identical important in incorrect insecure int integer invalid it its key known lax legacy less
    local long longer lost mandatory masked md mine missing more my needed never new nil no none not null number
    obsolete of off ok okay old on one only open optional or our out passphrase password personal plain
    plaintext plus policy private prohibited public random readable really right rotten safe same secret secrets
    secure sensitive sent set shared short shorter simple so somewhere static stale str strict string strong
    stronger temporary text that the their there they this tbd to todo too true two unclear unique unknown unset
    unsafe up upcoming us user valid varchar very visible void weak weaker what where which whatever with
    without wrong yes your yours"""
)
_ORDINARY_ENDINGS: Final = tuple(
    sorted(
        words(
            """ed ing able ible less ful ly ive ous ary ory ional only ised ized text sensitive insensitive side based
            free"""
        )
    )
)
_TECHNICAL: Final = (
    r"(?:base-?(?:16|32|36|58|62|64|85)(?:url)?|sha-?[0-9]{1,3}|sha3-?[0-9]*|md[245]|argon2(?:id|i|d)?|pbkdf2|bcrypt|scrypt"
    r"|hmac(?:-?sha-?[0-9]+)?|utf-?(?:8|16)|ascii|(?:rsa|dsa)-?[0-9]{3,5}|aes-?(?:128|192|256)|(?:hs|rs|es|ps)(?:256|384|512)|x509|x25519|ed25519|ed448"
    r"|ecdsa|secp[0-9]{3}[kr]1|p-?(?:256|384|521)|chacha20|uuid(?:v?[0-9])?|jwt|oauth-?2?|saml2?|oidc|ldap|kerberos|1password|keepass(?:xc|x|2)?|bitwarden"
    r"|lastpass|vault|keychain|s3|k8s|ipv[46]|http[0-9]?s?|int(?:8|16|32|64)|v[0-9]+(?:\.[0-9]+)*|[0-9]+fa|fido2?|u2f)"
)
_UNITS: Final = (
    r"(?:-|\s)?(?:char|digit|byte|bit|letter|word|symbol|number|time|second|sec|minute|min|hour|day|week|month|year|attempt"
    r"|位|个|字|天|次|分|秒|小时|周|月|年)"
)

_OPEN_TO_CLOSE: Final = {
    '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」", "『": "』", "«": "»", "**": "**", "*": "*",
}  # fmt: skip


@lru_cache(maxsize=1)
def _subjects() -> tuple[tuple[str, bool, re.Pattern[str]], ...]:
    """(kind, does only a digit, symbol or quotation convince?, pattern whose end is where the value begins)."""
    before = r"(?<![A-Za-z])(?:[A-Za-z0-9]{1,40}[_-]){0,6}"
    closing = r"[\"'`*_\]]{0,3}"

    def english(words: str, link: str) -> re.Pattern[str]:
        return re.compile(rf"(?i:{before}(?:{words}){closing}{_BETWEEN_EN}{link})")

    def chinese(words: str) -> re.Pattern[str]:
        return re.compile(rf"(?:{words}){closing}{_BETWEEN_ZH}{_LINK_ZH}")

    return (
        (PASSWORD, False, english(_PASSWORD_EN, _LINK_EN)),
        (PASSWORD, True, english(_PASSWORD_EN, _LINK_TO)),
        (PASSWORD, True, re.compile(r"(?i:(?<![A-Za-z])pass[\"'`*]{0,2}[ \t]*[:=][ \t]*)")),
        (PASSWORD, True, re.compile(r"(?i:(?<![A-Za-z0-9-])--(?:password|passwd|passphrase|pwd)[ \t]+)")),
        (PASSWORD, False, chinese(_PASSWORD_ZH)),
        (KEY, True, english(_KEY_EN, _LINK_EN)),
        (KEY, True, re.compile(r"(?i:(?<![A-Za-z0-9-])--(?:api-?key|token|secret|auth-?token)[ \t]+)")),
        (KEY, True, chinese(_KEY_ZH)),
    )


@lru_cache(maxsize=1)
def _harmless() -> tuple[re.Pattern[str], ...]:
    """Values that only point at a password, or say how long or of what kind it is."""
    return tuple(
        re.compile(pattern)
        for pattern in (
            r"[<\[{(%].*",  # <password>, [redacted], {{ password }}, (see below), %PASSWORD%
            r"\$.*",  # $DB_PASS, ${DB_PASS}
            r"[*xX.•…_?#-]+",  # ****, xxxx, …
            r"(?i:your|my|some|the|a|this|enter|insert|replace|example)[-_].*",
            r"(?i:.*(?:redacted|placeholder|changeme|change-me|censored).*)",
            r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+",  # the name of an environment variable
            r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*(?:\(.*|\[.*)",  # getenv("X"), VARCHAR(255)
            r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+",  # config.password
            r"(?:~|\.{1,2})/.*|/[\w.-]+(?:/[\w.-]+)+/?",  # a path
            r"[A-Za-z][A-Za-z0-9+.-]*://.*",  # a URL, op://vault/item; a password inside one has its own rule
            r"(?i:arn:aws:.*)",
            r"[<>=≥≤~]*[0-9]{1,4}(?:(?:-|–|~|\.\.)[0-9]{1,4})?\+?" + _UNITS + r"?(?:s|-.*)?(?![\x21-\x7e])",
            rf"(?i:{_TECHNICAL}(?:[-_/+].*)?)",
            r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*",  # a date
        )
    )


def phrase_spans(line: str) -> Iterator[tuple[str, int, int]]:
    """(kind, start, end) of each value given away in one line, code points, end exclusive."""
    for kind, convincing, pattern in _subjects():
        for match in pattern.finditer(line):
            span = _judge(line, match.end(), kind, convincing)
            if span is not None:
                yield kind, *span


def _judge(line: str, start: int, kind: str, convincing: bool) -> tuple[int, int] | None:
    quoted = _quoted(line, start)
    if quoted is not None:
        start, end = quoted
        value, rest = line[start:end], ""
    else:
        run = _run().match(line, start)
        if run is None:
            return None
        value = run.group().rstrip(".,;:!?)]}'\"`")
        end = start + len(value)
        rest = line[end:]
    if len(value) < (_MIN_PASSWORD_CHARS if kind == PASSWORD else _MIN_KEY_CHARS):
        return None
    if any(pattern.fullmatch(value) for pattern in _harmless()):
        return None
    if value.isdigit() and re.match(_UNITS, rest):
        return None
    if kind == KEY:
        # Digits and letters together, whatever is around them: a plain word after "token is" says nothing.
        strong = bool(re.search(r"[0-9]", value) and re.search(r"[A-Za-z]", value))
        return (start, end) if strong else None
    if re.search(r"[0-9]", value) or not re.fullmatch(r"[A-Za-z]+(?:['_/-][A-Za-z]+)*", value):
        return start, end
    if quoted is None and convincing:
        return None
    if not _is_ordinary(value) and (quoted is not None or _sentence_ends(rest)):
        return start, end
    return _passphrase(line, start) if quoted is None else None


@lru_cache(maxsize=1)
def _run() -> re.Pattern[str]:
    return re.compile(r"[\x21-\x7e]{1,512}")


def _quoted(line: str, start: int) -> tuple[int, int] | None:
    for opening, closing in _OPEN_TO_CLOSE.items():
        if line.startswith(opening, start):
            begin = start + len(opening)
            end = line.find(closing, begin, begin + 512)
            if end > begin and "\n" not in line[begin:end]:
                return begin, end
    return None


def _is_ordinary(value: str) -> bool:
    word = re.split(r"['_/-]", value.lower())[-1]
    return word in _ORDINARY or value.lower() in _ORDINARY or word.endswith(_ORDINARY_ENDINGS)


def _sentence_ends(rest: str) -> bool:
    return (
        re.match(
            r"[\"'`)\]}*]*\s*(?:$|[.!?,;:](?:\s|$)|[，。！？；、）】」]|(?:and|but|so)\s+(?:the|my|our|user)\b)", rest
        )
        is not None
    )


def _passphrase(line: str, start: int) -> tuple[int, int] | None:
    """Four plain words and more to the end of the sentence, none of which glues a sentence together."""
    words = re.match(r"[A-Za-z]+(?: [A-Za-z]+)*", line[start : start + 256])
    if words is None or not _sentence_ends(line[start + words.end() :]):
        return None
    parts = words.group().lower().split(" ")
    # The first may be ordinary ("correct horse …"); a later one that is makes it prose.
    if len(parts) < _PASSPHRASE_MIN_WORDS or any(_is_ordinary(part) or len(part) < 3 for part in parts[1:]):
        return None
    if parts[0].endswith(_ORDINARY_ENDINGS):
        return None
    return start, start + words.end()
