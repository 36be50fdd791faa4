"""Short forms of ``websegment bench torture``, and the bench of small stores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.test_store_support import query
from websegment_scrapy.bench.fill import fill
from websegment_scrapy.bench.full_disk import disk_full, mount_namespace
from websegment_scrapy.bench.killed import killed_writers, server_restarts
from websegment_scrapy.bench.server import new_database, postgresql
from websegment_scrapy.bench.simultaneous import simultaneous
from websegment_scrapy.bench.synthetic import RECIPE, SyntheticPages
from websegment_scrapy.bench.torture import Outcome
from websegment_scrapy.cli.main import main
from websegment_scrapy.store import Store
from websegment_scrapy.store.integrity import integrity

pytest_plugins = ["tests.test_store_support"]


def whole(found: Outcome) -> bool:
    return (found.lost, found.doubled, found.same_clusters, found.problems) == (0, 0, True, ())


@pytest.mark.parametrize("naive", [False, True], ids=["store", "naive"])
def test_pairs_that_arrive_at_the_same_moment_are_only_missed_without_locks(
    database_url: str, naive: bool
) -> None:
    found = simultaneous(database_url, processes=4, pairs=80, rounds=1, naive=naive)
    assert (found.pairs, found.lost, found.doubled, found.problems) == (80, 0, 0, ())
    assert (found.missed > 0) is naive


def test_killed_writers_leave_the_clusters_of_an_undisturbed_run(
    database_url: str, tmp_path: Path
) -> None:
    calm = f"sqlite:///{tmp_path}/calm.db"
    found = killed_writers(database_url, calm, kills=3, pages=1200, processes=3)
    assert found.disturbances == 3
    assert whole(found)


def test_a_server_that_is_killed_in_mid_load_costs_nothing(tmp_path: Path) -> None:
    with postgresql() as server:
        url = new_database(server.get_uri(), "restarts")
        found = server_restarts(
            server, url, f"sqlite:///{tmp_path}/calm.db", restarts=2, pages=3000, processes=3,
            pause=0.3,
        )  # fmt: skip
    assert found.disturbances >= 1
    assert whole(found)


def test_a_full_disk_delays_then_fails_and_loses_nothing(tmp_path: Path) -> None:
    found = disk_full(f"sqlite:///{tmp_path}/calm.db", mount_namespace(), pages=2400)
    assert whole(found)


def test_a_full_database_delays_then_fails_and_loses_nothing(tmp_path: Path) -> None:
    """What stands in for the full disk where no file system can be mounted."""
    found = disk_full(f"sqlite:///{tmp_path}/calm.db", None, pages=2400)
    assert whole(found)


def test_a_filled_store_is_what_decisions_would_have_left(
    database_url: str, tmp_path: Path
) -> None:
    pages = SyntheticPages()
    fill(database_url, pages, 300, lambda _: None)
    columns = "id, url, host, decision, duplicate_of_id, cluster_id, words"
    with (
        Store.open(database_url, recipe=RECIPE) as filled,
        Store.open(f"sqlite:///{tmp_path}/decided.db", recipe=RECIPE) as decided,
    ):
        decided.decide_many(pages.records(0, 300))
        assert integrity(filled) == []
        wanted = f"SELECT {columns} FROM pages WHERE decision = 'new' ORDER BY id"
        assert query(filled, wanted) == query(decided, wanted)
        clusters = "SELECT id, cluster_id FROM pages ORDER BY id"
        assert query(filled, clusters) == query(decided, clusters)
        assert filled.decide_many(pages.records(300, 301))[0].page_id == 301


def test_the_bench_measures_every_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "bench store --sizes 300 --writers 1 --decisions 100 --format jsonl".split()
    assert main([*arguments, "--directory", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["store"], row["writers"]) for row in rows[:3]] == [
        ("sqlite", 1),
        ("postgresql", 1),
        ("datasketch in memory", 1),
    ]
    for row in rows:
        if row["store"].endswith("not installed") or "no redis-server" in row["store"]:
            continue
        assert row["decisions_per_second"] > 0
        assert (row["missed"], row["planted"] > 0) == (0, True)
    assert list(tmp_path.iterdir()) == []
