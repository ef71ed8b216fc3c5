"""Prints ratio, bound, aim and verdict for each line; the exit status is 1 when a bound does not hold."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import bm25s
import Stemmer

from bench.store import generate, write
from pony_memory.canonical import CanonicalPath
from pony_memory.files.boundary import RootSpec
from pony_memory.retrieval import tokens
from pony_memory.retrieval.cache import SnapshotCache
from pony_memory.retrieval.inventory import ScanLimits, take_inventory
from pony_memory.retrieval.search import search
from pony_memory.scopes.scopes import Scope

LIMITS = ScanLimits(max_files=10**6, max_bytes=10**10, max_names=10**7)
STEMMER = Stemmer.Stemmer("english")


@dataclass(frozen=True)
class Line:
    what: str
    ratio: float
    bound: float
    aim: float

    def __str__(self) -> str:
        verdict = "FAILS" if self.ratio > self.bound else "aim met" if self.ratio <= self.aim else "within bound"
        return f"{self.what:<58} {self.ratio:8.2f} × {self.bound:7.1f} × {self.aim:6.1f} ×  {verdict}"


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started
    finally:
        gc.enable()


def ratio(ours: Callable[[], object], peer: Callable[[], object], rounds: int = 9) -> float:
    """Medians of interleaved rounds, so that both see the same machine."""
    pairs = [(seconds(ours), seconds(peer)) for _ in range(rounds)]
    return statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)


def peer_tokens(texts: list[str]) -> object:
    """bm25s with stemming and stop words, CJK runs split into the same pairs beforehand."""
    return bm25s.tokenize([split_cjk(text) for text in texts], stopwords="en", stemmer=STEMMER, show_progress=False)


def split_cjk(text: str) -> str:
    if text.isascii():
        return text
    return tokens._PIECES.sub(
        lambda m: f" {' '.join(tokens._pairs(m.group()))} " if ord(m.group()[0]) > 0x2E7F else m.group(), text
    )


def peer_index(texts: list[str]) -> bm25s.BM25:
    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index(peer_tokens(texts), show_progress=False)
    return index


def main() -> int:
    made = generate()
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as directory:
        notes = Path(directory) / "memory" / "notes"
        write(made.texts, notes)
        files = sorted(notes.rglob("*.md"))
        scopes = (Scope("user", RootSpec(str(notes.parent), (), follow_trusted=True), str(notes.parent)),)
        wait_for_the_clock(scopes)
        cache = SnapshotCache(LIMITS)
        snapshot = cache.get(scopes)
        index = peer_index(made.texts)

        def peer_search() -> None:
            for query in made.queries:
                index.retrieve(peer_tokens([query]), k=6, show_progress=False)

        def ours(with_snippets: bool) -> Callable[[], None]:
            def work() -> None:
                for query in made.queries:
                    search(snapshot, query, limit=6, with_snippets=with_snippets)

            return work

        lines.append(Line("warm search, top 6, to bm25s retrieve", ratio(ours(False), peer_search), 3, 1))
        lines.append(Line("warm search with snippets, to bm25s retrieve", ratio(ours(True), peer_search), 15, 5))

        def cold() -> None:
            tokens._memo.clear()
            SnapshotCache(LIMITS).get(scopes)

        def peer_cold() -> None:
            peer_index([file.read_text(encoding="utf-8") for file in files])

        lines.append(Line("cold load and index, to read + bm25s tokenise + index", ratio(cold, peer_cold, 5), 1.5, 1))

        def scan() -> None:
            for folder in sorted(os.scandir(notes), key=lambda entry: entry.name):
                for entry in os.scandir(folder.path):
                    os.stat(entry.path)

        lines.append(
            Line(
                "unchanged inventory, to scandir + stat",
                ratio(lambda: take_inventory(scopes, LIMITS), scan, 31),
                3,
                1.5,
            )
        )
        lines.append(
            Line("one file of 512 changed, to one file cold (less inventory)", one_changed(cache, scopes, files), 20, 5)
        )
        lines.append(Line("process: search, to python -c pass", process(directory), 10, 6))
    print(f"{'':<58} {'ratio':>8}   {'bound':>7}   {'aim':>6}")
    for line in lines:
        print(line)
    growth()
    return 1 if any(line.ratio > line.bound for line in lines) else 0


def wait_for_the_clock(scopes: tuple[Scope, ...]) -> None:
    """Look until the files are older than the clock's grain, so that the cache may trust their stamps."""
    cache = SnapshotCache(LIMITS)
    last = cache.get(scopes)
    while (now := cache.get(scopes)) is not last:
        last = now


def one_changed(cache: SnapshotCache, scopes: tuple[Scope, ...], files: list[Path]) -> float:
    text = files[7].read_text(encoding="utf-8")
    cold = statistics.median(seconds(lambda: SnapshotCache(LIMITS).get(scopes)) for _ in range(3)) / len(files)
    inventory = statistics.median(seconds(lambda: take_inventory(scopes, LIMITS)) for _ in range(9))
    times = []
    for number in range(9):
        wait_for_the_clock(scopes)
        cache.get(scopes)
        files[7].write_text(f"{text}\nchanged {number}", encoding="utf-8")
        times.append(seconds(lambda: cache.get(scopes)))
    changed = cache.get(scopes).files[CanonicalPath("user", ("notes", *files[7].parts[-2:]))]
    assert b"changed 8" in changed.data
    return max(0.0, statistics.median(times) - inventory) / cold


def process(directory: str) -> float:
    program = os.path.join(os.path.dirname(sys.executable), "pony-memory")
    home = os.path.join(directory, "home")
    os.makedirs(os.path.join(home, ".pony"), exist_ok=True)
    if not os.path.lexists(os.path.join(home, ".pony", "memory")):
        os.symlink(os.path.join(directory, "memory"), os.path.join(home, ".pony", "memory"))
    environ = {**os.environ, "HOME": home, "XDG_CACHE_HOME": os.path.join(home, ".cache")}

    def run(*command: str) -> Callable[[], object]:
        return lambda: subprocess.run(command, env=environ, cwd=home, check=True, stdout=subprocess.DEVNULL)

    return ratio(run(program, "search", "bastonco ferkamo"), run(sys.executable, "-c", "pass"), 9)


def growth() -> None:
    """Load by bytes and search by postings touched, at growing sizes; per-unit figures should stay flat."""
    print(f"\n{'notes':>8} {'MiB':>7} {'load, µs a KiB':>15} {'search, ns a posting':>21}")
    for count in (512, 2_048):
        with tempfile.TemporaryDirectory() as directory:
            made = generate(count, count * 4_096)
            write(made.texts, Path(directory) / "notes")
            scopes = (Scope("user", RootSpec(directory, (), follow_trusted=True), directory),)
            size = sum(len(text.encode()) for text in made.texts)
            cache = SnapshotCache(LIMITS)
            load = seconds(lambda cache=cache, scopes=scopes: cache.get(scopes))
            snapshot = cache.get(scopes)
            terms = {term for query in made.queries for term in tokens.tokenise(query)}
            touched = sum(len(snapshot.index.postings(term)[0]) for term in terms)
            work = statistics.median(
                seconds(lambda s=snapshot, m=made: [search(s, q, limit=6, with_snippets=False) for q in m.queries])
                for _ in range(3)
            )
            print(f"{count:>8,} {size / 2**20:>7.1f} {load / size * 2**30:>15.1f} {work / touched * 1e9:>21.1f}")


if __name__ == "__main__":
    sys.exit(main())
