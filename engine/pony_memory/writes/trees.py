"""Our own directories (``.backups/``, ``.history/``, ``.dream/``): listed, filled and removed by descriptors.

The walks of the boundary leave names with a dot out on purpose; these are the ones that look inside. No link is
followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pony_memory.errors import NotFound
from pony_memory.files import syscalls
from pony_memory.files.atomic import TEMPORARY_PREFIX, make_private_directory
from pony_memory.files.boundary import DIRECTORY_FLAGS, Parts, Root
from pony_memory.limits import OWNER_FILE_MODE

_MAX_DEPTH: Final = 32


@dataclass(frozen=True, slots=True)
class Item:
    """One name in a directory of ours; ``size`` in bytes, ``is_file`` only for regular files."""

    name: str
    is_directory: bool
    is_file: bool
    size: int


def listing(root: Root, parts: Parts) -> tuple[Item, ...]:
    """What is in a directory below ``root``, by name; nothing if it does not exist."""
    try:
        with root.open_dir(parts) as directory:
            return tuple(items(directory))
    except NotFound:
        return ()


def items(directory: int) -> Iterator[Item]:
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        try:
            size = entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue
        yield Item(entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False), size)


def files_below(root: Root, parts: Parts) -> tuple[Parts, ...]:
    """The regular files below a directory of ours, relative to it, by path; links and the rest left out."""
    found: list[Parts] = []

    def enter(below: Parts) -> None:
        for item in listing(root, (*parts, *below)):
            if item.is_directory and len(below) < _MAX_DEPTH:
                enter((*below, item.name))
            elif item.is_file:
                found.append((*below, item.name))

    enter(())
    return tuple(found)


@contextmanager
def opened(directory: int, name: str) -> Iterator[int]:
    """A descriptor of the directory ``name`` in ``directory``, never through a link."""
    inner = os.open(name, DIRECTORY_FLAGS, dir_fd=directory)
    try:
        yield inner
    finally:
        os.close(inner)


def fill(directory: int, files: Mapping[Parts, bytes]) -> None:
    """Write new files into an empty directory of ours, synced, directories made as needed."""
    inside: dict[str, dict[Parts, bytes]] = {}
    for parts, data in files.items():
        if len(parts) > 1:
            inside.setdefault(parts[0], {})[parts[1:]] = data
            continue
        descriptor = syscalls.create(parts[0], directory, OWNER_FILE_MODE)
        try:
            if os.fstat(descriptor).st_mode & 0o777 != OWNER_FILE_MODE:
                syscalls.chmod(descriptor, OWNER_FILE_MODE, parts[0])
            syscalls.write(descriptor, data, parts[0])
            syscalls.fsync(descriptor, parts[0])
        finally:
            os.close(descriptor)
    for name, rest in inside.items():
        make_private_directory(directory, name)
        with opened(directory, name) as inner:
            fill(inner, rest)
    syscalls.fsync(directory)


def remove_tree(directory: int, name: str) -> None:
    """Remove a directory of ours and all that is in it; links are removed, not followed."""
    with opened(directory, name) as inner:
        for item in tuple(items(inner)):
            if item.is_directory:
                remove_tree(inner, item.name)
            else:
                syscalls.unlink(item.name, inner)
    syscalls.rmdir(name, directory)


def remove_leftovers(directory: int) -> None:
    """Remove what a stopped process left half made. Only under the lock that excludes other writers."""
    for item in tuple(items(directory)):
        if item.name.startswith(TEMPORARY_PREFIX):
            if item.is_directory:
                remove_tree(directory, item.name)
            else:
                syscalls.unlink(item.name, directory)
