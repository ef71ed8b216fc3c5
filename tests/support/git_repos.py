"""Real git repositories for tests, untouched by the configuration of whoever runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a person with this home directory and nothing else has."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), **more}


def git(directory: Path, *arguments: str) -> str:
    settings = ("user.name=Pony", "user.email=pony@example.org", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *(part for setting in settings for part in ("-c", setting)), *arguments],
        cwd=directory,
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def repository(path: Path, **remotes: str) -> Path:
    """A repository with one commit and the given remotes, whose URLs are written as they are."""
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q", "-b", "main")
    git(path, "commit", "-q", "--allow-empty", "-m", "first")
    for name, url in remotes.items():
        git(path, "config", "--add", f"remote.{name}.url", url)
    return path


def script(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
