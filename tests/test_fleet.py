"""The example project's fleet: scrapy-redis, scrapyd, spidermon, Prometheus, with real servers.

The long form is ``python -m tests.fleet``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.fleet import (
    EXAMPLE,
    ROOT,
    Found,
    Servers,
    call,
    commands,
    environment,
    postgresql_settings,
    run_round,
    scrapyd,
    servers,
)

pytest_plugins = ["tests.test_store_support"]

GUIDE = (ROOT / "docs" / "guides" / "many-crawlers.md").read_text()
ARTICLES = 45


@pytest.fixture(scope="module")
def stands_on(
    postgresql_server: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("fleet"), postgresql_server.get_uri()) as started:
        yield started


@pytest.fixture(scope="module")
def crawled(stands_on: Servers) -> Found:
    """Two crawlers and a scrapyd job read a site, and one of them is killed on the way."""
    settings = {"CONCURRENT_REQUESTS": "3"}
    return run_round(
        stands_on,
        "crawled",
        articles=ARTICLES,
        seed=7,
        settings=settings,
        delay=0.5,
        spare_job=True,
    )


def test_every_page_once_no_pair_missed_and_nothing_lost(crawled: Found) -> None:
    assert crawled.problems == []
    assert crawled.pages == ARTICLES + 5
    assert crawled.pairs == ARTICLES // 3
    assert crawled.kills == 1
    assert crawled.recovered > 0
    assert crawled.again <= 16, "at most what the killed one had in hand is visited again"


def test_a_crawler_needs_two_connections(crawled: Found) -> None:
    assert crawled.connections <= 2 * 4, "three crawlers, and one that was killed"


def test_scrapyd_has_the_log_and_the_items(crawled: Found, stands_on: Servers) -> None:
    home = stands_on.folder / "scrapyd"
    logs = [path.read_text() for path in home.glob("logs/fleet/site/*.log")]
    assert any("Enabled item pipelines" in log for log in logs)
    items = [
        json.loads(line)
        for path in home.glob("items/fleet/site/*.jl")
        for line in path.read_text().splitlines()
    ]
    assert items
    assert all(item["websegment"]["decision"] for item in items)


def test_spidermon_reads_the_stats(crawled: Found, stands_on: Servers) -> None:
    log = (stands_on.folder / "crawled" / "log.txt").read_text()
    assert "[Spidermon] websegment/all pages were stored... OK" in log
    assert "4 monitors in" in log
    assert "... FAIL" not in log


def test_prometheus_reads_the_stats(crawled: Found, stands_on: Servers) -> None:
    pages: list[float] = []
    for path in (stands_on.folder / "crawled" / "metrics").glob("scrapy-*.prom"):
        families = text_string_to_metric_families(path.read_text())
        found = {sample.name: sample for family in families for sample in family.samples}
        if "websegment_pages" in found:  # the last one to start may have come too late
            assert found["websegment_pages"].labels == {"spider": "site", "pid": path.stem[7:]}
            assert {"websegment_decision_new", "scheduler_dequeued_redis"} <= set(found)
            pages.append(found["websegment_pages"].value)
    assert sum(pages) > 0


def test_the_projects_own_command_asks_its_store(crawled: Found, stands_on: Servers) -> None:
    with psycopg.connect(stands_on.postgresql_url) as connection:
        assert connection.execute("SELECT count(*) FROM crawled.pages").fetchone() == (50,)
    url = f"{stands_on.postgresql_url}&options=-csearch_path%3Dcrawled"
    asked = subprocess.run(
        [sys.executable, "-m", "scrapy", "websegment", "dedup", "summary"],
        cwd=EXAMPLE,
        env=environment({"DATABASE_URL": url}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    assert re.search(r"pages\W+50\b", asked.stdout), asked.stdout


@pytest.mark.parametrize(
    ("stats", "failing"),
    [
        ({"websegment/pages": 100, "websegment/failed": 5}, []),
        ({"websegment/pages": 100, "websegment/failed": 6}, ["few pages failed"]),
        ({"websegment/store_errors": 1}, ["all pages were stored"]),
        ({"websegment/queue/unreadable": 1}, ["all requests could be read"]),
        ({"websegment/render/unavailable": 1}, ["there was a browser"]),
    ],
    ids=str,
)
def test_the_monitors_tell_what_is_wrong(
    stats: dict[str, int], failing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    from fleet.monitors import PageMonitor
    from spidermon.data import Data

    told = []
    for name in (name for name in dir(PageMonitor) if name.startswith("test_")):
        monitor = PageMonitor(name)
        monitor.data = Data({"stats": stats})
        try:
            getattr(monitor, name)()
        except AssertionError:
            told.append(monitor.method_name)
    assert told == failing


def test_the_compose_file_says_what_the_guide_says() -> None:
    """And what is started above: its commands are run there as they are."""
    told = re.sub(r"\s*\\\n\s*", " ", GUIDE)
    for name in ("redis", "web", "crawler", "scrapyd"):
        assert " ".join(commands()[name]) in told, name
    for name, value in postgresql_settings().items():
        assert re.search(rf"(?m)^{name} = {value}\b", GUIDE), name


def test_the_compose_file_names_what_is_there() -> None:
    file = EXAMPLE / "fleet" / "compose.yaml"
    services = yaml.safe_load(file.read_text())["services"]
    assert set(services) == {"redis", "postgres", "web", "crawler", "scrapyd"}
    build = services["crawler"]["build"]
    root = (file.parent / build["context"]).resolve()
    dockerfile = root / build["dockerfile"]
    for copied in re.findall(r"(?m)^COPY (\S+)", dockerfile.read_text()):
        assert (root / copied).exists(), copied
    settings = (EXAMPLE / "fleet" / "settings.py").read_text()
    for service in ("crawler", "scrapyd"):
        for name in set(services[service]["environment"]) - {"SCRAPYD_BIND_ADDRESS"}:
            assert f'"{name}"' in settings, name


def test_in_the_folder_of_the_project_scrapyd_needs_no_egg(tmp_path: Path) -> None:
    """As in the container."""
    shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("results"))
    with scrapyd(tmp_path / "project") as address:
        assert call(f"{address}listprojects.json")["projects"] == ["default", "fleet"]
        assert call(f"{address}listspiders.json?project=fleet")["spiders"] == ["site"]


def test_postgresql_takes_the_settings_of_the_compose_file(postgresql_server: Any) -> None:
    with psycopg.connect(postgresql_server.get_uri()) as connection:
        known = {row[0] for row in connection.execute("SELECT name FROM pg_settings")}
    assert postgresql_settings().keys() <= known
