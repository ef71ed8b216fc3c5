"""SPEC §14: `init` makes a first memory.json that points editors to the schema, and overwrites nothing."""

from __future__ import annotations

import json
import os
import stat
from urllib.parse import unquote, urlparse

import jsonschema
import pytest

from pony_memory.config.init import first_config, write_first_config
from pony_memory.errors import Conflict, InvalidRequest, Unavailable
from support.config_files import make_place


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


def test_the_first_file_is_private_valid_and_points_to_the_schema(place):
    first = first_config(environ=place.environ)
    assert not place.global_file.exists()
    before = os.umask(0)
    try:
        write_first_config(first)
    finally:
        os.umask(before)
    assert first.path == str(place.global_file)
    assert place.global_file.read_text() == first.text
    assert stat.S_IMODE(place.global_file.stat().st_mode) == 0o600
    assert place.global_file.stat().st_nlink == 1
    for directory in (place.home / ".pi", place.home / ".pi" / "agent"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert os.listdir(place.global_file.parent) == ["memory.json"]

    document = json.loads(first.text)
    with open(unquote(urlparse(document["$schema"]).path), encoding="utf-8") as schema:
        jsonschema.validate(document, json.load(schema), jsonschema.Draft202012Validator)
    config = place.load()
    assert config.enabled and config.notices == ()
    assert {config.model_for(task) for task in ("dream", "autoSurfacing", "extractMemories")} == {"builtin/lexical"}


def test_a_model_may_be_chosen(place):
    write_first_config(first_config(environ=place.environ, model="anthropic/some-model"))
    assert place.load().model_for("dream") == "anthropic/some-model"
    with pytest.raises(InvalidRequest, match="provider/model-id"):
        first_config(environ={"HOME": str(place.workspace)}, model="auto")


def test_a_file_that_exists_is_left_alone(place, tmp_path):
    first = first_config(environ=place.environ)
    place.write_global("mine")
    with pytest.raises(Conflict, match="left as it is"):
        first_config(environ=place.environ)
    with pytest.raises(Conflict):
        write_first_config(first)
    assert place.global_file.read_text() == "mine"
    assert os.listdir(place.global_file.parent) == ["memory.json"]
    place.global_file.unlink()
    place.global_file.symlink_to(tmp_path / "nowhere")
    with pytest.raises(Conflict):
        first_config(environ=place.environ)
    with pytest.raises(Conflict):
        write_first_config(first)
    assert not (tmp_path / "nowhere").exists()


def test_without_home_there_is_no_place_for_it():
    with pytest.raises(Unavailable, match=r"\$HOME"):
        first_config(environ={})
