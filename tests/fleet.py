"""Two crawlers and a scrapyd job on one queue and one store, which are killed at random moments.

``python -m tests.fleet --rounds 5 --kills 6`` crawls sites with near-duplicates again and again,
kills crawlers by SIGKILL and starts others, and says which pages and pairs were lost. With
``--plain`` the queue is scrapy-redis's own.

The crawlers, scrapyd and the servers are started by the commands of the example project's
``fleet/compose.yaml``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
import yaml

from tests.redis_server import RedisServer
from tests.site import Route, Site
from tests.texts import page, prose
from websegment_scrapy.bench.server import new_database, postgresql
from websegment_scrapy.store.queries import open_for_reading, pairs

__all__ = [
    "EXAMPLE",
    "Fleet",
    "Found",
    "call",
    "commands",
    "postgresql_settings",
    "run_round",
    "scrapyd",
    "servers",
    "site_of",
]

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "example_project"
WITHIN = 240.0
LEASE = 4.0
MOSTLY = 0.8
PLAIN = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_IDLE_BEFORE_CLOSE": "5",
}


def commands() -> dict[str, list[str]]:
    """Return the command of each service of the compose file."""
    services = yaml.safe_load((EXAMPLE / "fleet" / "compose.yaml").read_text())["services"]
    return {name: shlex.split(service["command"]) for name, service in services.items()}


def postgresql_settings() -> dict[str, str]:
    """Return what the compose file gives to PostgreSQL."""
    return dict(each.split("=") for each in commands()["postgres"] if "=" in each)


def site_of(articles: int) -> dict[str, str]:
    """Return a site in which every third article is a near-duplicate of the one before it."""
    links = "".join(f'<a href="/{each}">Article {each}</a> ' for each in range(articles))
    body = {"/": page(prose(999_999, 300), "Home", links=links)}
    for each in range(articles):
        text = prose(each - 1 if is_copy(each) else each, 300)
        more = f'<a href="/{(each * 7 + 1) % articles}">Next</a>'
        addition = " It was printed again on Sunday." if is_copy(each) else ""
        body[f"/{each}"] = page(text + addition, f"Article {each}", links=more)
    return body


def is_copy(article: int) -> bool:
    return article % 3 == 1


@dataclass
class Found:
    """What came of a crawl."""

    pages: int = 0
    kills: int = 0
    again: int = 0
    pairs: int = 0
    seconds: float = 0.0
    connections: int = 0
    """Most at the same time, to the store."""
    recovered: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        outcome = "; ".join(self.problems[:3]) or "well"
        if len(self.problems) > 3:
            outcome += f"; and {len(self.problems) - 3} more"
        return (
            f"{self.pages} pages, {self.pairs} pairs, {self.kills} kills, {self.again} visits more,"
            f" {self.recovered} requests recovered, at most {self.connections} connections,"
            f" {self.seconds:.0f} s: {outcome}"
        )


@dataclass
class Servers:
    """What a fleet stands on: Redis, PostgreSQL, scrapyd."""

    redis: RedisServer
    postgresql_url: str
    scrapyd: str
    folder: Path


@contextmanager
def scrapyd(home: Path) -> Iterator[str]:
    """Start scrapyd in a folder, with the example's settings; give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = (EXAMPLE / "fleet" / "scrapyd.conf").read_text()
    (home / "scrapyd.conf").write_text(f"{settings}http_port = {port}\npoll_interval = 0.5\n")
    command = [str(Path(sys.executable).parent / commands()["scrapyd"][0])]
    with (home / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, env=environment(), stdout=log, stderr=log)
    try:
        _wait_for(f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def servers(folder: Path, postgresql_url: str) -> Iterator[Servers]:
    """Start Redis and scrapyd, and deploy the example project there."""
    project, home = folder / "project", folder / "scrapyd"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("results", "*.db*", ".scrapy"))
    (folder / "redis").mkdir()
    home.mkdir()
    redis_server = RedisServer(folder / "redis", commands()["redis"][1:])
    with redis_server as redis, scrapyd(home) as address:
        target = project / "scrapy.cfg"
        target.write_text(target.read_text().replace("http://127.0.0.1:6800/", address))
        deploy = [str(Path(sys.executable).parent / "scrapyd-deploy")]
        subprocess.run(deploy, cwd=project, env=environment(), check=True, capture_output=True)
        yield Servers(redis, postgresql_url, address, folder)


def environment(values: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "SCRAPY_PROJECT": "fleet", **(values or {})}


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            call(f"{address}daemonstatus.json")
        except OSError:
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.05)
        else:
            return


