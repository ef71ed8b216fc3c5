"""The names an integration imports are there, the same for type checkers and at run time (SPEC §1)."""

import ast
import inspect
from pathlib import Path

import pytest

import pony_memory


@pytest.mark.parametrize("name", pony_memory.__all__)
def test_each_public_name_can_be_imported_and_is_documented(name):
    value = getattr(pony_memory, name)
    assert value.__name__ == name
    assert inspect.getdoc(value)
    assert name in dir(pony_memory)


def test_type_checkers_see_the_same_names_from_the_same_modules():
    tree = ast.parse(Path(pony_memory.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.asname: f"{node.module}"
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {name: getattr(pony_memory, name).__module__ for name in pony_memory.__all__}
    assert set(pony_memory.__all__) == set(pony_memory._PUBLIC)


def test_an_unknown_name_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="no attribute 'Memories'"):
        _ = pony_memory.Memories
    with pytest.raises(ImportError):
        from pony_memory import Memories  # noqa: F401
