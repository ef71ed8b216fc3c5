"""Configuration files of a person and of a workspace, for tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pony_memory.config.load import Config, load_config
from pony_memory.config.trust import review_workspace_file, trust


@dataclass
class Place:
    """A home directory and a workspace beside it."""

    home: Path
    workspace: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home)}

    @property
    def global_file(self) -> Path:
        return self.home / ".pi" / "agent" / "memory.json"

    @property
    def workspace_file(self) -> Path:
        return self.workspace / ".pi" / "memory.json"

    def write_global(self, document: object) -> Path:
        return _write(self.global_file, document)

    def write_workspace(self, document: object, *, trusted: bool = True) -> Path:
        path = _write(self.workspace_file, document)
        if trusted:
            self.trust()
        return path

    def trust(self) -> None:
        review = review_workspace_file(environ=self.environ, workspace=str(self.workspace))
        trust(review, environ=self.environ, workspace=str(self.workspace))

    def load(self) -> Config:
        return load_config(environ=self.environ, workspace=str(self.workspace))


def make_place(tmp_path: Path) -> Place:
    place = Place(tmp_path / "home", tmp_path / "workspace")
    place.home.mkdir()
    place.workspace.mkdir()
    return place


def _write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(document, bytes):
        path.write_bytes(document)
    else:
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path
