"""``python -m tests.endurance``: does rendering thousands of pages take more and more memory?

Pages of several sites, a tenth of them built by script, are crawled and all rendered. While the
crawl goes on, the memory of its process and of the browser is read; printed is the median after
the first 300 pages (while the next tenth is crawled) and at the end. The exit status is 1 when
either has grown by more than a quarter, or pages, contexts or processes are left over.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.crawling import start_crawl
from tests.site import Site
from tests.texts import page, prose
from websegment_scrapy.bench.hostile_watch import Peaks, Watch, memory_of

SITES = 4
FIRST = 300
MOST_GROWTH = 1.25
"""What the project asks of a crawl of 3,000 pages."""

EVERY_SECONDS = 0.5
SCRIPTED = (
    "<!doctype html><title>Page</title><div id=root></div><script>"
    "document.getElementById('root').innerHTML = {0}</script>"
)


@dataclass(frozen=True)
class Reading:
    """What a crawl took when it had so many items, in MiB."""

    items: int
    crawler: float
    browser: float


def article(number: int) -> str:
    """Return a page with pictures; every tenth is built by a script."""
    pictures = "".join(f'<img src="/picture{n}.svg" alt="">' for n in range(number % 7))
    body = "".join(f"<p>{prose(1000 * number + part, 60)}</p>" for part in range(12))
    html = page(prose(number, 200), f"Article {number}", links=pictures + body)
    return SCRIPTED.format(json.dumps(html).replace("</", "<\\/")) if number % 10 == 0 else html


def watched(pages: int, folder: Path) -> tuple[list[Reading], dict[str, int], list[str]]:
    """Crawl; return readings, what was opened and closed, and the processes left over."""
    with ExitStack() as stack:
        urls = []
        for number in range(SITES):
            mine = range(number, pages, SITES)
            picture = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'></svg>"
            routes = {f"/{n}": article(n) for n in mine} | {
                f"/picture{n}.svg": picture for n in range(7)
            }
            site = stack.enter_context(Site(routes))
            urls += [site.url(f"/{n}") for n in mine]
        items = folder / "items.jsonl"
        items.touch()
        settings = {
            "LOG_LEVEL": "WARNING",
            "WEBSEGMENT_DATABASE": f"sqlite:///{folder / 'pages.db'}",
        }
        crawling = start_crawl(urls, settings, folder)
        watch = Watch(crawling.pid, "endurance", folder)
        readings, count = [], 0
        with items.open("rb") as lines:
            while crawling.poll() is None:
                watch.peaks = Peaks()
                watch.sample()
                count += lines.read().count(b"\n")
                if watch.peaks.browser:
                    crawler = memory_of(crawling.pid, "VmRSS")
                    readings.append(Reading(count, crawler, watch.peaks.browser))
                time.sleep(EVERY_SECONDS)
            count += lines.read().count(b"\n")
        left = [f"{name} ({pid})" for pid, name in watch.wait(15.0)]
    stats = json.loads((folder / "stats.json").read_text())
    opened = {name: int(stats.get(f"playwright/page_count{name}", 0)) for name in ("", "/closed")}
    return readings, {**opened, "items": count}, left


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=3000)
    pages = parser.parse_args().pages
    with tempfile.TemporaryDirectory(prefix="wse", ignore_cleanup_errors=True) as folder:
        readings, opened, left = watched(pages, Path(folder))
    tenth = max(pages // 10, 1)
    early = [each for each in readings if FIRST <= each.items < FIRST + tenth]
    late = [each for each in readings if pages - tenth <= each.items < pages]
    if not early or not late:
        sys.exit(f"{pages} pages are too few to tell: it takes more than {FIRST}")
    wrong = [f"left over: {each}" for each in left]
    for name in ("crawler", "browser"):
        before, after = (
            statistics.median(getattr(each, name) for each in part) for part in (early, late)
        )
        print(f"{name}: {before:.0f} MiB after {FIRST} pages, {after:.0f} at the end")
        if after > MOST_GROWTH * before:
            wrong.append(f"the {name} grew to {after / before:.2f} times")
    print(f"{opened['items']} items, {opened['']} pages opened, {opened['/closed']} closed")
    if opened["items"] != pages or opened[""] != opened["/closed"]:
        wrong.append("pages were lost or not closed")
    print("\n".join(wrong) or "all bounds are kept")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
