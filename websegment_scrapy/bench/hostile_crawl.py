"""The crawl of the hostile bench, in a process of its own: ``python -m …hostile_crawl SPEC``.

The spider is one that a careful user writes: it knows its pages, sends a secret with each request,
stays on its sites and obeys robots.txt. What came of each page goes line by line into files that
survive a kill.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy
from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess

from websegment_scrapy.bench.hostile_web import key_of
from websegment_scrapy.bench.loop_lag import LoopLag
from websegment_scrapy.config import PREFIX, Config
from websegment_scrapy.items import WebPage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

__all__ = ["HostileSpider", "WriteItems"]

BODY_BYTES = 50_000
"""Of a response's body on its item, so that what it carries is looked through too."""

BOXES = 50
"""Of an item's segments, those whose places are kept."""

FOLDER = "HOSTILE_FOLDER"


class HostileSpider(scrapy.Spider):
    """One item for every page that it is given, and a line for every page that fails."""

    name = "hostile"

    def __init__(self, pages: list[list[str]], allowed: list[str], folder: str) -> None:
        super().__init__()
        self.pages = pages
        self.allowed_domains = allowed
        self.failures = (Path(folder) / "failures.jsonl").open("a")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Build the spider and have it told of every request."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.scheduled, signals.request_scheduled)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Ask for every page, in the order given."""
        for url, render in self.pages:
            yield scrapy.Request(
                url,
                headers={"Authorization": f"Bearer {key_of(url)}", "X-Api-Key": key_of(url)},
                meta={"asked": url, "websegment": {"render": render}},
                errback=self.failed,
            )

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page and the beginning of its body."""
        body = response.body[:BODY_BYTES].decode("utf-8", "replace")
        yield WebPage.from_response(response, asked=response.meta["asked"], body=body)

    def failed(self, failure: Failure) -> None:
        """Note why a page came to nothing."""
        request = getattr(failure, "request", None)
        asked = request.meta.get("asked", request.url) if request is not None else None
        self._note(asked, repr(failure.value)[:500])

    def scheduled(self, request: Request) -> None:
        """Note a redirect that leaves the sites: Scrapy drops it without calling anybody."""
        if urlsplit(request.url).hostname not in self.allowed_domains and "asked" in request.meta:
            self._note(request.meta["asked"], f"it leads to {request.url[:200]}")

    def _note(self, asked: str | None, reason: str) -> None:
        self.failures.write(json.dumps({"asked": asked, "reason": reason}) + "\n")
        self.failures.flush()
        self.logger.warning("No page of %s: %s", asked, reason)


class WriteItems:
    """The last pipeline: every finished item becomes a line."""

    def __init__(self, folder: Path) -> None:
        self.file = (folder / "items.jsonl").open("a")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the pipeline."""
        return cls(Path(crawler.settings[FOLDER]))

    async def process_item(self, item: Any) -> Any:
        """Write an item, of its segments only where they are."""
        written = ItemAdapter(item).asdict()
        result = dict(written.get("websegment") or {})
        segments = result.pop("segments", None) or ()
        result["boxes"] = [segment["box"] for segment in segments[:BOXES]]
        self.file.write(json.dumps(written | {"websegment": result}, default=str) + "\n")
        self.file.flush()
        return item


def known_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out the add-on's settings that this version of it does not have."""
    known = {PREFIX + field.name.upper() for field in fields(Config)}
    return {
        name: value
        for name, value in settings.items()
        if not name.startswith(PREFIX) or name in known
    }


def main() -> None:
    """Crawl what the specification says."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(spec["folder"])
    settings = {
        "ADDONS": {"websegment_scrapy.Addon": 500},
        "ITEM_PIPELINES": {WriteItems: 900},
        "EXTENSIONS": {LoopLag: 0},
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
        FOLDER: spec["folder"],
        **known_settings(spec["settings"]),
    }
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(HostileSpider)
    process.crawl(crawler, pages=spec["pages"], allowed=spec["allowed"], folder=spec["folder"])
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    (folder / "stats.json").write_text(json.dumps(stats, default=str))


if __name__ == "__main__":
    main()
