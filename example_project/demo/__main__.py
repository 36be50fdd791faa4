"""``python -m demo``: two crawls of the example sites, and what they found to look at.

Between the crawls one of the sites changes. What is left behind in ``results/`` (the database,
both feeds, some pages as HTML files) is enough for the commands that are named at the end.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from demo.changes import show_changes
from demo.feeds import read_feed
from demo.further import keep_page, where_to_look
from demo.progress import BEGUN
from demo.server import FIRST_PORT
from demo.show import best_pair, most_stripped, show_page, show_pair, show_segments
from demo.tables import WIDTH
from demo.ticker import Ticker
from demo.truth import truth
from demo.web import load_sites, site_names
from websegment_scrapy.cli.main import main as websegment

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

PROJECT = Path(__file__).resolve().parent.parent
RESULTS = PROJECT / "results"
FEEDS = ("first.jsonl", "second.jsonl")


def main(arguments: Sequence[str] | None = None) -> int:
    """Crawl, crawl again, show; return the exit status."""
    given = _parser().parse_args(arguments)
    started = time.monotonic()
    results: Path = given.results.resolve()
    inside = results.relative_to(PROJECT) if results.is_relative_to(PROJECT) else results
    for old in ("websegment.db", "websegment.db-wal", "websegment.db-shm"):
        (results / old).unlink(missing_ok=True)
    results.mkdir(parents=True, exist_ok=True)

    def crawl(name: str, *more: str) -> int:
        settings = {
            "DEMO_PORT": given.port,
            "WEBSEGMENT_RENDER": given.render,
            "WEBSEGMENT_DATABASE": f"sqlite:///{inside / 'websegment.db'}",
        }
        options = [part for pair in settings.items() for part in ("-s", "=".join(map(str, pair)))]
        print("scrapy crawl news", *more, flush=True)
        command = ["crawl", "news", "-O", f"{inside / name}:jsonlines", *options, *more]
        return _run([sys.executable, "-m", "scrapy", *command])

    _heading("First crawl: a newspaper, a blog, and a site that a script builds")
    status = crawl(FEEDS[0])
    if status == 0:
        _heading("Second crawl: the blog, a week later")
        status = crawl(FEEDS[1], "-a", "site=journal", "-s", "DEMO_LATER=1")
    if status == 0:
        _show(results, given.port)
        _report(results)
        print(f"\nThe demo took {time.monotonic() - started:.0f} seconds.")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--port", type=int, default=FIRST_PORT, help="first of three free ports")
    parser.add_argument("--render", choices=("always", "never"), default="always")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to")
    return parser


def _run(command: Sequence[str]) -> int:
    """Run a crawl in the project's folder; on Ctrl-C let it end by itself.

    Until its own line moves, ours does: it takes some seconds to load everything.
    """
    begun, begin = os.pipe()
    environ = os.environ | {BEGUN: str(begin)}
    ticker = Ticker(sys.stderr)
    with subprocess.Popen(command, cwd=PROJECT, env=environ, pass_fds=(begin,)) as process:
        os.close(begin)
        ticker.start()
        try:
            os.read(begun, 1)
            ticker.stop()
            return process.wait()
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one is the crawl's own affair
            process.wait()
            return 130
        finally:
            ticker.stop()
            os.close(begun)


def _show(results: Path, port: int) -> None:
    """Print everything that is there to look at, and keep the pages that are shown."""
    sites = load_sites(port)
    names = site_names(sites)
    first, second = (read_feed(results / name) for name in FEEDS)
    facts = truth(sites)
    # What a script builds is no HTML file that a command could read.
    plain = {url: page for url, page in first.items() if not facts[url].built_by_script}
    page, pair = most_stripped(plain), best_pair(plain)
    if page is None or pair is None:
        return
    _heading("What it made of them")
    print(show_page(page, names), show_segments(page), show_pair(*pair, names), sep="\n\n")
    _heading("What the second crawl found")
    print(show_changes(first, second, names))
    _heading("To look further")
    files = [keep_page(found.url, sites, results) for found in (page, *pair)]
    print(where_to_look(results, *files))


def _report(results: Path) -> None:
    """Write everything as one HTML file, and name it."""
    file = results / "report.html"
    feeds = [part for name in FEEDS for part in ("--items", str(results / name))]
    database = ["--database", str(results / "websegment.db")]
    if websegment(["report", *database, *feeds, "-o", str(file), "--quiet"]) == 0:
        _heading("Everything in one file, to open in a browser")
        print(file)


def _heading(text: str) -> None:
    print(f"\n{f'== {text} ':=<{WIDTH}}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
