"""Reading over real files: what a page holds, what is refused, and when a page is out of date (SPEC §2, §3, §8)."""

import hashlib
import os
import subprocess
import sys
import threading

import pytest

from pony_memory.errors import (
    BadContinuation,
    BadPath,
    Disabled,
    InvalidRequest,
    NotFound,
    OverLimit,
    SourceChanged,
    Unavailable,
    UnsafeFile,
)
from pony_memory.memory import Memory
from support.notes_places import PERSON

BLOCKS = (
    b"\xef\xbb\xbf- 2026-01-01T00:00:00Z  first\r\n"
    b"- 2026-01-02T00:00:00Z  second\r\n  goes on \xff\r\n\r\n"
    b"- 2026-01-03T00:00:00Z  third"
)


def whole(memory, path, **options):
    page = memory.read(path, **options)
    text = page.text
    while page.continuation is not None:
        page = memory.read(path, continuation=page.continuation)
        text += page.text
    return text


def sha(data):
    return hashlib.sha256(data).hexdigest()


def test_the_text_is_the_reading_view_and_the_hash_that_of_the_files_bytes(place):
    data = b"\xef\xbb\xbfone\r\ntwo\rthree\xff\n"
    place.write("user/notes/a.md", data)
    page = place.memory().read("user/notes/a.md")
    assert page.text == "one\ntwo\nthree\ufffd\n"
    assert (page.start, page.end, page.total_lines, page.sha256) == (1, 3, 3, sha(data))


def test_a_note_of_60_000_lines_is_read_whole_in_pages(place):
    text = "x\n" * 60_000 + "y" * 11_072
    place.write("user/notes/big.md", text)
    memory = place.memory()
    first = memory.read("user/notes/big.md")
    assert (first.start, first.end, first.total_lines) == (1, 2_000, 60_001)
    assert whole(memory, "user/notes/big.md") == text
    assert whole(memory, "user/notes/big.md", start=59_999) == "x\nx\n" + "y" * 11_072


def test_a_page_is_as_long_as_the_configuration_says(place):
    config = place.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"read": {"maxTokens": 3}, "defaults": {"model": "builtin/lexical"}}')
    place.write("user/notes/a.md", "aaaa\nbbbb\ncccc\n")
    page = place.memory().read("user/notes/a.md")
    assert page.text == "aaaa\nbbbb\n"
    assert page.continuation is not None


def test_tokens_are_counted_as_the_integration_counts_them(place):
    class Characters:
        def count(self, text):
            return len(text)

    place.write("user/notes/a.md", "deploy " * 2_000)
    memory = place.memory(counter=Characters())
    assert len(memory.read("user/notes/a.md").text) == 8_192
    (kept,) = memory.recall("deploy").recall.kept
    assert 1_000 < kept.tokens <= 1_024
    with pytest.raises(OverLimit):
        memory.agent_notes().save("x" * 1_025, "user", PERSON)
    memory.agent_notes().save("x" * 1_024, "user", PERSON)


def test_a_block_is_read_by_itself_with_the_hash_of_its_bytes(place):
    file = place.write("user/agent_notes.md", BLOCKS)
    memory = place.memory()
    page = memory.read("user/agent_notes.md#entry-2")
    assert page.text == "- 2026-01-02T00:00:00Z  second\n  goes on \ufffd"
    assert (page.path, page.start, page.end, page.total_lines) == ("user/agent_notes.md#entry-2", 1, 2, 2)
    assert page.sha256 == sha(b"- 2026-01-02T00:00:00Z  second\r\n  goes on \xff")
    assert memory.read("user/agent_notes.md#entry-3").sha256 == sha(b"- 2026-01-03T00:00:00Z  third")
    file.write_bytes(BLOCKS + b"\n- 2026-01-04T00:00:00Z  fourth\n")
    assert memory.read("user/agent_notes.md#entry-3").sha256 == sha(b"- 2026-01-03T00:00:00Z  third")
    with pytest.raises(NotFound, match="4 blocks"):
        memory.read("user/agent_notes.md#entry-5")


def test_a_page_of_a_block_goes_on_while_that_block_is_the_same(place):
    long = "- 2026-01-01T00:00:00Z  " + "a" * 60_000
    file = place.write("user/agent_notes.md", f"{long}\n")
    memory = place.memory()
    page = memory.read("user/agent_notes.md#entry-1")
    file.write_text(f"{long}\n- 2026-01-02T00:00:00Z  appended\n")
    assert page.text + memory.read(page.path, continuation=page.continuation).text in long
    file.write_text(f"- 2025-01-01T00:00:00Z  put before\n{long}\n")
    with pytest.raises(SourceChanged):
        memory.read(page.path, continuation=page.continuation)


@pytest.mark.parametrize("change", ["edit", "same size and time", "replace"])
def test_a_changed_file_is_refused_and_an_untouched_one_is_not(place, change):
    file = place.write("user/notes/a.md", "x\n" * 5_000)
    memory = place.memory()
    page = memory.read("user/notes/a.md")
    before = file.stat()
    memory.read("user/notes/a.md", continuation=page.continuation)
    if change == "edit":
        file.write_text("x\n" * 5_001)
    elif change == "same size and time":
        file.write_text("y\n" * 5_000)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        file.unlink()
        file.write_text("z")
    with pytest.raises(SourceChanged):
        memory.read("user/notes/a.md", continuation=page.continuation)
    file.unlink()
    with pytest.raises(NotFound):
        memory.read("user/notes/a.md", continuation=page.continuation)


