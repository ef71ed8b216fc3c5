"""Which workspace files are trusted: the sha256 of each is pinned in ``~/.pony/trust.json`` (SPEC §14)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final, NoReturn

from pony_memory.config import source
from pony_memory.config.schema import KEYS
from pony_memory.config.settings import is_forbidden_in_workspace, raise_first_fault, settings_of
from pony_memory.config.source import Source
from pony_memory.errors import Conflict, Misconfigured, NotFound, Unavailable, UnsafeFile
from pony_memory.files.boundary import Root, RootSpec, printable
from pony_memory.notices import Notice
from pony_memory.scopes.place import home_of

FILE_NAME: Final = "trust.json"
LOCK_NAME: Final = ".trust.lock"
_VERSION: Final = 1
_MAX_BYTES: Final = 1024 * 1024


class Standing(Enum):
    """How a workspace file stands: pinned as it is, pinned as it was before, or not at all."""

    TRUSTED = "trusted"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Trusted:
    """One pinned file; ``trusted_at`` is ISO 8601, UTC."""

    path: str
    sha256: str
    trusted_at: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One key of a workspace file beside its built-in default, both as JSON (``None``: there is none).

    ``status``: ``set``, ``forbidden`` (a workspace may not set it, so it would stay unused) or ``unknown``.
    """

    key: str
    default: str | None
    value: str
    status: str


@dataclass(frozen=True, slots=True)
class TrustReview:
    """What a person should see before trusting a file; :func:`trust` pins exactly these bytes."""

    path: str
    sha256: str
    text: str
    standing: Standing
    differences: tuple[Difference, ...]


def standing_of(found: Source, environ: Mapping[str, str], notices: list[Notice]) -> Standing:
    """How ``found`` stands. A store of trust that cannot be read trusts nothing, and says so in ``notices``."""
    home = home_of(environ)
    if home is None:
        return Standing.UNKNOWN
    try:
        pinned = _read(home).get(found.path)
    except (Misconfigured, UnsafeFile) as error:
        notices.append(Notice("trust_unreadable", error.message, error.hint))
        return Standing.UNKNOWN
    if pinned is None:
        return Standing.UNKNOWN
    return Standing.TRUSTED if pinned.sha256 == found.sha256 else Standing.CHANGED


def review_workspace_file(*, environ: Mapping[str, str], workspace: str) -> TrustReview:
    """Read the workspace's file for a person to judge.

    Raises :class:`NotFound` if there is none, :class:`UnsafeFile`, and :class:`Misconfigured` for a file that would
    be refused anyway.
    """
    found = source.read_workspace(workspace)
    if found is None:
        path = printable(source.workspace_path(workspace))
        raise NotFound(f"there is no {path} to trust")
    document = source.parse(found)
    settings = settings_of(document)
    raise_first_fault(found, settings)
    differences = [
        Difference(
            name,
            _json(KEYS[name].default) if name in KEYS and KEYS[name].default is not None else None,
            _json(value),
            "forbidden" if is_forbidden_in_workspace(name) else "set",
        )
        for name, value in settings.values.items()
        if name not in KEYS or KEYS[name].default != value
    ]
    differences += [Difference(name, None, _json(_at(document, name)), "unknown") for name in settings.unknown]
    return TrustReview(
        path=found.path,
        sha256=found.sha256,
        text=found.data.decode("utf-8-sig"),
        standing=standing_of(found, environ, []),
        differences=tuple(differences),
    )


def trust(review: TrustReview, *, environ: Mapping[str, str], workspace: str) -> Trusted:
    """Pin what was reviewed. Raises :class:`Conflict` if the file is no longer that, and nothing is pinned."""
    from datetime import UTC, datetime  # noqa: PLC0415

    with _changing(environ) as pinned:
        found = source.read_workspace(workspace)
        if found is None or found.path != review.path or found.sha256 != review.sha256:
            raise Conflict(
                f"{printable(review.path)} changed while it was looked at; it is not trusted",
                hint="Run `pony-memory trust` again.",
            )
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        pinned[review.path] = Trusted(review.path, review.sha256, now)
        return pinned[review.path]


