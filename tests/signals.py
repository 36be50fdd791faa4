"""Crawls that are stopped by signals and resumed: what terminals and systemd do to them.

``python -m tests.signals --moments 30`` stops crawls at random moments, by SIGINT and SIGTERM, once
and twice, plain and rendered, and says what was lost, failed, doubled or left running.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import scrapy

from tests.crawling import start_crawl
from tests.site import Site
from tests.spiders import FollowSpider
from tests.texts import page, prose
from websegment_scrapy.crawl import ending, scheduler
from websegment_scrapy.crawl.dedup_pipeline import DedupPipeline
from websegment_scrapy.store import Store

__all__ = [
    "PATIENT",
    "ImpatientPipeline",
    "LinkSpider",
    "Moment",
    "ShortGrace",
    "ShortQueuePatience",
    "Stopped",
    "articles",
    "left_running",
    "stop_and_resume",
]

ENDS_WITHIN = 75.0  # the grace of a crawl and that of its browser, on a busy machine
BEGINS_WITHIN = 300.0
ALL_GONE_WITHIN = 15.0  # the keeper gives the browser a moment before it ends it
RESUMED_WITHIN = 600.0
PATIENT = {"WEBSEGMENT_PAGE_TIMEOUT": 600, "WEBSEGMENT_RENDER_TIMEOUT": 600}  # busy machines
ARTICLES = {False: 40, True: 12}  # rendered or not


class LinkSpider(FollowSpider):
    """Follows every link; what it has started with is not done again when it resumes."""

    name = "links"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.Request(url, meta=dict(self.meta))


class ShortGrace:
    """Scrapy extension: what is under way has two seconds, not half a minute."""

    @classmethod
    def from_crawler(cls, _crawler: Any) -> ShortGrace:
        ending.GRACE_SECONDS = 2.0
        return cls()


class ShortQueuePatience:
    """Scrapy extension: Redis may be gone for two seconds, not for a minute."""

    @classmethod
    def from_crawler(cls, _crawler: Any) -> ShortQueuePatience:
        scheduler.PATIENCE = 2.0
        return cls()


class ImpatientPipeline(DedupPipeline):
    """Gives its store up after two seconds, not after a minute."""

    def _open(self) -> Store:
        store = super()._open()
        store.patience = 2.0
        return store


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When and how a crawl is stopped.

    After ``pages`` pages were asked for and ``delay`` seconds passed; ``again`` seconds later once
    more; the process group, as by a terminal, or ``everybody``, as by systemd.
    """

    number: signal.Signals = signal.SIGINT
    pages: int = 1
    delay: float = 0.0
    again: float | None = None
    everybody: bool = False
    rendered: bool = False

    def __str__(self) -> str:
        how = "rendered" if self.rendered else "plain"
        whom = "all" if self.everybody else "group"
        twice = "" if self.again is None else f", again after {self.again:.2f} s"
        when = f"at page {self.pages} and {self.delay:.2f} s"
        return f"{how}, {self.number.name} to {whom} {when}{twice}"


@dataclass
class Stopped:
    """What came of a crawl that was stopped and resumed."""

    seconds: float = 0.0
    stored: int = 0
    left: int = 0
    problems: list[str] = field(default_factory=list)


def articles(number: int) -> dict[str, str]:
    """Return a small site: a page with links to so many articles."""
    links = "".join(f'<a href="/{each}">{prose(each, 6)}</a> ' for each in range(number))
    body = {f"/{each}": page(_body(each), f"Article {each}") for each in range(number)}
    return {"/": page(prose(9999), "Home", links=links), **body}


def stop_and_resume(moment: Moment, folder: Path, number: int) -> Stopped:
    """Crawl a site of so many articles, stop it, resume it, and look at what is there."""
    found = Stopped()
    settings = {
        "JOBDIR": str(folder / "job"),
        "WEBSEGMENT_DATABASE": f"sqlite:///{folder / 'pages.db'}",
        "WEBSEGMENT_RENDER": "always" if moment.rendered else "never",
        "WEBSEGMENT_WORKERS": 2,
        **PATIENT,
    }
    with Site(articles(number)) as site:
        site.routes |= {f"/{name}": page(prose(1)) for name in ("home", "news", "about", "imprint")}

        def start() -> subprocess.Popen[bytes]:
            return start_crawl(
                [site.url("/")], settings, folder, spider="tests.signals.LinkSpider", own_group=True
            )

        _stop(start(), site, moment, found)
        found.stored = _stored(folder)
        stats = folder / "stats.json"
        if stats.exists():
            found.left = json.loads(stats.read_text()).get("websegment/left", 0)
        resumed = start()
        try:
            status = resumed.wait(RESUMED_WITHIN)
        except subprocess.TimeoutExpired:
            resumed.kill()
            status = resumed.wait()
        if status:
            found.problems.append(f"the resumed crawl ended with status {status}")
        _look(folder, {site.url(path) for path in site.routes}, moment, found)
    return found