def call(address: str, **values: Any) -> dict[str, Any]:
    """Ask scrapyd, or tell it something."""
    data = urllib.parse.urlencode(values, doseq=True).encode() if values else None
    with urllib.request.urlopen(address, data, timeout=20) as answer:
        return dict(json.load(answer))


class Fleet:
    """Two crawlers and a scrapyd job on the same start, queue and store."""

    def __init__(self, stands_on: Servers, start: str, name: str, settings: dict[str, str]) -> None:
        self.on = stands_on
        self.start = start
        self.folder = stands_on.folder / name
        self.folder.mkdir()
        self.database = new_database(stands_on.postgresql_url, name)
        self.settings = {
            "WEBSEGMENT_RENDER": "never",
            "WEBSEGMENT_LEASE": str(LEASE),
            "WEBSEGMENT_DATABASE": self.database,
            "REDIS_URL": stands_on.redis.url,
            "SCHEDULER_QUEUE_KEY": f"{name}:requests",
            "SCHEDULER_DUPEFILTER_KEY": f"{name}:dupefilter",
            "WEBSEGMENT_SITE_TEMPLATES": "False",  # which changes what was decided, on purpose
            **settings,
        }
        self.crawlers: list[subprocess.Popen[bytes]] = []
        self.jobs: list[str] = []
        self.started = 0
        self.log = self.folder / "log.txt"

    def crawler(self) -> None:
        """Start a crawler by the command of the compose file."""
        command = [sys.executable, "-m", *commands()["crawler"][:-1], f"start={self.start}"]
        for name, value in self.settings.items():
            command += ["-s", f"{name}={value}"]
        self.started += 1
        items = self.folder / f"items-{self.started}.jsonl"
        with self.log.open("ab") as log:
            self.crawlers.append(
                subprocess.Popen(
                    [*command, "-o", str(items)],
                    cwd=EXAMPLE,
                    env=environment({"METRICS_FOLDER": str(self.folder / "metrics")}),
                    stdout=log,
                    stderr=log,
                )
            )

    def job(self) -> None:
        """Have scrapyd start one."""
        settings = [f"{name}={value}" for name, value in self.settings.items()]
        what = {"project": "fleet", "spider": "site", "start": self.start, "setting": settings}
        answer = call(f"{self.on.scrapyd}schedule.json", **what)
        assert answer["status"] == "ok", answer
        self.jobs.append(answer["jobid"])

    def processes(self) -> list[psutil.Process]:
        """Return those of the crawlers, and of the job, that run."""
        running = [psutil.Process(each.pid) for each in self.crawlers if each.poll() is None]
        listed = call(f"{self.on.scrapyd}listjobs.json?project=fleet")
        jobs = [each for each in listed["running"] if each["id"] in self.jobs]
        return running + [psutil.Process(each["pid"]) for each in jobs if each.get("pid")]

    def holding(self) -> set[int]:
        """Return the processes that hold requests."""
        with self.on.redis.client as client:
            hands = client.keys(f"{self.folder.name}:requests:hand:*")
        return {int(hand.decode().split(":")[-2]) for hand in hands}

    def under_way(self) -> bool:
        """Say whether any crawler works or a job is pending."""
        listed = call(f"{self.on.scrapyd}listjobs.json?project=fleet")
        ours = [each["id"] for state in ("pending", "running") for each in listed[state]]
        return bool(set(ours) & set(self.jobs)) or any(
            each.poll() is None for each in self.crawlers
        )

    def stored(self) -> int:
        """Return how many pages are stored."""
        with psycopg.connect(self.database) as connection:
            try:
                row = connection.execute("SELECT count(*) FROM pages").fetchone()
            except psycopg.errors.UndefinedTable:
                return 0
        return int(row[0]) if row else 0

    def end(self) -> None:
        """Kill what is left."""
        for process in self.processes():
            process.kill()
        for crawler in self.crawlers:
            crawler.wait()


