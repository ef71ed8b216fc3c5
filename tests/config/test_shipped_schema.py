"""SPEC §14: a JSON Schema for memory.json is shipped, and says the same as the loader."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.config.schema import KEYS, SECTIONS, json_schema, json_schema_text
from pony_memory.config.settings import settings_of
from pony_memory.config.source import Source, parse
from support.config_files import make_place

VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def test_the_shipped_file_is_the_generated_one():
    shipped = files("pony_memory.config").joinpath("memory.schema.json").read_text(encoding="utf-8")
    assert shipped == json_schema_text(), (
        "write it anew: python -c 'from pony_memory.config.schema import json_schema_text; "
        'print(json_schema_text(), end="")\' > engine/pony_memory/config/memory.schema.json'
    )


def test_it_is_a_schema_and_speaks_of_every_key():
    jsonschema.Draft202012Validator.check_schema(json_schema())
    for name, key in KEYS.items():
        here = json_schema()
        for part in name.split("."):
            here = here["additionalProperties"] if part == "*" else here["properties"][part]
        assert here["description"] == key.about
        assert ("default" in here) == (key.default is not None)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"enabled": False},
        {
            "enabled": True,
            "memoryDir": "~/.pi/memory",
            "lock": {"timeoutMs": 5000, "snapshotKeep": 5},
            "defaults": {"model": "provider/model-id", "sessionPersistence": {"enabled": False}},
            "dream": {"nudgeAfterSessions": 5, "nudgeAfterHours": 24, "thinkLevel": "high"},
            "sessionSearch": {"maxSessions": 10, "maxMatches": 5},
            "autoSurfacing": {"enabled": True, "thinkLevel": "off", "maxFiles": 3, "maxEntryBytes": 3072},
            "extractMemories": {"enabled": True, "maxContextTokens": 2000, "mode": "review"},
            "providers": {"ollama": {"baseUrl": "http://localhost:11434/v1"}, "mine": {"apiKeyEnv": "MY_KEY"}},
        },
    ],
)
def test_examples_are_valid_and_load(tmp_path, document):
    VALIDATOR.validate(document)
    place = make_place(tmp_path)
    place.write_global(document)
    assert place.load().notices == ()


_texts = st.sampled_from(
    [
        "",
        "auto",
        "a/b",
        "a/b\n",
        "a//b",
        "a/ b",
        "builtin/lexical",
        "high",
        "off",
        "write",
        "review",
        "user",
        "~",
        "~/x",
        "~x",
        "/",
        "/a\0",
        "/a\n",
        "rel",
        "http://h",
        "https://h/v1/",
        "https://u@h",
        "HTTP://h",
        "http://h\n",
        "X",
        "X\n",
        "k-y",
        "9",
        "true",
        "a/\u3000b",
        "a/\x85b",
        "é/x",
        "a/é",
    ]
) | st.text(max_size=8)
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 30)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.5, 1.0, 200.0, -0.0, 1e300, 65_536, 65_537, 131_072, 131_073, 600_000, 600_001])
    | _texts
)
_values = _scalars | st.lists(st.sampled_from(["user", "workspace", "project", "home", 1]), max_size=4)
_names = sorted({part for name in (*KEYS, *SECTIONS) for part in name.split(".") if part not in ("*", "")})
_part = st.sampled_from([*_names, "openai", "builtin", "builtin2", "a.b", "x" * 65, "", "$schema", "Enabled"])


def _good(rule):
    """Values of which most are right for ``rule``."""
    schema = rule.json_schema()
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "integer":
        return st.integers(schema["minimum"], schema["maximum"])
    return _values


@st.composite
def _documents(draw):
    document = {}
    chosen = draw(st.lists(st.sampled_from(list(KEYS)), max_size=3, unique=True))
    for name in chosen:
        here = document
        if name.startswith("providers."):
            last = name.rsplit(".", 1)[1]
            sections = ["providers", draw(st.sampled_from(["mine", "openai", "builtin", "builtin2", "a.b", "-x", ""]))]
        else:
            *sections, last = name.split(".")
        for section in sections:
            here = here.setdefault(section, {})
        here[last] = draw(_good(KEYS[name].rule) if draw(st.booleans()) else _values)
    if draw(st.integers(0, 4)) == 0:
        document[draw(_part)] = draw(_values | st.dictionaries(_part, _values, max_size=2))
    return document


@settings(max_examples=800, deadline=None)
@given(_documents())
def test_schema_and_loader_agree(document):
    read = settings_of(parse(Source("/x/memory.json", json.dumps(document).encode())))
    loads = not read.faults and not read.unknown
    assert VALIDATOR.is_valid(document) == loads, (document, read)
