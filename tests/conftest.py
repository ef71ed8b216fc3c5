"""Fixtures every area uses."""

import pytest

from support import faults
from support.places import Place

FAULT_POINTS = "fault points"


@pytest.fixture
def place(tmp_path):
    """An empty machine: a home, a workspace and a project store, all below one temporary directory."""
    return Place(tmp_path)


@pytest.fixture(autouse=True)
def fault_points(record_property):
    """Keep how many kills and failures of a write each test tried."""
    before = len(faults.tried)
    yield
    if len(faults.tried) > before:
        record_property(FAULT_POINTS, len(faults.tried) - before)


def pytest_terminal_summary(terminalreporter):
    """Print their number, for a fault test that tries nothing passes too."""
    reports = [report for report in terminalreporter.getreports("") if report.when == "teardown"]
    points = [value for report in reports for name, value in report.user_properties if name == FAULT_POINTS]
    if points:
        terminalreporter.write_line(f"writes were killed or failed at {sum(points):,} points in {len(points)} tests")
