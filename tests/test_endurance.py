"""Crawls that run all night: responsive, lean, and safe to kill."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from pathlib import Path

from tests.crawling import crawl, start_crawl
from tests.site import Site
from tests.texts import page, prose
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.queries import open_for_reading


def article(number: int) -> str:
    """Return a page of about 60 kB, as large as the median page of the web's HTML."""
    items = "".join(f'<li><a href="/{other}">{prose(other, 8)}</a></li>' for other in range(300))
    body = "".join(f"<p>{prose(1000 * number + part, 60)}</p>" for part in range(40))
    return page(prose(number), f"Article {number}", links=f"{body}<ul>{items}</ul>")


def test_the_event_loop_stays_responsive_while_workers_analyse() -> None:
    routes = {f"/{number}": article(number) for number in range(200)}
    settings = {
        "WEBSEGMENT_RENDER": "never",
        "EXTENSIONS": {"websegment_scrapy.bench.loop_lag.LoopLag": 0},
    }
    lags = []
    with Site(routes) as site:
        while not lags or (lags[-1] >= 0.05 and len(lags) < 3):  # other tests run beside it
            done = crawl([site.url(path) for path in routes], settings)
            assert done.status == 0, done.log
            assert len(done.items) == 200
            assert done.stats["bench/lag_samples"] > 100
            lags.append(done.stats["bench/lag_p99"])
    assert min(lags) < 0.05


def test_memory_does_not_grow_with_the_crawl() -> None:
    routes = {f"/{number}": page(prose(number, 400), f"Page {number}") for number in range(2000)}
    settings = {
        "WEBSEGMENT_RENDER": "never",
        "EXTENSIONS": {"tests.monitors.Memory": 0},
        "LOG_LEVEL": "WARNING",
    }
    with Site(routes) as site:
        done = crawl([site.url(path) for path in routes], settings, timeout=300)
    assert done.status == 0, done.log
    assert done.stats["websegment/decision/new"] == 2000
    assert done.stats["test/memory_last"] <= 1.2 * done.stats["test/memory_first"]


def test_a_crawl_killed_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    routes = {f"/{number}": page(prose(number % 150)) for number in range(200)}
    database = f"sqlite:///{tmp_path / 'pages.db'}"
    settings = {
        "WEBSEGMENT_RENDER": "never",
        "WEBSEGMENT_DATABASE": database,
        "CONCURRENT_REQUESTS": 4,
    }
    items = tmp_path / "items.jsonl"
    chance = random.Random(4)
    with Site(routes) as site:
        urls = [site.url(path) for path in routes]
        for _ in range(20):
            chance.shuffle(urls)
            before = items.stat().st_size if items.exists() else 0
            process = start_crawl(urls, settings, tmp_path)
            deadline = time.monotonic() + 60
            while (items.stat().st_size if items.exists() else 0) == before:
                assert process.poll() is None, (tmp_path / "log.txt").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(chance.random())
            process.kill()
            process.wait()
            assert_nothing_is_lost(tmp_path, database)
        assert start_crawl(urls, settings, tmp_path).wait(120) == 0
    assert_nothing_is_lost(tmp_path, database)
    with sqlite3.connect(tmp_path / "pages.db") as connection:
        decisions = dict(
            connection.execute("SELECT decision, count(*) FROM pages GROUP BY decision").fetchall()
        )
    connection.close()
    assert decisions == {"new": 150, "duplicate": 50}


def assert_nothing_is_lost(folder: Path, database: str) -> None:
    """Check the database, and that every decision a finished item carried is in it."""
    opened = open_for_reading(database)
    assert integrity(opened) == []
    opened.close()
    finished = set()
    for line in (folder / "items.jsonl").read_text().splitlines():
        try:
            finished.add(json.loads(line)["url"])
        except ValueError:
            continue  # the line that the kill cut off
    with sqlite3.connect(folder / "pages.db") as connection:
        stored = [url for (url,) in connection.execute("SELECT url FROM pages")]
    connection.close()
    assert len(stored) == len(set(stored))
    assert finished <= set(stored)
