"""What a page costs in a crawl: CPU over bare Scrapy, beside a pipeline of a user's own.

``python -m tests.cpu_per_page`` serves real pages of whole sites (``sites.tar.xz`` of
``WEBSEGMENT_DATA``) on loopback addresses, from a process of its own, and crawls them with

- ``bare``: Scrapy that yields an item for each page, and nothing else;
- ``rival``: the same with trafilatura and datasketch in ten lines of pipeline;
- ``ours``: the same with the add-on, rendering off and a new SQLite database;
- ``text``: that without segments (``WEBSEGMENT_MAIN_TEXT_ONLY``), which the rival has not either.

Each crawl is a process; its CPU time is user and system time of it and of all its children, from
the start of the interpreter to its end. The order of the crawls changes from round to round.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from websegment_scrapy.bench.serving import serving as served
from websegment_scrapy.bench.serving import write_pages
from websegment_scrapy.bench.ten_lines import Pages, PagesWithHtml, TrafilaturaAndDatasketch
from websegment_scrapy.measure.datasets import data_directory

__all__ = ["KINDS", "cpu_seconds", "main", "serving", "site_pages"]

KINDS = ("bare", "rival", "ours", "text")
PAGES, ROUNDS, SEED = 540, 5, 1
SETTINGS: dict[str, Any] = {"TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "CRITICAL"}


def site_pages(archive: Path, count: int, seed: int) -> dict[str, dict[str, bytes]]:
    """Return the pages of whole sites, ``count`` of them or a few less: of each site by path."""
    sites: dict[str, dict[str, bytes]] = {}
    with tarfile.open(archive, "r:xz") as tar:
        for member in tar:
            _, _, rest = member.name.partition("/")
            site, _, path = rest.partition("/")
            if member.isfile() and path.endswith(".html"):
                body = tar.extractfile(member)
                assert body is not None
                sites.setdefault(site, {})[f"/{path}"] = body.read()
    order = sorted(sites)
    random.Random(seed).shuffle(order)
    chosen: dict[str, dict[str, bytes]] = {}
    left = count
    for site in order:
        if len(sites[site]) <= left:
            chosen[site] = sites[site]
            left -= len(sites[site])
    return chosen


@contextmanager
def serving(sites: dict[str, dict[str, bytes]], folder: Path) -> Iterator[list[str]]:
    """Serve sites from another process; give the URLs of their pages."""
    with served(write_pages(sites, folder / "sites"), folder / "sites.json") as origins:
        yield [origins[site] + quote(path) for site, pages in sites.items() for path in pages]


def _crawl(kind: str, spec: Path) -> None:
    """Crawl; the body of the measured process."""
    from scrapy.crawler import AsyncCrawlerProcess

    urls = json.loads(spec.read_text())
    settings, spider = dict(SETTINGS), Pages
    if kind == "rival":
        settings["ITEM_PIPELINES"], spider = {TrafilaturaAndDatasketch: 100}, PagesWithHtml
    if kind in ("ours", "text"):
        settings |= {
            "WEBSEGMENT_MAIN_TEXT_ONLY": kind == "text",
            "ADDONS": {"websegment_scrapy.Addon": 500},
            "WEBSEGMENT_RENDER": "never",
            "WEBSEGMENT_DATABASE": f"sqlite:///{spec.with_suffix('.db')}",
        }
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(spider)
    process.crawl(crawler, urls=urls)
    process.start()
    assert crawler.stats is not None
    found = crawler.stats.get_value("item_scraped_count", 0)
    if found != len(urls):
        sys.exit(f"{kind}: {found} items for {len(urls)} pages")


def cpu_seconds(kind: str, urls: list[str]) -> float:
    """Crawl in a process and return the CPU time of it and all its children."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "urls.json"
        spec.write_text(json.dumps(urls))
        command = [sys.executable, "-m", "tests.cpu_per_page", "--crawl", kind, str(spec)]
        child = subprocess.Popen(command)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"the crawl {kind!r} ended with status {child.returncode}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, and print CPU milliseconds per page."""
    parser = argparse.ArgumentParser(prog="python -m tests.cpu_per_page", description=__doc__)
    parser.add_argument("--data", help="folder with sites.tar.xz (default: WEBSEGMENT_DATA)")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--crawl", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.crawl:
        return _crawl(arguments.crawl[0], Path(arguments.crawl[1]))
    if "rival" in arguments.kinds and find_spec("trafilatura") is None:
        sys.exit(
            "trafilatura is not installed: pip install -e '.[rivals]', or leave out --kinds rival"
        )
    sites = site_pages(data_directory(arguments.data) / "sites.tar.xz", arguments.pages, SEED)
    with tempfile.TemporaryDirectory() as folder, serving(sites, Path(folder)) as urls:
        random.Random(SEED).shuffle(urls)
        print(f"{len(urls)} pages of {len(sites)} sites, CPU ms per page and round", flush=True)
        found: dict[str, list[float]] = {kind: [] for kind in arguments.kinds}
        for number in range(arguments.rounds):
            kinds = list(arguments.kinds) if number % 2 == 0 else list(reversed(arguments.kinds))
            for kind in kinds:
                found[kind].append(1000 * cpu_seconds(kind, urls) / len(urls))
            print("  ".join(f"{kind} {found[kind][-1]:.1f}" for kind in found), flush=True)
    _report(found)
    return None


def _report(found: dict[str, list[float]]) -> None:
    over = {
        kind: [value - bare for value, bare in zip(values, found["bare"], strict=True)]
        for kind, values in found.items()
        if kind != "bare" and "bare" in found
    }
    for kind, values in over.items():
        print(f"{kind} over bare: {_spread(values)} ms")
    for kind in over.keys() & {"ours", "text"} if "rival" in over else ():
        ratios = [ours / rival for ours, rival in zip(over[kind], over["rival"], strict=True)]
        print(f"{kind} to rival: {_spread(ratios, 2)}")


def _spread(values: list[float], digits: int = 1) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


if __name__ == "__main__":
    main()