def list_trusted(environ: Mapping[str, str]) -> tuple[Trusted, ...]:
    """Every pinned file, by path. Raises :class:`Unavailable` without ``$HOME``."""
    pinned = _read(_home(environ))
    return tuple(pinned[path] for path in sorted(pinned))


def distrust(*, environ: Mapping[str, str], workspace: str) -> Trusted:
    """Forget the pin of the workspace's file, which need not exist any more. Raises :class:`NotFound`."""
    path = source.workspace_path(workspace)
    if path not in _read(_home(environ)):
        raise NotFound(f"{printable(path)} is not trusted")
    with _changing(environ) as pinned:
        try:
            return pinned.pop(path)
        except KeyError:
            raise NotFound(f"{printable(path)} is not trusted") from None


def _home(environ: Mapping[str, str]) -> str:
    home = home_of(environ)
    if home is None:
        raise Unavailable("$HOME is not set to an absolute path, so there is no ~/.pony/trust.json")
    return home


def _directory(home: str) -> str:
    return os.path.join(home, ".pony")


def _read(home: str) -> dict[str, Trusted]:
    root = Root.resolve(RootSpec(_directory(home), (), follow_trusted=True))
    if root is None:
        return {}
    try:
        data = root.read((FILE_NAME,), limit=_MAX_BYTES).data
    except NotFound:
        return {}
    return _parse(Source(os.path.join(_directory(home), FILE_NAME), data))


def _parse(found: Source) -> dict[str, Trusted]:
    document = source.parse(found)
    files = document.get("files")
    if document.get("version") != _VERSION or not isinstance(files, dict):
        _refuse_store(found)
    pinned: dict[str, Trusted] = {}
    for path, record in files.items():
        match record:
            case {"sha256": str(sha256), "trustedAt": str(trusted_at)}:
                pinned[path] = Trusted(path, sha256, trusted_at)
            case _:
                _refuse_store(found)
    return pinned


def _refuse_store(found: Source) -> NoReturn:
    raise Misconfigured(
        f"{printable(found.path)} is no list of trusted files that this version knows, so none is trusted",
        hint="Move it away, then run `pony-memory trust` again where it is needed.",
    )


@contextmanager
def _changing(environ: Mapping[str, str]) -> Iterator[dict[str, Trusted]]:
    """The pins, written back when the block ends well; one process at a time."""
    from pony_memory.files.atomic import ensure_private_path, replace_file  # noqa: PLC0415
    from pony_memory.files.flock import flocked  # noqa: PLC0415

    home = _home(environ)
    directory = _directory(home)
    ensure_private_path(directory)
    root = Root.resolve(RootSpec(directory, (), follow_trusted=True))
    if root is None:
        raise NotFound(f"{printable(directory)} was removed meanwhile")
    shown = os.path.join(directory, FILE_NAME)
    with root.open_dir() as descriptor, flocked(descriptor, LOCK_NAME, what=printable(shown)):
        pinned = _read(home)
        yield pinned
        files = {path: {"sha256": one.sha256, "trustedAt": one.trusted_at} for path, one in sorted(pinned.items())}
        text = json.dumps({"version": _VERSION, "files": files}, indent=2) + "\n"
        replace_file(descriptor, FILE_NAME, text.encode())


def _json(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _at(document: Mapping[str, object], name: str) -> object:
    """The value of an unknown key. Keys may hold dots of their own, so the longest that fits is taken each time."""
    here: object = document
    rest = name
    while rest and isinstance(here, Mapping):
        part = max((key for key in here if rest == key or rest.startswith(f"{key}.")), key=len, default=None)
        if part is None:
            return None
        here, rest = here[part], rest[len(part) + 1 :]
    return here