def test_a_token_serves_only_the_path_it_was_given_for(place):
    for name in ("a", "b"):
        place.write(f"user/notes/{name}.md", "x\n" * 5_000)
    memory = place.memory()
    page = memory.read("user/notes/a.md")
    with pytest.raises(BadContinuation):
        memory.read("user/notes/b.md", continuation=page.continuation)
    with pytest.raises(BadPath):
        memory.read("../../etc/passwd", continuation=page.continuation)


@pytest.mark.parametrize(("start", "end"), [(0, None), (4, None), (2, 1)])
def test_lines_that_are_not_there_are_an_error(place, start, end):
    place.write("user/notes/a.md", "1\n2\n3\n")
    with pytest.raises(InvalidRequest):
        place.memory().read("user/notes/a.md", start, end)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/etc/passwd", BadPath),
        ("user/notes/../../x.md", BadPath),
        ("user/notes//a.md", BadPath),
        ("user/.ssh/id.md", BadPath),
        ("user/other/a.md", BadPath),
        ("elsewhere/notes/a.md", BadPath),
        ("user/notes/a\\b.md", BadPath),
        ("user/notes/a\n.md", BadPath),
        ("project/sub/a.md", BadPath),
        ("user/agent_notes.md#entry-0", BadPath),
        ("user/notes/none.md", NotFound),
        ("project/none.md", NotFound),
        ("user/notes/link.md", UnsafeFile),
    ],
)
def test_what_is_no_memory_is_refused_with_a_reason(place, path, error):
    place.write("user/notes/a.md", "x")
    (place.scope_root("user") / "notes" / "link.md").symlink_to("a.md")
    with pytest.raises(error) as refused:
        place.memory().read(path)
    assert str(refused.value).isprintable()


def test_the_index_is_readable_and_never_indexed(place):
    place.index("- [needle](needle.md) — d")
    memory = place.memory()
    assert "needle" in memory.read("project/MEMORY.md").text
    assert memory.search("needle").hits == ()


def test_a_scope_that_is_not_here_is_unavailable(place):
    place.extra = {"HOME": ""}
    memory = place.memory()
    for ask in (
        lambda: memory.read("user/notes/a.md"),
        lambda: memory.list_files("user"),
        lambda: memory.search("x", ["user"]),
        lambda: memory.review("user"),
    ):
        with pytest.raises(Unavailable):
            ask()


def test_entries_are_not_read_when_memory_is_disabled(place):
    config = place.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"enabled": false}')
    place.entry("one")
    place.write("user/notes/a.md", "x")
    memory = place.memory()
    assert memory.read("user/notes/a.md").text == "x"
    for ask in (
        lambda: memory.read("project/one.md"),
        memory.entries,
        lambda: memory.list_files("project"),
        lambda: memory.search("x", ["project"]),
    ):
        with pytest.raises(Disabled):
            ask()


def test_agent_notes_are_reviewed_block_by_block(place):
    place.write("user/agent_notes.md", BLOCKS)
    place.write("workspace/agent_notes.md", "- 2026-02-01T00:00:00+02:00 one space\n")
    found = place.memory().review()
    assert [(block.path, block.time, block.text) for block in found.blocks] == [
        ("user/agent_notes.md#entry-1", "2026-01-01T00:00:00Z", "first"),
        ("user/agent_notes.md#entry-2", "2026-01-02T00:00:00Z", "second\ngoes on \ufffd"),
        ("user/agent_notes.md#entry-3", "2026-01-03T00:00:00Z", "third"),
        ("workspace/agent_notes.md#entry-1", "2026-02-01T00:00:00+02:00", "one space"),
    ]
    assert found.bytes == len(BLOCKS) + 38
    assert [block.path for block in place.memory().review("workspace").blocks] == ["workspace/agent_notes.md#entry-1"]
    with pytest.raises(InvalidRequest):
        place.memory().review("project")


def test_a_home_that_is_the_workspace_is_one_scope(place):
    place.write("user/notes/a.md", "needle")
    memory = Memory.open(
        cwd=str(place.home), environ=place.environ, workspace=str(place.home), project_dir=str(place.project)
    )
    assert [row.path for row in memory.list_files()] == ["user/notes/a.md"]
    with pytest.raises(Unavailable, match="user scope"):
        memory.read("workspace/notes/a.md")


def test_a_working_directory_that_is_gone_is_told(place):
    gone = place.root / "gone"
    gone.mkdir()
    program = (
        "import os, sys\n"
        "os.rmdir(os.getcwd())\n"
        "from pony_memory.errors import NotFound\n"
        "from pony_memory.memory import Memory\n"
        "try: Memory.open()\n"
        "except NotFound as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=place.environ, cwd=gone, check=True
    )
    assert "working directory" in done.stdout


def test_several_threads_may_ask_at_once(place):
    for number in range(20):
        place.write(f"user/notes/{number}.md", f"needle {number}")
    notes = place.scope_root("user") / "notes"
    memory = place.memory()
    failures = []

    def ask(turn):
        try:
            for _ in range(10):
                if turn == 0:
                    place.write("user/notes/0.new", f"needle {os.urandom(4).hex()}").replace(notes / "0.md")
                else:
                    assert len(memory.search("needle", limit=20).hits) == 20
                    assert len(memory.list_files()) == 20
                    assert memory.status().entries == 0
                    assert memory.doctor().safe
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