def run_round(
    on: Servers,
    name: str,
    *,
    articles: int = 60,
    kills: int = 1,
    seed: int = 1,
    settings: dict[str, str] | None = None,
    delay: float = 0.0,
    spare_job: bool = False,
) -> Found:
    """Crawl a site with two crawlers and a job, kill some of them, and look at what is stored."""
    chance = random.Random(seed)
    found = Found()
    started = time.monotonic()
    with Site(site_of(articles)) as site:
        routes = {f"/{each}": page(prose(1, 5)) for each in ("home", "news", "about", "imprint")}
        site.routes |= routes
        if delay:
            site.routes = {
                path: Route(body=str(body), delay=delay) for path, body in site.routes.items()
            }
        fleet = Fleet(on, site.url("/"), name, settings or {})
        try:
            fleet.job()
            fleet.crawler()
            fleet.crawler()
            moments = sorted(chance.uniform(0.02, 0.9) * len(site.routes) for _ in range(kills))
            while fleet.under_way():
                if time.monotonic() - started > WITHIN:
                    found.problems.append(f"not done in {WITHIN:g} s")
                    break
                found.connections = max(found.connections, _connections(fleet))
                if moments and sum(site.hits.values()) >= moments[0]:
                    moments.pop(0)
                    time.sleep(chance.uniform(0, 0.5))
                    found.kills += _kill_one(fleet, chance, spare_job=spare_job)
                time.sleep(0.05)
        finally:
            fleet.end()
        _look(fleet, {site.url(path) for path in site.routes}, found)
    found.seconds = time.monotonic() - started
    return found


def _kill_one(fleet: Fleet, chance: random.Random, *, spare_job: bool) -> int:
    """Kill a crawler or the job's process, and start another in its place.

    Mostly one that holds requests: who holds none has nothing to lose.
    """
    from_here = {each.pid for each in fleet.crawlers}
    running = [each for each in fleet.processes() if each.pid in from_here or not spare_job]
    holding = [each for each in running if each.pid in fleet.holding()]
    if not running:
        return 0
    chosen = chance.choice(holding if holding and chance.random() < MOSTLY else running)
    try:
        chosen.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return 0
    if chosen.pid in from_here:
        fleet.crawler()
    else:
        fleet.job()
    return 1


def _connections(fleet: Fleet) -> int:
    with psycopg.connect(fleet.database) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            " AND pid <> pg_backend_pid()"
        ).fetchone()
    return int(row[0]) if row else 0


def _look(fleet: Fleet, urls: set[str], found: Found) -> None:
    """Note what is missing, failed, or no pair."""
    with psycopg.connect(fleet.database) as connection:
        rows = connection.execute(
            "SELECT url, decision, (SELECT count(*) FROM visits WHERE page_id = pages.id)"
            " FROM pages"
        ).fetchall()
    counts = Counter(url for url, *_ in rows)
    found.pages = len(rows)
    found.again = sum(visits - 1 for *_, visits in rows)
    found.problems += [f"lost: {url}" for url in sorted(urls - set(counts))]
    found.problems += [f"{number} times: {url}" for url, number in counts.items() if number > 1]
    found.problems += [f"failed: {url}" for url, decision, _ in rows if decision == "failed"]
    database = open_for_reading(fleet.database)
    met = {frozenset((row.url, row.duplicate_of)) for row in pairs(database)}
    database.close()
    found.pairs = len(met)
    begin = min(urls, key=len)
    articles = sum(url.rpartition("/")[2].isdigit() for url in urls)
    wanted = {
        frozenset((f"{begin}{each - 1}", f"{begin}{each}"))
        for each in range(articles)
        if is_copy(each)
    }
    found.problems += [f"missed: {' and '.join(sorted(pair))}" for pair in wanted - met]
    logs = (fleet.on.folder / "scrapyd" / "logs").rglob("*.log")
    for log in [fleet.log, *(each for each in logs if each.stem in fleet.jobs)]:
        for line in log.read_text().splitlines() if log.exists() else ():
            if "were taken back from a crawler" in line:
                found.recovered += int(line.partition("WARNING: ")[2].split()[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--articles", type=int, default=150, help="of a site (default: 150)")
    parser.add_argument("--kills", type=int, default=6, help="in each round (default: 6)")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--plain", action="store_true", help="scrapy-redis's own scheduler")
    args = parser.parse_args()
    bad = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        postgresql(settings=postgresql_settings()) as own,
        servers(Path(folder), own.get_uri()) as on,
    ):
        for number in range(args.rounds):
            found = run_round(
                on,
                f"round_{number}",
                articles=args.articles,
                kills=args.kills,
                seed=args.seed + number,
                settings=PLAIN if args.plain else None,
            )
            bad += bool(found.problems)
            print(f"{number:3d} {found}", flush=True)
            if found.problems:
                kept = Path(tempfile.gettempdir()) / f"fleet-{args.seed}-{number}"
                shutil.copytree(Path(folder) / f"round_{number}", kept, dirs_exist_ok=True)
    print(f"{args.rounds} rounds, {bad} with problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
