"""Reading one parsed file by the table of keys (SPEC §14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pony_memory.config import source
from pony_memory.config.rules import PROVIDER_NAME, Wrong
from pony_memory.config.schema import KEYS, SECTIONS, Key
from pony_memory.config.source import Source
from pony_memory.errors import Misconfigured
from pony_memory.files.boundary import printable

#: Keys of older versions and what became of them.
_RETIRED: Final = {"autoSurfacing.maxTopicBytes": "autoSurfacing.maxEntryBytes"}
_SHOWN_KEY_CHARS: Final = 80
_MAX_SUGGESTED: Final = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """A value that is wrong, by its dotted key; ``why`` follows the key in a sentence."""

    key: str
    why: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What one file sets: values by dotted name, read by their rules, and what was wrong with the rest."""

    values: Mapping[str, object]
    unknown: tuple[str, ...]
    faults: tuple[Fault, ...]


def settings_of(document: Mapping[str, object]) -> Settings:
    """Read a parsed file by the table of keys. Nothing is raised: every fault is in the result."""
    values: dict[str, object] = {}
    unknown: list[str] = []
    faults: list[Fault] = []
    _read_section(document, "", values, unknown, faults)
    return Settings(values, tuple(unknown), tuple(faults))


def is_forbidden_in_workspace(name: str) -> bool:
    """Whether a workspace file may not set the key of this dotted name."""
    key = _key_of(name)
    return key is not None and key.forbidden_in_workspace


def raise_first_fault(found: Source, settings: Settings) -> None:
    """Raise :class:`Misconfigured` for the first fault, and say how many more there are."""
    if not settings.faults:
        return
    first, *others = settings.faults
    more = f" ({len(others):,} more wrong in this file)" if others else ""
    raise Misconfigured(
        f"{printable(found.path)}: {shown_key(first.key)} {first.why}{more}",
        hint="README and the JSON Schema (`pony-memory init` points editors to it) list every key.",
    )


def _read_section(
    section: Mapping[str, object], prefix: str, values: dict[str, object], unknown: list[str], faults: list[Fault]
) -> None:
    for part, value in section.items():
        name = f"{prefix}{part}"
        if name == "$schema":
            if not isinstance(value, str):
                faults.append(Fault(name, f"is {source.shown(value)}, but must be a text"))
        elif prefix == "providers." and (fault := _fault_of_provider(part)) is not None:
            faults.append(Fault(name, fault))
        elif "." in part:
            unknown.append(name)
        elif (key := _key_of(name)) is not None:
            _read_key(key, name, value, values, faults)
        elif name and _section_of(name) in SECTIONS:
            if isinstance(value, dict):
                _read_section(value, f"{name}.", values, unknown, faults)
            else:
                faults.append(Fault(name, f"is {source.shown(value)}, but must be an object of keys"))
        else:
            unknown.append(name)


def _read_key(key: Key, name: str, value: object, values: dict[str, object], faults: list[Fault]) -> None:
    try:
        if _holds_surrogate(value):
            raise Wrong("it holds half a character (a lone surrogate)")
        values[name] = key.rule.read(value)
    except Wrong as error:
        now = "has a value that is not shown here" if key.rule.secret else f"is {source.shown(value)}"
        why = f"; {error.why}" if error.why else ""
        faults.append(Fault(name, f"{now}, but must be {key.rule.allowed}{why}"))


def _fault_of_provider(name: str) -> str | None:
    try:
        PROVIDER_NAME.read(name)
    except Wrong:
        return f"is no name for a provider, which must be {PROVIDER_NAME.allowed}"
    return None


def _section_of(name: str) -> str:
    return "providers.*" if name.startswith("providers.") and name.count(".") == 1 else name


def _key_of(name: str) -> Key | None:
    if name.startswith("providers."):
        provider, _, part = name.removeprefix("providers.").rpartition(".")
        return KEYS.get(f"providers.*.{part}") if provider else None
    return KEYS.get(name)


def _holds_surrogate(value: object) -> bool:
    return isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value)


def shown_key(name: str) -> str:
    """A dotted key as it may be put before people: printable, shortened, in quotes."""
    shown = printable(name)
    return f'"{shown}"' if len(shown) <= _SHOWN_KEY_CHARS else f'"{shown[:_SHOWN_KEY_CHARS]}…"'


def suggestion(name: str) -> str | None:
    """What may have been meant by an unknown key, as one sentence."""
    section, _, last = name.rpartition(".")
    if name in _RETIRED:
        return f'It is a key of 1.x; "{_RETIRED[name]}" took its place.'
    if name in KEYS:
        return f'A section is an object of its own: {{"{section}": {{"{last}": …}}}}.'
    if name.startswith("providers.") and "key" in last.lower():
        return 'Keys are never read from a file; "apiKeyEnv" names the environment variable that holds one.'
    meant = [known for known in KEYS if known.rpartition(".")[2] == last] or _near(last, section)
    quoted = [f'"{known}"' for known in meant[:_MAX_SUGGESTED]]
    return f"Did you mean {' or '.join(quoted)}?" if meant else None


def _near(last: str, section: str) -> list[str]:
    """The key, of this section if there is one, whose own name is nearest; names are compared without their section,
    which would make any two keys of one section look alike."""
    import difflib  # noqa: PLC0415

    known = [*KEYS, *(SECTIONS - {""})]
    siblings = [each for each in known if each.rpartition(".")[0] == section]
    for among, cutoff in ((siblings, 0.6), (known, 0.8)):
        names = {each.rpartition(".")[2].lower(): each for each in reversed(among)}
        found = difflib.get_close_matches(last[:200].lower(), names, n=1, cutoff=cutoff)
        if found:
            return [names[found[0]]]
    return []
