"""Every key of ``memory.json`` in one table: its default, what it may be, what it does (SPEC §14).

The table is the dataclasses themselves: field names are the keys in snake_case, sections are nested classes, and each
field carries its rule. The loader, the shipped JSON Schema and the README's table all read it.
"""

# ruff: noqa: RUF009 (a key is a dataclass field, made by a function of ours)
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, cast

from pony_memory import limits
from pony_memory.canonical import NOTES_SCOPES, ScopeName
from pony_memory.config.rules import (
    BASE_URL,
    DIRECTORY,
    ENVIRONMENT_NAME,
    EXTRACTION_MODES,
    MODEL,
    PROVIDER_NAME,
    THINK_LEVELS,
    Flag,
    Number,
    Rule,
    ScopeList,
    Whole,
)
from pony_memory.notices import Notice

Task = Literal["dream", "autoSurfacing", "extractMemories"]
ThinkLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]

BUILTIN_MODEL: Final = "builtin/lexical"
DEFAULT_MEMORY_DIR: Final = "~/.pi/memory"

_T = TypeVar("_T")
_INHERITED: Final = "as `defaults` says"


def _key(default: _T, rule: Rule, about: str, *, shown: str | None = None) -> _T:
    """A key of the table. ``shown`` is its default in words where the value does not speak for itself."""
    return field(default=default, metadata={"rule": rule, "about": about, "shown": shown})


@dataclass(frozen=True, slots=True)
class Lock:
    """Waiting for locks, and the backups writes leave."""

    timeout_ms: int = _key(
        limits.LOCK_TIMEOUT_MS,
        Whole(0, 600_000),
        "How long one write waits for a lock, and a shutdown for writes in flight, in milliseconds.",
    )
    snapshot_keep: int = _key(limits.BACKUPS_KEPT, Whole(1, 1_000), "How many backups of writes are kept.")


@dataclass(frozen=True, slots=True)
class SessionPersistence:
    """Whether, and where, the transcripts of sub-sessions are kept; ``session_dir`` ``None``: in the project store."""

    enabled: bool = _key(False, Flag(), "Keep the transcripts of sub-sessions; else they run in memory only.")
    session_dir: str | None = _key(None, DIRECTORY, "Where transcripts are kept.", shown="`<project store>/sessions/`")


