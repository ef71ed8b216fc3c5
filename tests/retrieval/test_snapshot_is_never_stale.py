"""The cache changes speed only, never a result (SPEC §6)."""

import os
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pony_memory.retrieval.cache import SnapshotCache
from pony_memory.retrieval.inventory import ScanLimits
from support.places import Place

NAMES = ["user/notes/a.md", "user/notes/b.md", "workspace/notes/a.md", "workspace/notes/d/c.md", "user/agent_notes.md"]
TEXTS = [
    "alpha one\n",
    "gamma one\n",
    "alpha two\n",
    "- 2026-01-01T00:00:00Z  alpha\n",
    "---\nsupersedes: [b]\n---\nalpha\n",
]
steps = st.tuples(
    st.sampled_from(["add", "edit_quietly", "remove", "replace", "rename", "chmod", "link", "look"]),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(TEXTS),
)


def file_of(place, path):
    scope, _, rest = path.partition("/")
    return place.scope_root(scope) / rest


def apply(place, step):
    action, name, other, text = step
    file = file_of(place, name)
    if action == "add":
        place.write(name, text)
    elif not os.path.lexists(file):
        return
    elif action == "edit_quietly":  # same size, same modification time
        status = file.lstat()
        data = bytearray(file.read_bytes()) if not file.is_symlink() else bytearray()
        if data:
            data[0] = data[0] ^ 1
            with file.open("r+b") as opened:
                opened.write(data)
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif action == "remove":
        file.unlink()
    elif action == "replace":
        temporary = file.with_name(".new")
        temporary.write_text(text)
        temporary.replace(file)
    elif action == "rename":
        target = file_of(place, other)
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)
    elif action == "chmod" and not file.is_symlink():
        file.chmod(0o600 if file.stat().st_mode & 0o077 else 0o644)
    elif action == "link":
        file.unlink()
        file.symlink_to("/etc/hostname")


def past_the_tick(file, before):
    """Touch ``file`` without a trace in its modification time until the clock that stamps changes has moved."""
    while os.path.lexists(file) and before is not None and file.lstat().st_ctime_ns == before:
        status = file.lstat()
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)


def view(snapshot):
    found = snapshot.search("alpha one two gamma", limit=20)
    return (
        {str(path): file.data for path, file in snapshot.files.items()},
        [(str(hit.path), round(hit.score, 9), hit.snippets) for hit in found.hits],
        [(item.path, item.reason) for item in snapshot.left_out],
        [(str(item.path), str(item.by)) for item in snapshot.tombstones.removed],
        snapshot.index.documents,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=1, max_size=14))
def test_any_sequence_of_changes_is_seen_at_once(sequence):
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        memory = place.memory()
        scopes = memory.scopes.available
        for step in sequence:
            apply(place, step)
            assert view(memory.snapshot()) == view(SnapshotCache().get(scopes)), step


def cache_at(place, file, milliseconds):
    """A cache whose clock stands so long after the file's last change."""
    return SnapshotCache(clock=lambda: file.stat().st_ctime_ns + milliseconds * 1_000_000)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=1, max_size=14))
def test_stamps_alone_tell_every_change_once_the_clock_has_moved(sequence):
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        scopes = place.memory().scopes.available
        # For a clock far ahead no change is recent: nothing is read again but for its stamp.
        cache = SnapshotCache(clock=lambda: time.time_ns() + 3_600 * 10**9)
        for step in sequence:
            files = [file_of(place, step[1]), file_of(place, step[2])]
            before = [file.lstat().st_ctime_ns if os.path.lexists(file) else None for file in files]
            apply(place, step)
            for file, ctime in zip(files, before, strict=True):
                past_the_tick(file, ctime)
            assert view(cache.get(scopes)) == view(SnapshotCache().get(scopes)), step


def test_an_unchanged_place_gives_the_same_snapshot(place):
    file = place.write("user/notes/a.md", "alpha")
    cache = cache_at(place, file, 21)
    scopes = place.memory().scopes.available
    assert cache.get(scopes) is cache.get(scopes)


def test_a_file_changed_within_20_ms_of_the_inventory_is_read_again(place):
    file = place.write("user/notes/a.md", "alpha")
    scopes = place.memory().scopes.available
    for milliseconds, again in ((0, True), (19, True), (21, False)):
        cache = cache_at(place, file, milliseconds)
        first, second = cache.get(scopes), cache.get(scopes)
        (path,) = first.files
        # A file that was not read again is the very same object in both snapshots.
        assert (first.files[path] is not second.files[path]) is again, milliseconds


def test_an_unsafe_inventory_is_not_kept(place):
    file = place.write("user/notes/a.md", "alpha")
    link = place.scope_root("user") / "notes" / "bad.md"
    link.symlink_to("a.md")
    cache = cache_at(place, file, 1_000)
    scopes = place.memory().scopes.available
    assert cache.get(scopes) is not cache.get(scopes)
    link.unlink()
    assert cache.get(scopes) is cache.get(scopes)


def test_only_what_changed_is_read_again(place):
    for number in range(10):
        place.write(f"user/notes/n{number}.md", f"alpha {number}")
    cache = SnapshotCache()
    scopes = place.memory().scopes.available
    before = cache.get(scopes)
    place.write("user/notes/n3.md", "gamma")
    after = cache.get(scopes)
    same = [path for path in before.files if after.files[path].parsed is before.files[path].parsed]
    assert len(same) == 9
    assert [str(hit.path) for hit in before.search("gamma").hits] == []
    assert [str(hit.path) for hit in after.search("gamma").hits] == ["user/notes/n3.md"]
    assert len(before.search("alpha", limit=20).hits) == 10


def test_past_the_limits_files_are_named_and_the_user_goes_first(place):
    for number in range(3):
        place.write(f"user/notes/u{number}.md", "text")
        place.write(f"workspace/notes/w{number}.md", "text")
        place.entry(f"e{number}")
    scopes = place.memory().scopes.available
    snapshot = SnapshotCache(ScanLimits(max_files=4)).get(scopes)
    assert [(item.path, item.reason) for item in snapshot.left_out] == [
        ("workspace/notes/w1.md", "over_file_limit"),
        ("workspace/notes/w2.md", "over_file_limit"),
    ]
    assert len(snapshot.entries) == 3
    snapshot = SnapshotCache(ScanLimits(max_bytes=9)).get(scopes)
    assert {item.reason for item in snapshot.left_out} == {"over_byte_limit"}
    assert "user/notes/u0.md" in {str(path) for path in snapshot.files}


def test_the_limits_of_the_contract_hold(place):
    for number in range(513):
        place.write(f"user/notes/n{number:04}.md", "x")
    assert [item.path for item in place.memory().snapshot().left_out] == ["user/notes/n0512.md"]
