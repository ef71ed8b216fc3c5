"""File names of entries (SPEC §10): deterministic, portable, never the index, never another entry's."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.canonical import CanonicalPath
from pony_memory.entries.file_names import file_name_for, free_file_name


def hashed(name: str) -> str:
    return f"entry-{hashlib.sha256(name.encode()).hexdigest()[:8]}.md"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("SSH port on staging", "SSH-port-on-staging.md"),
        ("Test command", "Test-command.md"),
        ('a/b\\c:d*e?f"g<h>i|j', "a_b_c_d_e_f_g_h_i_j.md"),
        ("tab\there, nul\x00 and \x9f", "tab_here,-nul_-and-_.md"),
        ("  .. hidden ..  ", "hidden.md"),
        (".MEMORY.", "MEMORY.md"),
        ("a   b\u3000c", "a-b-c.md"),
        ("a_b (draft) [1]", "a_b-(draft)-[1].md"),
        ("数据库 连接池", "数据库-连接池.md"),
        ("v2.1", "v2.1.md"),
        ("x.md", "x.md.md"),
        ("...", hashed("...")),
        (" . ", hashed(" . ")),
    ],
)
def test_the_file_name_follows_from_the_name(name: str, file: str) -> None:
    assert file_name_for(name) == file


@pytest.mark.parametrize("char", ["库", "😀", "é", "e\u0301"])
def test_the_cut_of_100_bytes_is_at_a_code_point_border(char: str) -> None:
    size = len(char.encode())
    for lead in range(size):
        stem = file_name_for("x" * lead + char * 60).removesuffix(".md")
        assert 100 - 3 <= len(stem.encode()) <= 100
        assert stem == ("x" * lead + char * 60)[: len(stem)]


def test_100_bytes_are_kept_whole() -> None:
    assert file_name_for("a" * 100) == "a" * 100 + ".md"
    assert file_name_for("a" * 101) == "a" * 100 + ".md"


@pytest.mark.parametrize("name", ["MEMORY", ".MEMORY", "memory", "Memory.", " MEMORY ", "ＭＥＭＯＲＹ"])
def test_nothing_reaches_the_index(name: str) -> None:
    file = free_file_name(name, lambda _: False)
    assert unicodedata.normalize("NFKC", file).casefold() == "memory-2.md"


def test_only_a_collision_of_file_names_adds_a_number() -> None:
    taken: set[str] = set()
    for name in ("a/b", "a:b", "a_b", "a_b-2"):
        taken.add(free_file_name(name, taken.__contains__))
    assert taken == {"a_b.md", "a_b-2.md", "a_b-3.md", "a_b-2-2.md"}


def test_the_disk_is_asked_so_a_folding_file_system_hides_no_entry() -> None:
    def fold(file: str) -> str:
        return unicodedata.normalize("NFC", file).casefold()

    on_disk = {fold("Café.md"), fold("deploy.md")}
    assert free_file_name("Deploy", lambda file: fold(file) in on_disk) == "Deploy-2.md"
    assert free_file_name("cafe\u0301", lambda file: fold(file) in on_disk) == "cafe\u0301-2.md"


@settings(max_examples=300, deadline=None)
@given(st.text(min_size=1).filter(str.strip))
def test_every_name_has_a_file_name_that_has_a_canonical_path(name: str) -> None:
    file = file_name_for(name)
    assert CanonicalPath.of("project", (file,)).parts == (file,)
    assert len(file.encode()) <= 103
    assert file == file_name_for(name)
