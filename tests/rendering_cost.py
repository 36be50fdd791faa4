"""What rendering costs beside another version of this package: wall and processor time.

``python -m tests.rendering_cost --before DIR`` serves pages of real sites (``sites.tar.xz`` of
``WEBSEGMENT_DATA``) on loopback addresses, from a process of its own, and crawls them with this
version and with the one in ``DIR`` (another checkout; it runs in this environment), in two
conditions:

- ``at-hand``: pages all of whose images, scripts and style sheets are served as well;
- ``as-they-come``: any pages, unchanged. What they load from elsewhere is not there: run it on a
  machine without the internet, or the figures are those of other people's servers.

The spider yields nothing, so that nothing is analysed: only rendering is measured. Each crawl is a
process, timed from the start of the interpreter to its end, and the versions alternate, so that
both have the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any
from urllib.parse import quote

import scrapy
from scrapy.http import Response

__all__ = ["CONDITIONS", "main"]

ROOT = Path(__file__).resolve().parent.parent
CONDITIONS = {"at-hand": 50, "as-they-come": 100}
ROUNDS, SEED = 5, 1
PER_SITE = 3
"""Pages of one site, so that no site's design decides the figure."""

FIGURES = ("wall", "own", "children")
_FOREIGN = re.compile(
    rb"""(?:src|srcset|poster|data-src)\s*=\s*["']?\s*(?:https?:)?//|"""
    rb"""<link[^>]*href\s*=\s*["']?\s*(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import""",
    re.IGNORECASE,
)


class Rendered(scrapy.Spider):
    """Counts the pages that came from the browser, and those that did not, by reason."""

    name = "rendered"

    def __init__(self, urls: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = urls
        self.came: Counter[str] = Counter()

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response: Response) -> None:
        error = (response.meta.get("websegment") or {}).get("render_error")
        self.came["rendered" if error is None else str(error)[:60]] += 1


def _crawl(spec: Path) -> None:
    """Crawl; the body of the measured process. Prints what it took."""
    from scrapy.crawler import AsyncCrawlerProcess

    from websegment_scrapy.config import Config

    urls = json.loads(spec.read_text())
    settings = {
        "ADDONS": {"websegment_scrapy.Addon": 500},
        "HTTPERROR_ALLOW_ALL": True,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "WEBSEGMENT_DATABASE": f"sqlite:///{spec.with_suffix('.db')}",
    }
    if hasattr(Config(), "private_hosts"):  # the first versions reached everything
        settings["WEBSEGMENT_PRIVATE_HOSTS"] = ["127.0.0.0/8"]
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Rendered)
    process.crawl(crawler, urls=urls)
    process.start()
    spider = crawler.spider
    assert isinstance(spider, Rendered)
    # the driver waits for the browser, and the crawl for the driver: all of them are counted
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    used = {
        "own": own.ru_utime + own.ru_stime,
        "children": children.ru_utime + children.ru_stime,
    }
    print(json.dumps([spider.came, used]))


def _measure(version: Path, urls: list[str]) -> tuple[dict[str, float], dict[str, int]]:
    """Crawl with a version; return seconds by figure, and how the pages came."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "urls.json"
        spec.write_text(json.dumps(urls))
        # -P: the folder of this file has modules named like those of the standard library
        command = [sys.executable, "-P", __file__, "--crawl", str(spec)]
        environment = {**os.environ, "PYTHONPATH": str(version)}
        started = monotonic()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=False
        )
        wall = monotonic() - started
    if done.returncode:
        sys.exit(f"the crawl with {version} failed:\n{done.stderr.decode()[-2000:]}")
    came, used = json.loads(done.stdout.splitlines()[-1])
    if sum(came.values()) != len(urls):
        sys.exit(f"{came} of {len(urls)} pages with {version}:\n{done.stderr.decode()[-2000:]}")
    return {"wall": wall, **used}, came


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass


def _serve(folder: Path) -> None:
    """Serve each folder on a loopback address of its own until standard input ends."""
    addresses = {}
    for number, home in enumerate(sorted(each for each in folder.iterdir() if each.is_dir())):
        host = f"127.0.0.{number + 2}"
        server = ThreadingHTTPServer((host, 0), partial(_Handler, directory=str(home)))
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        addresses[home.name] = f"http://{host}:{server.server_port}/"
    print(json.dumps(addresses), flush=True)
    sys.stdin.read()


@contextmanager
def _serving(folder: Path) -> Iterator[dict[str, str]]:
    command = [sys.executable, "-P", __file__, "--serve", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        addresses = json.loads(server.stdout.readline())
        try:
            yield addresses
        finally:
            server.stdin.close()


@contextmanager
def _pages(data: str | None, counts: dict[str, int], seed: int) -> Iterator[dict[str, list[str]]]:
    """Serve the sites; give the URLs of each condition."""
    from websegment_scrapy.measure.datasets import data_directory
    from websegment_scrapy.measure.sites import crawled_sites

    dice = random.Random(seed)
    with (
        crawled_sites(data_directory(data)) as sites,
        _serving(sites[0].folder.parent) as addresses,
    ):
        chosen: dict[str, list[str]] = {condition: [] for condition in counts}
        for condition, urls in chosen.items():
            for site in sites:
                known = 0
                for page in dice.sample(site.pages, len(site.pages)):
                    if condition == "at-hand" and _FOREIGN.search(page.path.read_bytes()):
                        continue
                    path = page.path.relative_to(site.folder).as_posix()
                    urls.append(addresses[site.name] + quote(path))
                    known += 1
                    if known == PER_SITE:
                        break
            dice.shuffle(urls)
            del urls[counts[condition] :]
        yield chosen


def main() -> None:
    """Measure, and print ratios with their spread."""
    parser = argparse.ArgumentParser(prog="python -m tests.rendering_cost", description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--data", help="folder with sites.tar.xz (default: WEBSEGMENT_DATA)")
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    parser.add_argument("--pages", type=int, help="of each condition (default: 50 and 100)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--crawl", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return _serve(arguments.serve)
    if arguments.crawl:
        return _crawl(arguments.crawl)
    if arguments.before is None or not (arguments.before / "websegment_scrapy").is_dir():
        parser.error(f"--before {arguments.before}: not a checkout; git worktree add makes one")
    counts = {each: arguments.pages or CONDITIONS[each] for each in arguments.conditions}
    versions = {"before": arguments.before.resolve(), "now": ROOT}
    with _pages(arguments.data, counts, arguments.seed) as pages:
        for condition, urls in pages.items():
            _compare(condition, urls, versions, arguments.rounds)
    return None


def _compare(condition: str, urls: list[str], versions: dict[str, Path], rounds: int) -> None:
    print(f"{condition}: {len(urls)} pages, seconds of each round", flush=True)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
    for number in range(rounds):
        for name in list(versions) if number % 2 == 0 else list(reversed(versions)):
            used, came = _measure(versions[name], urls)
            found[name].append(used)
            figures = "  ".join(f"{figure} {used[figure]:.1f}" for figure in FIGURES)
            print(f"  {name:6}  {figures}  {came}", flush=True)
    for figure in FIGURES:
        ratios = [
            now[figure] / before[figure]
            for now, before in zip(found["now"], found["before"], strict=True)
        ]
        print(
            f"{condition}: {figure}: now to before {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