def left_running(known: set[psutil.Process]) -> list[str]:
    """Wait until processes are gone; return those that stay."""
    deadline = time.monotonic() + ALL_GONE_WITHIN
    while True:
        alive = [each for each in known if each.is_running() and _state(each) != "zombie"]
        if not alive or time.monotonic() > deadline:
            return [f"{each.pid} {' '.join(_command(each))[:80]}" for each in alive]
        time.sleep(0.05)


def _body(number: int) -> str:
    return "</p><p>".join(prose(100 * number + part, 60) for part in range(30))


def _stop(process: subprocess.Popen[bytes], site: Site, moment: Moment, found: Stopped) -> None:
    """Send the signals; wait for the end and for all processes to be gone."""
    deadline = time.monotonic() + BEGINS_WITHIN
    while sum(site.hits.values()) < moment.pages and process.poll() is None:
        if time.monotonic() > deadline:
            found.problems.append("the crawl did not begin")
            break
        time.sleep(0.01)
    time.sleep(moment.delay)
    main = psutil.Process(process.pid)
    known = _family(main)
    started = time.monotonic()
    _send(moment, main)
    if moment.again is not None:
        time.sleep(moment.again)
        known |= _family(main)
        _send(moment, main)
    while process.poll() is None and time.monotonic() < started + ENDS_WITHIN:
        known |= _family(main)
        time.sleep(0.05)
    found.seconds = time.monotonic() - started
    if process.poll() is None:
        found.problems.append(f"the crawl did not end within {ENDS_WITHIN:g} s")
        process.kill()
    process.wait()
    found.problems += [f"left running: {each}" for each in left_running(known)]
    for folder in Path(tempfile.gettempdir()).glob(f"websegment-{process.pid}-*"):
        found.problems.append(f"left behind: {folder}")


def _send(moment: Moment, main: psutil.Process) -> None:
    try:
        if not moment.everybody:
            os.killpg(main.pid, moment.number)
            return
        for each in [main, *main.children(recursive=True)]:
            each.send_signal(moment.number)
    except (ProcessLookupError, psutil.NoSuchProcess):
        return


def _family(main: psutil.Process) -> set[psutil.Process]:
    try:
        return set(main.children(recursive=True))
    except psutil.NoSuchProcess:
        return set()


def _state(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return "zombie"


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _stored(folder: Path) -> int:
    file = folder / "pages.db"
    if not file.exists():
        return 0
    connection = sqlite3.connect(file)
    try:
        return int(connection.execute("SELECT count(*) FROM pages").fetchone()[0])
    except sqlite3.OperationalError:  # stopped before there was a table
        return 0
    finally:
        connection.close()


def _look(folder: Path, urls: set[str], moment: Moment, found: Stopped) -> None:
    """Note what is missing, failed or doubled."""
    connection = sqlite3.connect(folder / "pages.db")
    rows = connection.execute(
        "SELECT url, decision, render_error, (SELECT count(*) FROM visits WHERE page_id = pages.id)"
        " FROM pages"
    ).fetchall()
    connection.close()
    stored = {url for url, *_ in rows}
    found.problems += [f"not decided: {url}" for url in sorted(urls - stored)]
    for url, decision, error, visits in rows:
        if decision == "failed":
            found.problems.append(f"failed: {url}")
        if visits != 1:
            found.problems.append(f"{visits} visits: {url}")
        if moment.rendered and error:
            found.problems.append(f"not rendered: {url}: {error}")
    items: Counter[str] = Counter()
    for line in (folder / "items.jsonl").read_text().splitlines():
        items[json.loads(line)["url"]] += 1
    found.problems += [f"{items[url]} items: {url}" for url in sorted(urls) if items[url] != 1]


def _random_moment(chance: random.Random, number: int) -> Moment:
    """Draw a moment from the crawl's beginning to its end, however fast the machine is."""
    rendered = number % 2 == 1
    return Moment(
        number=(signal.SIGINT, signal.SIGTERM)[number // 2 % 2],
        pages=chance.randint(1, ARTICLES[rendered]),
        delay=chance.uniform(0, 1),
        again=chance.uniform(0, 1.5) if number // 4 % 2 else None,
        everybody=number // 8 % 2 == 1,
        rendered=rendered,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=30, help="how many (default: 30)")
    parser.add_argument("--seed", type=int, default=12)
    args = parser.parse_args()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # in a script's background it is ignored
    chance = random.Random(args.seed)
    bad = 0
    for number in range(args.moments):
        moment = _random_moment(chance, number)
        with tempfile.TemporaryDirectory() as folder:
            found = stop_and_resume(moment, Path(folder), ARTICLES[moment.rendered])
            if found.problems:
                bad += 1
                kept = Path(tempfile.gettempdir()) / f"signals-{args.seed}-{number}.txt"
                kept.write_text((Path(folder) / "log.txt").read_text())
        outcome = "; ".join(found.problems) or "well"
        print(
            f"{number:3d} {moment}: ended after {found.seconds:.1f} s with {found.stored} stored, "
            f"{found.left} left: {outcome}",
            flush=True,
        )
    print(f"{args.moments} moments, {bad} with problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
