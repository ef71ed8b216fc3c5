"""The configuration of one place: global file, then the workspace's if it is trusted (SPEC §14)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from pony_memory.config import source
from pony_memory.config.schema import DEFAULT_MEMORY_DIR, Config, build
from pony_memory.config.settings import (
    is_forbidden_in_workspace,
    raise_first_fault,
    settings_of,
    shown_key,
    suggestion,
)
from pony_memory.config.source import Source
from pony_memory.errors import UnsafeFile
from pony_memory.files.boundary import printable
from pony_memory.notices import Notice
from pony_memory.scopes.place import home_of

__all__ = ["Config", "load_config"]

_MAX_UNKNOWN_TOLD: Final = 20


def load_config(*, environ: Mapping[str, str], workspace: str) -> Config:
    """Defaults, overlaid key by key by ``~/.pi/agent/memory.json`` and a trusted ``<workspace>/.pi/memory.json``.

    Raises :class:`Misconfigured` naming file, key, value and what is allowed. What is only worth telling (an
    untrusted or unsafe workspace file, unknown keys, keys a workspace may not set) is in ``Config.notices``.
    """
    home = home_of(environ)
    notices: list[Notice] = []
    sources: list[str] = []
    values: dict[str, object] = {}

    found = None if home is None else source.read_global(home)
    if found is not None:
        values |= _settings_of(found, notices)
        sources.append(found.path)

    found = _trusted_workspace_file(workspace, environ, notices)
    if found is not None:
        for name, value in _settings_of(found, notices).items():
            if is_forbidden_in_workspace(name):
                notices.append(_forbidden(found.path, name))
            else:
                values[name] = value
        sources.append(found.path)

    _place_directories(values, home, notices)
    return build(values, notices=tuple(notices), sources=tuple(sources))


def _settings_of(found: Source, notices: list[Notice]) -> Mapping[str, object]:
    settings = settings_of(source.parse(found))
    raise_first_fault(found, settings)
    shown_path = printable(found.path)
    for name in settings.unknown[:_MAX_UNKNOWN_TOLD]:
        notices.append(
            Notice("config_unknown_key", f"{shown_path} has the unknown key {shown_key(name)}", suggestion(name))
        )
    if len(settings.unknown) > _MAX_UNKNOWN_TOLD:
        more = len(settings.unknown) - _MAX_UNKNOWN_TOLD
        notices.append(Notice("config_unknown_key", f"{shown_path} has {more:,} more unknown keys"))
    return settings.values


def _trusted_workspace_file(workspace: str, environ: Mapping[str, str], notices: list[Notice]) -> Source | None:
    shown_path = printable(source.workspace_path(workspace))
    try:
        found = source.read_workspace(workspace)
    except UnsafeFile as error:
        notices.append(Notice("config_unsafe", f"{shown_path} is not used: {error.message}"))
        return None
    if found is None:
        return None
    from pony_memory.config.trust import Standing, standing_of  # noqa: PLC0415

    match standing_of(found, environ, notices):
        case Standing.TRUSTED:
            return found
        case Standing.CHANGED:
            message = f"{shown_path} is not used: it changed since it was trusted"
            notices.append(Notice("config_changed", message, "Look at it, then run `pony-memory trust` again."))
        case Standing.UNKNOWN:
            message = f"{shown_path} is not used: it is not trusted"
            notices.append(Notice("config_untrusted", message, "Look at it, then run `pony-memory trust`."))
    return None


def _forbidden(path: str, name: str) -> Notice:
    return Notice(
        "config_forbidden_key",
        f"{printable(path)} may not set {shown_key(name)}; that value is not used",
        "A workspace chooses neither where memories and transcripts go nor to whom; ~/.pi/agent/memory.json does.",
    )


def _place_directories(values: dict[str, object], home: str | None, notices: list[Notice]) -> None:
    """Expand ``~`` by ``$HOME`` alone; where that is not known the directory is not either."""
    chosen = "memoryDir" in values
    values.setdefault("memoryDir", DEFAULT_MEMORY_DIR)
    for name, value in values.items():
        if not (name == "memoryDir" or name.endswith(".sessionDir")) or not isinstance(value, str):
            continue
        if not value.startswith("~"):
            values[name] = os.path.normpath(value)
        elif home is not None:
            values[name] = os.path.normpath(os.path.join(home, value[2:]))
        else:
            values[name] = None
            if chosen or name != "memoryDir":
                message = f"{shown_key(name)} is {source.shown(value)}, and $HOME is not set to an absolute path"
                notices.append(Notice("config_no_home", message, "Set HOME, or give an absolute path."))
