"""The order of the tests: those that take longest begin first, so that none is waited for alone."""

from __future__ import annotations

import pytest

LONGEST = (
    "test_demo.py",
    "test_bench_hostile.py",
    "test_endurance.py",
    "test_signals.py",
    "test_hostile.py",
    "test_render_failures.py",
    "test_bad_input.py",
    "test_render.py",
)
"""Files by the time they take, all of it spent on crawls and browsers."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; within a file the order stays."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(LONGEST)))
