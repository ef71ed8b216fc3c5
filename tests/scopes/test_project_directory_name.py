"""SPEC §2: the name of a project's directory."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.scopes.project_name import directory_name


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("github.com/owner/repo", "github.com__owner__repo"),
        ("gitlab.com/a/b/c/repo", "gitlab.com__a__b__c__repo"),
        ("/home/me/workspace/scratch", "home__me__workspace__scratch"),
        ("/home/me/with:colon", "home__me__with_3acolon"),
        ('/a/<>:"|?*/b', "a___3c_3e_3a_22_7c_3f_2a__b"),
        ("/a/tab\there\nline\x7f\x85", "a__tab_09here_0aline_7f_85"),
        ("/home/a__b", "home__a__b"),
        ("/home/a/b", "home__a__b"),
        ("host/a\\b", "host__a\\b"),
        ("host/a/../b/./c//d", "host__a__b__c__d"),
        ("[2001:db8::1]/o/r", "[2001_3adb8_3a_3a1]__o__r"),
        ("/", "root"),
        ("", "root"),
        ("/../.", "root"),
        ("/home/项目/笔记", "home__项目__笔记"),
        ("/home/a b/ c", "home__a b__ c"),
    ],
)
def test_names(key, name):
    assert directory_name(key) == name


def test_120_bytes_are_kept_and_121_are_cut():
    fits = "host/" + "a" * 114
    assert directory_name(fits) == "host__" + "a" * 114
    assert len(directory_name(fits)) == 120
    over = fits + "a"
    digest = hashlib.sha256(over.encode()).hexdigest()[:8]
    assert directory_name(over) == "host__" + "a" * 94 + "__" + digest


def test_chinese_is_cut_at_a_code_point_by_bytes():
    key = "/家/" + "记" * 60
    name = directory_name(key)
    digest = hashlib.sha256(key.encode()).hexdigest()[:8]
    # 家 is 3 bytes, __ 2: 95 bytes are left, which hold 31 characters of 3 bytes.
    assert name == "家__" + "记" * 31 + "__" + digest
    assert len(name.encode()) <= 110


def test_cut_names_of_different_keys_differ():
    assert directory_name("/x/" + "记" * 60) != directory_name("/x/" + "记" * 61)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec=None), max_size=200))
def test_every_key_gives_one_safe_component(key):
    name = directory_name(key)
    assert name not in ("", ".", "..") and "/" not in name and "\0" not in name
    assert len(name.encode()) <= 120
    assert name == directory_name(key)
