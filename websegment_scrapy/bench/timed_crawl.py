"""One crawl that is measured, in a process of its own: ``python -m …timed_crawl SPEC``.

What its pages became is kept in memory, as in any crawl that does something with its items, and
written down when the clock has been stopped.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from w3lib.url import canonicalize_url

from websegment_scrapy.bench.hostile_watch import Peaks, Watch, start_crawl
from websegment_scrapy.bench.variants import settings_of, spider_of
from websegment_scrapy.exceptions import WebsegmentError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

__all__ = ["Collect", "CrawlFailed", "TimedCrawl", "time_crawl"]

SAMPLE_SECONDS = 0.5
LIMIT_SECONDS = 3600.0
SETTINGS: dict[str, Any] = {
    "EXTENSIONS": {"websegment_scrapy.bench.loop_lag.LoopLag": 0},
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
}
"""Of all crawls; everything else is as it is by default."""


class CrawlFailed(WebsegmentError):
    """A crawl that was to be measured came to nothing."""


@dataclass(slots=True)
class TimedCrawl:
    """What a crawl took: seconds, CPU seconds, MiB; and what it found, by URL.

    Attributes
    ----------
    seconds
        From the start of the crawl to its end, with the browser's start but not Python's.
    own, children
        CPU of the crawl's process, and of all its other processes, from their start to their end.
    lag
        The event loop's, 99th percentile.
    rendered
        Pages that were rendered.
    items
        Of each page ``text``, and ``like``: the addresses of pages that have it too.
    """

    seconds: float
    own: float
    children: float
    lag: float
    rendered: int
    peaks: Peaks = field(default_factory=Peaks)
    items: dict[str, dict[str, Any]] = field(default_factory=dict)


def time_crawl(variant: str, urls: Sequence[str], folder: Path) -> TimedCrawl:
    """Crawl and measure; the folder gets the crawl's files."""
    folder.mkdir(parents=True)
    temporary = folder / "t"
    temporary.mkdir()
    spec, log = folder / "spec.json", folder / "log.txt"
    spec.write_text(json.dumps({"variant": variant, "urls": list(urls)}))
    process, watch = start_crawl(__name__, spec, log, temporary, uuid.uuid4().hex)
    try:
        used = _follow(process, watch, variant)
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()
        watch.wait(SAMPLE_SECONDS * 10)
        watch.end()
    result = folder / "result.json"
    if process.returncode or not result.exists():
        told = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise CrawlFailed(
            f"the crawl {variant!r} ended with status {process.returncode}: {' '.join(told)[:300]}"
        )
    found = json.loads(result.read_text())
    return TimedCrawl(**found, own=used - found["children"], peaks=watch.peaks)


def _follow(process: subprocess.Popen[bytes], watch: Watch, variant: str) -> float:
    """Watch a crawl to its end; return the CPU time of all its processes."""
    began = time.monotonic()
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used.ru_utime + used.ru_stime
        if time.monotonic() - began > LIMIT_SECONDS:
            raise CrawlFailed(
                f"the crawl {variant!r} was ended after {LIMIT_SECONDS:.0f} s: "
                "give it fewer --pages"
            )
        watch.sample()
        time.sleep(SAMPLE_SECONDS)


class Collect:
    """The last pipeline: keeps what is compared of every item."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Keep the text, and which pages have it too."""
        ours = item.get("websegment")
        if ours is not None:
            kept = {
                "text": ours.get("main_text"),
                "like": [ours.get("duplicate_of"), ours.get("representative")],
            }
        else:
            kept = {"text": item.get("text"), "like": item.get("duplicates", ())}
        kept["like"] = [canonicalize_url(url) for url in kept["like"] if url]
        self.items[item["asked"]] = kept
        return item


def main() -> None:
    """Crawl what the specification says; the body of the measured process."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.misc import load_object

    spec = Path(sys.argv[1])
    order = json.loads(spec.read_text())
    settings = SETTINGS | settings_of(order["variant"], spec.parent)
    collect = Collect()
    pipelines = settings.get("ITEM_PIPELINES", {})
    settings["ITEM_PIPELINES"] = {**pipelines, type("Last", (_Given,), {"last": collect}): 900}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(load_object(spider_of(order["variant"])))
    began = time.monotonic()
    process.crawl(crawler, urls=order["urls"])
    process.start()
    seconds = time.monotonic() - began
    # the driver waits for the browser, and the crawl for the driver: all of them are counted
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats = crawler.stats.get_stats() if crawler.stats else {}
    rendered = stats.get("websegment/render/pages", 0) or stats.get("playwright/page_count", 0)
    found = {
        "seconds": seconds,
        "children": used.ru_utime + used.ru_stime,
        "lag": stats.get("bench/lag_p99", 0.0),
        "rendered": rendered,
        "items": collect.items,
    }
    spec.with_name("result.json").write_text(json.dumps(found))


class _Given:
    """Builds a pipeline that is there already."""

    last: Collect

    @classmethod
    def from_crawler(cls, _: Any) -> Collect:
        return cls.last


if __name__ == "__main__":
    main()
