"""Files swapped while they are read: never a byte of anything else, never a wait (SPEC §3, §24)."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files.boundary import RawFile, Root
from support.files import Child, fast_directory, never_hanging, users_root
from support.ordinary_user import as_ordinary_user

SECRET = b"SECRET of a file outside\n"
GOOD = b"the note itself\n" * 64
SWAPS = 4_000


@pytest.fixture
def store() -> Iterator[Path]:
    with fast_directory() as directory:
        (directory / "outside").mkdir()
        (directory / "outside" / "a.md").write_bytes(SECRET)
        place = directory / "store"
        (place / "d").mkdir(parents=True)
        (place / "d" / "a.md").write_bytes(GOOD)
        yield place


def _swap_with(make: Callable[[Path], object], store: Path) -> None:
    name, spare = store / "d" / "a.md", store / "spare"
    for _ in range(SWAPS):
        make(spare)
        os.rename(spare, name)
        spare.write_bytes(GOOD)
        os.rename(spare, name)


def _swap_directory(store: Path) -> None:
    for _ in range(SWAPS):
        os.rename(store / "d", store / "away")
        os.symlink("../outside", store / "d")
        os.unlink(store / "d")
        os.rename(store / "away", store / "d")


def _link(spare: Path) -> None:
    os.symlink("../../outside/a.md", spare)


def _swap_with_hard_link(store: Path) -> None:
    """The link is moved away before it is removed: while a link is replaced in place, the system itself counts it as a
    file of one name for a moment.
    """
    name, good, spare = store / "d" / "a.md", store / "good", store / "spare"
    for _ in range(SWAPS):
        os.link(store.parent / "outside" / "a.md", spare)
        os.rename(name, good)
        os.rename(spare, name)
        os.rename(name, spare)
        os.rename(good, name)
        os.unlink(spare)


SWAPPERS: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "symlink": (lambda store: _swap_with(_link, store), {"symlink"}),
    "hard link": (_swap_with_hard_link, {"hard_link"}),
    "fifo": (lambda store: _swap_with(os.mkfifo, store), {"fifo"}),
    "directory": (_swap_directory, {"symlink", "not_a_directory"}),
}


class _EndsWithAFile(Child):
    """A child whose end can be seen by a process that is not its parent."""

    def __init__(self, act: Callable[[], object], end: Path) -> None:
        self._end = end
        super().__init__(lambda: (act(), end.touch()))

    def ended(self) -> bool:
        return self._end.exists()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.wait()


def _read_while(swapper: Child, root: Root) -> tuple[list[bytes], set[str]]:
    read: list[bytes] = []
    refused: set[str] = set()
    while not swapper.ended():
        try:
            read.append(root.read(("d", "a.md")).data)
        except UnsafeFile as error:
            refused.add(error.reason)
        except NotFound:
            refused.add("not_found")
        for found in root.walk().files:
            assert stat.S_ISREG(found.stamp.mode)
    return read, refused


@pytest.mark.parametrize("kind", SWAPPERS)
def test_a_file_swapped_thousands_of_times_is_never_read_through(kind: str, store: Path) -> None:
    swap, reasons = SWAPPERS[kind]
    root = users_root(store)
    with never_hanging():
        swapper = Child(lambda: swap(store))
        try:
            read, refused = _read_while(swapper, root)
        finally:
            swapper.kill()
    assert swapper.wait() == 0
    assert set(read) == {GOOD}
    # It was a race: both sides of it were met.
    assert refused & reasons, refused
    assert refused <= reasons | {"changed_during_read", "not_found"}


@pytest.mark.parametrize("back", [True, False], ids=["and back", "for good"])
@pytest.mark.parametrize("swap", ["symlink", "hard link", "fifo"])
def test_a_swap_right_between_the_look_and_the_open_opens_nothing_else(
    swap: str, back: bool, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, good, target = store / "d" / "a.md", store / "good", store.parent / "outside" / "a.md"
    really_open = os.open
    opened: list[int] = []

    def open_swapped(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path != "a.md":
            return really_open(path, flags, mode, dir_fd=dir_fd)
        os.rename(name, good)
        match swap:
            case "symlink":
                os.symlink("../../outside/a.md", name)
            case "hard link":
                os.link(target, name)
            case _:
                os.mkfifo(name)
        try:
            descriptor = really_open(path, flags, mode, dir_fd=dir_fd)
            opened.append(os.fstat(descriptor).st_ino)
            return descriptor
        finally:
            if back:
                os.unlink(name)
                os.rename(good, name)

    root = users_root(store)
    monkeypatch.setattr(os, "open", open_swapped)
    with never_hanging(), pytest.raises(UnsafeFile) as refused:
        root.read(("d", "a.md"))
    monkeypatch.undo()
    assert refused.value.reason in ("changed_during_read", swap.replace(" ", "_"))
    if swap == "symlink":
        assert opened == []
    if not back:
        os.rename(good, name)
    assert root.read(("d", "a.md")).data == GOOD


def test_the_target_of_a_link_is_not_even_opened(store: Path) -> None:
    """To an ordinary user the target is closed: if it were opened, that would be the reason given."""
    os.chmod(store.parent, 0o755)
    os.chmod(store.parent / "outside" / "a.md", 0o000)

    def read() -> list[list[str]]:
        read, refused = _read_while(swapper, users_root(store))
        return [sorted({data.decode() for data in read}), sorted(refused)]

    # The child of a child cannot be waited for here, so its end is a file.
    swapper = _EndsWithAFile(lambda: _swap_with(_link, store), store.parent / "swapped")
    with never_hanging():
        try:
            texts, refused = as_ordinary_user(read)
        finally:
            swapper.kill()
    assert texts == [GOOD.decode()]
    assert "symlink" in refused
    assert set(refused) <= {"symlink", "changed_during_read"}


def test_a_file_replaced_meanwhile_is_read_whole_as_one_or_the_other(store: Path) -> None:
    texts = (b"A" * 100_000, b"B" * 90_000)

    def replace() -> None:
        for number in range(600):
            (store / "spare").write_bytes(texts[number % 2])
            os.rename(store / "spare", store / "d" / "a.md")

    root = users_root(store)
    read: set[bytes] = set()
    with never_hanging():
        writer = Child(replace)
        try:
            while not writer.ended():
                try:
                    read.add(root.read(("d", "a.md")).data)
                except UnsafeFile as error:
                    assert error.reason == "changed_during_read"
        finally:
            writer.kill()
    assert read <= {GOOD, *texts}
    assert read & set(texts)


def test_a_file_that_keeps_changing_is_refused_and_read_again_when_it_rests(store: Path) -> None:
    path = store / "d" / "a.md"
    path.write_bytes(b"x" * 120_000)

    def change() -> None:
        descriptor = os.open(path, os.O_WRONLY)
        while True:
            for size in range(110_000, 120_000):
                os.ftruncate(descriptor, size)

    root = users_root(store)
    with never_hanging():
        writer = Child(change)
        try:
            reason = ""
            while not reason:
                try:
                    raw: RawFile = root.read(("d", "a.md"))
                except UnsafeFile as error:
                    reason = error.reason
                else:
                    assert len(raw.data) == raw.stamp.size
        finally:
            writer.kill()
    assert reason == "changed_during_read"
    assert len(root.read(("d", "a.md")).data) == path.stat().st_size


def test_a_file_that_grows_past_the_limit_meanwhile_never_gives_more(store: Path) -> None:
    path = store / "d" / "a.md"

    def change() -> None:
        descriptor = os.open(path, os.O_WRONLY)
        while True:
            os.ftruncate(descriptor, 10 << 30)
            os.ftruncate(descriptor, 1_000)

    root = users_root(store)
    refused: set[str] = set()
    with never_hanging():
        writer = Child(change)
        try:
            while not {"too_large"} <= refused:
                try:
                    assert len(root.read(("d", "a.md")).data) <= 1_024
                except UnsafeFile as error:
                    refused.add(error.reason)
        finally:
            writer.kill()
    assert refused <= {"too_large", "changed_during_read"}


def test_nobody_waiting_to_write_into_a_fifo_is_woken_by_a_read(store: Path) -> None:
    """Opening a FIFO lets its writer through, who is then killed by writing to nobody."""
    os.mkfifo(store / "f.md")

    def write() -> None:
        os.close(os.open(store / "f.md", os.O_WRONLY))

    root = users_root(store)
    with never_hanging():
        writer = Child(write)
        try:
            for _ in range(200):
                with pytest.raises(UnsafeFile):
                    root.read(("f.md",))
            assert not writer.ended()
        finally:
            writer.kill()
