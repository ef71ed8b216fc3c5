"""A person's machine in a temporary directory: a home, a workspace, a project store."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from pony_memory.memory import Memory

ENTRY = """---
name: {name}
description: {description}
type: {type}
created: 2026-07-13
modified: {modified}
---

{body}
"""


@dataclass
class Place:
    root: Path
    extra: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        for directory in (self.home, self.workspace, self.project):
            directory.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def workspace(self) -> Path:
        return self.root / "work"

    @property
    def project(self) -> Path:
        return self.root / "store"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            **self.extra,
        }

    def scope_root(self, scope: str) -> Path:
        if scope == "project":
            return self.project
        return (self.home if scope == "user" else self.workspace) / ".pony" / "memory"

    def write(self, path: str, text: str | bytes) -> Path:
        """Write the file a canonical path names."""
        scope, _, rest = path.partition("/")
        file = self.scope_root(scope) / rest
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def entry(self, name: str, body="Body.", *, description="What it says.", type="project", file=None, modified=None):
        text = ENTRY.format(
            name=name, description=description, type=type, body=body, modified=modified or "2026-10-02T08:14:03.120Z"
        )
        return self.write(f"project/{file or name.replace(' ', '-') + '.md'}", text)

    def index(self, *lines: str) -> Path:
        return self.write("project/MEMORY.md", "# Memory Index\n\n" + "".join(f"{line}\n" for line in lines))

    def memory(self, **options) -> Memory:
        return Memory.open(
            cwd=str(self.workspace),
            environ=self.environ,
            workspace=str(self.workspace),
            project_dir=str(self.project),
            **options,
        )