@dataclass(frozen=True, slots=True)
class TaskPersistence:
    """As :class:`SessionPersistence` for one task; ``None`` inherits ``defaults``."""

    enabled: bool | None = _key(None, Flag(), "Keep the transcripts of this task's sub-sessions.", shown=_INHERITED)
    session_dir: str | None = _key(None, DIRECTORY, "Where this task's transcripts are kept.", shown=_INHERITED)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the three tasks share."""

    model: str | None = _key(None, MODEL, "The model of every task that names none of its own.", shown="none")
    session_persistence: SessionPersistence = SessionPersistence()


@dataclass(frozen=True, slots=True)
class Dream:
    """Consolidation."""

    nudge_after_sessions: int = _key(5, Whole(1, 10_000), "A dream is suggested after this many sessions …")
    nudge_after_hours: int = _key(24, Whole(1, 87_600), "… or this many hours since the last one.")
    model: str | None = _key(None, MODEL, "The model that plans dreams.", shown="`defaults.model`")
    think_level: ThinkLevel = _key("high", THINK_LEVELS, "How much the dream's model thinks.")
    session_persistence: TaskPersistence = TaskPersistence()


@dataclass(frozen=True, slots=True)
class SessionSearch:
    """Search of past transcripts."""

    max_sessions: int = _key(10, Whole(1, 1_000), "How many past sessions one search reads, newest first.")
    max_matches: int = _key(5, Whole(1, 100), "How many matches it returns.")


@dataclass(frozen=True, slots=True)
class AutoSurfacing:
    """Entries put before the agent."""

    enabled: bool = _key(True, Flag(), "Put entries that matter for the prompt before the agent, each turn.")
    model: str | None = _key(None, MODEL, "The model that chooses them.", shown="`defaults.model`")
    think_level: ThinkLevel = _key("off", THINK_LEVELS, "How much that model thinks.")
    max_files: int = _key(3, Whole(1, 20), "How many entries a turn surfaces at most.")
    max_entry_bytes: int = _key(3_072, Whole(1, limits.MAX_FILE_BYTES), "The most of one entry's body, in bytes.")
    max_injection_bytes: int = _key(10_240, Whole(1, 1_048_576), "The most a turn surfaces, in bytes.")
    session_persistence: TaskPersistence = TaskPersistence()


@dataclass(frozen=True, slots=True)
class ExtractMemories:
    """Memories taken from a turn."""

    enabled: bool = _key(True, Flag(), "Extract memories from each turn in the background.")
    mode: Literal["write", "review"] = _key(
        "write", EXTRACTION_MODES, "Write what was extracted, or make it a proposal for review."
    )
    model: str | None = _key(None, MODEL, "The model that extracts.", shown="`defaults.model`")
    think_level: ThinkLevel = _key("high", THINK_LEVELS, "How much that model thinks.")
    max_context_tokens: int = _key(
        2_000, Whole(1, 1_000_000), "The most of a conversation it is given, in tokens of 4 characters."
    )
    max_tool_result_chars: int = _key(500, Whole(0, 1_000_000), "The most of one tool result, in characters.")
    max_assistant_chars: int = _key(2_000, Whole(0, 1_000_000), "The most of one assistant text, in characters.")
    session_persistence: TaskPersistence = TaskPersistence()


@dataclass(frozen=True, slots=True)
class Recall:
    """Notes put before the agent."""

    top_k: int = _key(limits.RECALL_TOP_K, Whole(1, limits.SEARCH_LIMIT_MAX), "How many passages a turn recalls.")
    min_score: float = _key(
        limits.RECALL_MIN_SCORE, Number(0, 1), "The lowest score recalled, as a part of the query's best."
    )
    max_passage_tokens: int = _key(
        limits.RECALL_PASSAGE_TOKENS, Whole(1, 100_000), "The most of one passage, in tokens."
    )
    max_tokens: int = _key(limits.RECALL_TOTAL_TOKENS, Whole(1, 1_000_000), "The most of all passages, in tokens.")
    skip_recent_turns: int = _key(
        limits.RECALL_SKIP_RECENT_TURNS,
        Whole(0, 1_000),
        "What was recalled in the last turns of a session is left out.",
    )
    scopes: tuple[ScopeName, ...] = _key(NOTES_SCOPES, ScopeList(), "The scopes recall searches.")
    cross_scope_supersedes: bool = _key(True, Flag(), "Whether a note may supersede a note of another scope.")
    journal: bool = _key(True, Flag(), "Keep a journal of recall decisions.")


@dataclass(frozen=True, slots=True)
class Read:
    """Pages."""

    max_tokens: int = _key(limits.READ_MAX_TOKENS, Whole(1, 1_000_000), "The most of one page, in tokens.")


@dataclass(frozen=True, slots=True)
class Provider:
    """A server of models; the key itself is only ever in the environment."""

    base_url: str | None = _key(
        None, BASE_URL, "Where an OpenAI-compatible server answers.", shown="the provider's own"
    )
    api_key_env: str | None = _key(
        None, ENVIRONMENT_NAME, "The environment variable that holds the key.", shown="the provider's own"
    )


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration, complete with defaults. Directories are absolute, ``~`` expanded.

    ``memory_dir`` is ``None`` when it lies below a home directory that is not known. ``sources`` are the files that
    were read, weakest first; ``notices`` what is worth telling about them.
    """

    enabled: bool = _key(True, Flag(), "The entry store, dreams, surfacing and extraction. Read once at start.")
    memory_dir: str | None = _key(DEFAULT_MEMORY_DIR, DIRECTORY, "Where project stores are kept.")
    mem_index_max_lines: int = _key(
        limits.INDEX_MAX_LINES, Whole(1, 65_536), "The most non-empty lines of `MEMORY.md` before writes warn."
    )
    mem_index_max_bytes: int = _key(
        limits.INDEX_MAX_BYTES, Whole(1, limits.MAX_FILE_BYTES), "The most bytes of `MEMORY.md` before writes warn."
    )
    mem_index_inject_max_lines: int = _key(
        limits.INDEX_MAX_LINES, Whole(0, 65_536), "The most lines of the index given to an agent; 0 gives none."
    )
    mem_index_inject_max_bytes: int = _key(
        limits.INDEX_MAX_BYTES, Whole(0, limits.MAX_FILE_BYTES), "The most bytes of the index given to an agent."
    )
    lock: Lock = Lock()
    defaults: Defaults = Defaults()
    dream: Dream = Dream()
    session_search: SessionSearch = SessionSearch()
    auto_surfacing: AutoSurfacing = AutoSurfacing()
    extract_memories: ExtractMemories = ExtractMemories()
    recall: Recall = Recall()
    read: Read = Read()
    providers: Mapping[str, Provider] = field(default_factory=lambda: MappingProxyType({}))
    notices: tuple[Notice, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether any ``memory.json`` counts; without one ``builtin/lexical`` serves every task."""
        return bool(self.sources)

    def _task(self, task: Task) -> Dream | AutoSurfacing | ExtractMemories:
        match task:
            case "dream":
                return self.dream
            case "autoSurfacing":
                return self.auto_surfacing
            case "extractMemories":
                return self.extract_memories

    def model_for(self, task: Task) -> str | None:
        """The task's own model, else ``defaults.model``; ``builtin/lexical`` where nothing at all is configured."""
        return self._task(task).model or self.defaults.model or (None if self.exists else BUILTIN_MODEL)

    def session_persistence_for(self, task: Task) -> SessionPersistence:
        """The task's own setting, each part inherited from ``defaults`` where it is not given."""
        own, shared = self._task(task).session_persistence, self.defaults.session_persistence
        return SessionPersistence(
            enabled=shared.enabled if own.enabled is None else own.enabled,
            session_dir=shared.session_dir if own.session_dir is None else own.session_dir,
        )


@dataclass(frozen=True, slots=True)
class Key:
    """One row of the table. ``name`` is dotted as in ``lock.timeoutMs``; ``*`` stands for a provider's name."""

    name: str
    rule: Rule
    default: object
    shown: str | None
    about: str

    @property
    def forbidden_in_workspace(self) -> bool:
        """A stranger's repository must not choose where memories and transcripts go, nor to whom (SPEC §14)."""
        return self.name == "memoryDir" or self.name.startswith("providers.") or self.name.endswith(".sessionDir")


def camel(name: str) -> str:
    """``timeout_ms`` → ``timeoutMs``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _rows(section: Any, prefix: str) -> Iterator[Key]:
    for item in fields(section):
        name = prefix + camel(item.name)
        if "rule" in item.metadata:
            rule, about, shown = (item.metadata[part] for part in ("rule", "about", "shown"))
            yield Key(name, rule, item.default, shown, about)
        elif is_dataclass(item.default):
            yield from _rows(item.default, f"{name}.")


#: Every key by its dotted name, in the order of the table.
KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {key.name: key for part in (_rows(Config(), ""), _rows(Provider(), "providers.*.")) for key in part}
)
#: Every object that holds keys, ``""`` being the whole file.
SECTIONS: Final = frozenset(name[:at] for name in KEYS for at, char in enumerate(name) if char == ".") | {""}


def build(values: Mapping[str, object], *, notices: tuple[Notice, ...] = (), sources: tuple[str, ...] = ()) -> Config:
    """The configuration for values by dotted name, already read by their rules; the rest is default."""
    names = dict.fromkeys(name.split(".")[1] for name in values if name.startswith("providers."))
    providers = {name: _filled(Provider(), f"providers.{name}.", values) for name in names}
    filled = _filled(Config(), "", values)
    own = {item.name: getattr(filled, item.name) for item in fields(Config)}
    own |= {"providers": MappingProxyType(providers), "notices": notices, "sources": sources}
    return Config(**own)


def _filled(section: _T, prefix: str, values: Mapping[str, object]) -> _T:
    changed: dict[str, Any] = {}
    for item in fields(cast("Any", section)):
        name = prefix + camel(item.name)
        if name in values:
            changed[item.name] = values[name]
        elif "rule" not in item.metadata and is_dataclass(item.default):
            changed[item.name] = _filled(item.default, f"{name}.", values)
    return type(section)(**changed)


def config_table_markdown() -> str:
    """The README's table of keys."""
    lines = ["| key | default | allowed | |", "|---|---|---|---|"]
    for key in KEYS.values():
        shown = key.shown or f"`{_as_json(key.default)}`"
        lines.append(f"| `{key.name.replace('*', '<name>')}` | {shown} | {key.rule.allowed} | {key.about} |")
    return "\n".join(lines) + "\n"


def json_schema() -> dict[str, object]:
    """The JSON Schema (draft 2020-12) that ``memory.schema.json`` holds. Keys it does not know are faults there."""
    properties: dict[str, object] = {"$schema": {"type": "string", "description": "Where this schema is found."}}
    root = _section_schema("", properties)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "memory.json of pony-memory",
        "description": "Global: ~/.pi/agent/memory.json. A workspace's .pi/memory.json counts once it is trusted.",
        **root,
    }


def json_schema_text() -> str:
    """The text of the shipped ``memory.schema.json``; a test compares the two."""
    import json  # noqa: PLC0415

    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _section_schema(prefix: str, properties: dict[str, object]) -> dict[str, object]:
    for name in KEYS:
        if not name.startswith(prefix) or name.startswith("providers.") != prefix.startswith("providers."):
            continue
        head, dot, _ = name.removeprefix(prefix).partition(".")
        if not dot:
            properties[head] = _key_schema(KEYS[name])
        elif head not in properties:
            properties[head] = _section_schema(f"{prefix}{head}.", {})
    if prefix == "":
        properties["providers"] = {
            "type": "object",
            "description": "Servers of models by name; global file only.",
            "propertyNames": {"pattern": PROVIDER_NAME.pattern},
            "additionalProperties": _section_schema("providers.*.", {}),
        }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _key_schema(key: Key) -> dict[str, object]:
    schema = key.rule.json_schema() | {"description": key.about}
    if key.default is not None:
        schema["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    return schema


def _as_json(value: object) -> str:
    import json  # noqa: PLC0415

    return json.dumps(list(value) if isinstance(value, tuple) else value)
