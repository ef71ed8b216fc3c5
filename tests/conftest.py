"""Fixtures every area uses."""

import pytest

from support.places import Place


@pytest.fixture
def place(tmp_path):
    """An empty machine: a home, a workspace and a project store, all below one temporary directory."""
    return Place(tmp_path)
