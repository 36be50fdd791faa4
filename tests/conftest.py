"""The order of the tests, and which of them are slow.

Those that take longest begin first, so that none is waited for alone (xdist keeps this order with
``--no-loadscope-reorder`` only; else files of many tests come first, however short they are).
`make check` leaves them out.
"""

from __future__ import annotations

import pytest

SLOW = (
    "test_demo.py",
    "test_bench_hostile.py",
    "test_signals.py",
    "test_hostile.py",
    "test_shared_queue.py",
    "test_fleet.py",
    "test_endurance.py",
    "test_cluster.py",
    "test_batch.py",
    "test_cli.py",
    "test_crawl.py",
    "test_learn.py",
    "test_bad_input.py",
    "test_on_demand.py",
    "test_render_failures.py",
    "test_honest_ends.py",
    "test_items.py",
    "test_store_torture.py",
    "test_project.py",
    "test_render.py",
    "test_crawl_sites.py",
    "test_pool.py",
    "test_store_concurrency.py",
    "test_store_clusters.py",
    "test_store_poison.py",
    "test_imports.py",
    "test_keeper.py",
    "test_capture.py",
    "test_store_resign.py",
    "test_store_templates.py",
    "test_cli_output.py",
    "test_revision.py",
    "test_revisit.py",
    "test_viewer.py",
    "test_store_texts.py",
    "test_report.py",
)
"""Files by the time they take: they crawl, render, kill, train, or write very much."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow files first; within a file the order stays."""
    rank = {name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: rank.get(item.path.name, len(SLOW)))
    for item in items:
        if item.path.name in rank or item.get_closest_marker("browser") is not None:
            item.add_marker("slow")
