"""A crawl without a store that it can write says so, with its exit status, and spoils nothing."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import crawl, start_crawl
from tests.signals import PATIENT, articles
from tests.site import Site
from websegment_scrapy.bench.server import new_database, postgresql

NEVER = {"WEBSEGMENT_RENDER": "never"}
SPIDER = "tests.signals.LinkSpider"
IMPATIENT = {
    "websegment_scrapy.DedupPipeline": None,
    "tests.signals.ImpatientPipeline": 200,
    "tests.crawling.WriteItems": 900,
}


def settings_in(folder: Path, **others: Any) -> dict[str, Any]:
    return {
        **NEVER,
        "JOBDIR": str(folder / "job"),
        "WEBSEGMENT_DATABASE": f"sqlite:///{folder / 'pages.db'}",
        "WEBSEGMENT_WORKERS": 2,
        **PATIENT,
        **others,
    }


def read_only(file: Path) -> str:
    """Return the URL of a database that cannot be written, not even by root."""
    return f"sqlite:///file:{file}?mode=ro&uri=true"


@contextlib.contextmanager
def full_disk(file: Path) -> Iterator[None]:
    """Have SQLite refuse each page with the words that it has for a full disk."""
    with contextlib.closing(sqlite3.connect(file, timeout=30)) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON visits BEGIN"
            " SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
        database.commit()
        yield
        database.execute("DROP TRIGGER full")
        database.commit()


def errors_in(log: str) -> list[str]:
    return [line for line in log.splitlines() if "] ERROR: " in line]


@pytest.mark.parametrize("why", ["no folder", "read-only"])
def test_a_store_that_cannot_be_opened_ends_the_crawl_and_spares_its_feed(
    why: str, tmp_path: Path
) -> None:
    feed = tmp_path / "feed.json"
    feed.write_text('[{"kept": "from before"}]')
    with Site(articles(1)) as site:
        url = f"sqlite:///{tmp_path}/none/pages.db"
        if why == "read-only":
            assert crawl([site.url("/0")], NEVER, folder=tmp_path).status == 0
            url = read_only(tmp_path / "pages.db")
        site.hits.clear()
        done = crawl(
            [site.url("/")],
            {
                **NEVER,
                "WEBSEGMENT_DATABASE": url,
                "FEEDS": {str(feed): {"format": "json", "overwrite": True}},
            },
        )
        assert not site.hits
    assert done.status == 1
    (error,) = errors_in(done.log)
    assert "The crawl cannot start without its store: sqlite:///" in error
    remedy = (
        "create it first" if why == "no folder" else "the file and its directory may be written"
    )
    assert remedy in error
    assert "Traceback" not in done.log
    assert done.items == []
    assert feed.read_text() == '[{"kept": "from before"}]'


def test_scrapys_own_command_has_the_exit_status(tmp_path: Path) -> None:
    spider = tmp_path / "spider.py"
    spider.write_text(
        "import scrapy\n"
        "class Pages(scrapy.Spider):\n"
        "    name = 'pages'\n"
        "    start_urls = ['http://127.0.0.1:9/']\n"
        "    custom_settings = {'ADDONS': {'websegment_scrapy.Addon': 500},\n"
        "        'WEBSEGMENT_RENDER': 'never',\n"
        f"        'WEBSEGMENT_DATABASE': 'sqlite:///{tmp_path}/none/pages.db'}}\n"
    )
    feed = tmp_path / "feed.jsonl"
    feed.write_text('{"kept": "from before"}\n')
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "runspider", str(spider), "-O", str(feed)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "create it first" in done.stderr
    assert "Traceback" not in done.stderr
    assert feed.read_text() == '{"kept": "from before"}\n'


def test_a_disk_that_stays_full_stops_the_crawl_and_leaves_its_pages(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, ITEM_PIPELINES=IMPATIENT)
    feed = tmp_path / "feed.json"
    with Site(articles(20)) as site:
        site.routes |= dict.fromkeys(("/home", "/news", "/about", "/imprint"), "<p>Hi")
        assert crawl([site.url("/home")], settings | {"JOBDIR": None}, folder=tmp_path).status == 0
        with full_disk(tmp_path / "pages.db"):
            done = crawl(
                [site.url("/")],
                settings | {"FEEDS": {str(feed): {"format": "json"}}},
                folder=tmp_path,
                spider=SPIDER,
            )
        assert done.status == 1
        (error,) = errors_in(done.log)
        assert "The crawl is stopped: sqlite:///" in error
        assert "make room on the disk and try again" in done.stats["finish_reason"]
        assert done.stats["websegment/store_errors"] == 1
        assert done.stats["websegment/left"] >= 1
        assert "Traceback" not in done.log
        assert done.items == []
        assert json.loads(feed.read_text()) == []  # closed in good order
        resumed = crawl([site.url("/")], settings, folder=tmp_path, spider=SPIDER)
        assert resumed.status == 0, resumed.log
        assert {item["url"] for item in resumed.items} == {site.url(path) for path in site.routes}
    assert "failed" not in resumed.decisions().values()


def test_sigterm_ends_a_crawl_whose_disk_is_full(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, EXTENSIONS={"tests.signals.ShortGrace": 0})
    with Site(articles(20)) as site:
        assert crawl([site.url("/0")], settings | {"JOBDIR": None}, folder=tmp_path).status == 0
        with full_disk(tmp_path / "pages.db"):
            process = start_crawl([site.url("/")], settings, tmp_path, spider=SPIDER)
            while len(site.hits) < 5:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            process.wait(90)
        with contextlib.closing(sqlite3.connect(tmp_path / "pages.db")) as database:
            assert database.execute("SELECT count(*) FROM pages").fetchone() == (1,)


def test_a_store_that_is_gone_stops_the_crawl_at_once(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Site(articles(60)) as site:
        process = start_crawl([site.url("/")], settings, tmp_path, spider=SPIDER)
        while len(site.hits) < 10:
            assert process.poll() is None
            time.sleep(0.01)
        with contextlib.closing(sqlite3.connect(tmp_path / "pages.db", timeout=30)) as database:
            database.execute("DROP TABLE store_info")
            database.execute("ALTER TABLE visits RENAME TO elsewhere")
            database.commit()
        assert process.wait(60) == 1
    log = (tmp_path / "log.txt").read_text()
    (error,) = errors_in(log)
    assert "The crawl is stopped" in error


def test_a_postgresql_that_does_not_come_back_stops_the_crawl(tmp_path: Path) -> None:
    with postgresql() as server, Site(articles(60)) as site:
        settings = settings_in(
            tmp_path,
            ITEM_PIPELINES=IMPATIENT,
            WEBSEGMENT_DATABASE=new_database(server.get_uri(), "gone"),
        )
        process = start_crawl([site.url("/")], settings, tmp_path, spider=SPIDER)
        while len(site.hits) < 10:
            assert process.poll() is None
            time.sleep(0.01)
        server.cleanup()
        assert process.wait(90) == 1
    (error,) = errors_in((tmp_path / "log.txt").read_text())
    assert "The crawl is stopped: postgresql" in error
    assert "check that the server runs" in error
