"""The one family of errors that leaves the engine.

Every error carries a stable ``code`` (part of the JSON contract, SPEC §21), a message that says what was wrong,
and, where something can be done about it, a ``hint`` that says what to do. The branch of the family an error
belongs to decides the exit status of the command line; the engine itself knows nothing of exit statuses.

Messages never hold the content of a memory or of a secret.
"""

from __future__ import annotations


class PonyError(Exception):
    """Base of every error the engine raises on purpose. Itself used for plain failures (``failed``)."""

    code: str = "failed"

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return self.message


class InvalidRequest(PonyError):
    """A request that can never be right: a bad argument, or an option out of its range."""

    code = "usage"


class NotFound(PonyError):
    """The named thing does not exist: a path, an entry, a backup, a proposal."""

    code = "not_found"


class Refused(PonyError):
    """Understood and declined; nothing was changed."""

    code = "refused"


class BadPath(Refused):
    """A canonical path that breaks a rule of SPEC §2."""

    code = "bad_path"


class BadName(Refused):
    """An entry name that breaks a rule of SPEC §10."""

    code = "bad_name"


class UnsafeFile(Refused):
    """A file the boundary of SPEC §3 declines; ``reason`` is one of ``files.boundary.UnsafeReason``."""

    code = "unsafe_file"

    def __init__(self, message: str, *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class SourceChanged(Refused):
    """A paged source changed between two pages (SPEC §8)."""

    code = "source_changed"


class BadContinuation(Refused):
    """A continuation token that is damaged or was not made here (SPEC §8)."""

    code = "bad_continuation"


class Undecodable(Refused):
    """A rewrite would have to guess at bytes that are not UTF-8 (SPEC §3)."""

    code = "undecodable"


class UnreadableHeader(Refused):
    """A file whose header could not be read is never rewritten (SPEC §4)."""

    code = "unreadable_header"


class SensitiveContent(Refused):
    """The text holds something that looks like a credential (SPEC §9). The message never repeats it."""

    code = "sensitive_content"


class NotAuthorised(Refused):
    """No grant of the current turn covers the write (SPEC §9)."""

    code = "not_authorised"


class NotConfirmed(Refused):
    """A person's yes was needed and not given (SPEC §21)."""

    code = "not_confirmed"


class OverLimit(Refused):
    """The write or read would pass a limit of the contract."""

    code = "over_limit"


class Conflict(Refused):
    """The thing changed since it was looked at; the message names it."""

    code = "conflict"


class Unavailable(Refused):
    """A scope that exists in the contract and not here: no ``$HOME``, a scope that was not given."""

    code = "unavailable"


class Locked(PonyError):
    """A lock could not be had in time (SPEC §12); the message names the holder and the path."""

    code = "locked"


class Misconfigured(PonyError):
    """The configuration cannot be used: the message names file, key, value and what is allowed (SPEC §14)."""

    code = "misconfigured"


class Disabled(PonyError):
    """``enabled: false``: entries, dreams, surfacing and extraction are off (SPEC §14)."""

    code = "disabled"
