"""``ShortLogFormatter``: a line for an item, not the page's whole text."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter, is_item
from scrapy.logformatter import LogFormatter

from websegment_scrapy.crawl.dropping import NearDuplicate, Unchanged
from websegment_scrapy.crawl.pages import config_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult
    from twisted.python.failure import Failure

    from websegment_scrapy.config import Config

__all__ = ["ShortLogFormatter"]

URL_BYTES = 90
"""Of a URL in a line: two of them, the words between and Scrapy's prefix stay under 300 bytes."""

VALUE_LENGTH = 100
"""Characters of a value of our result in the lines of Scrapy that show an item."""


class ShortLogFormatter(LogFormatter):
    """Scrapy's log formatter, with short lines for what this plugin adds to a crawl.

    An item dropped as a near-duplicate or as unchanged is one line of less than 300 bytes, at INFO;
    an item with our result is one at DEBUG: its URL, the decision, the words. Other lines are
    Scrapy's own, but show the beginnings of our texts only, and no segments.

    The add-on sets it where ``LOG_FORMATTER`` is not set. Whole items in the log again:
    ``LOG_FORMATTER = "scrapy.logformatter.LogFormatter"``.
    """

    def __init__(self, config: Config) -> None:
        self._field = config.field
        self._flat = config.flatten

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the formatter of a crawl; part of Scrapy's component interface."""
        return cls(config_of(crawler))

    def scraped(
        self, item: Any, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        """Tell the URL, the decision and the words of an item that has our result."""
        result = self._result(item)
        if result is None or result.get("url") is None:
            return super().scraped(self._cut(item), response, spider)
        return {
            "level": logging.DEBUG,
            "msg": "Scraped %(url)s: %(decision)s, %(words)s of %(page_words)s words",
            "args": {
                "url": _cut_url(result["url"]),
                "decision": result.get("decision") or result.get("reason") or "not decided",
                "words": result.get("words"),
                "page_words": result.get("page_words"),
            },
        }

    def dropped(
        self,
        item: Any,
        exception: BaseException,
        response: Response | Failure | None,
        spider: Spider,
    ) -> LogFormatterResult:
        """Tell why an item was dropped; of ours, without the item."""
        if isinstance(exception, NearDuplicate):
            decision = exception.decision
            args = {
                "url": _cut_url(decision.url),
                "original": _cut_url(decision.duplicate_of or ""),
                "similarity": decision.similarity,
            }
            if decision.similarity is None:
                msg = "Dropped %(url)s: near-duplicate of %(original)s"
            else:
                msg = "Dropped %(url)s: near-duplicate (%(similarity).2f) of %(original)s"
            return {"level": logging.INFO, "msg": msg, "args": args}
        if isinstance(exception, Unchanged):
            return {
                "level": logging.INFO,
                "msg": "Dropped %(url)s: not changed since the last visit",
                "args": {"url": _cut_url(exception.url)},
            }
        return super().dropped(self._cut(item), exception, response, spider)

    def item_error(
        self,
        item: Any,
        exception: BaseException,
        response: Response | Failure | None,
        spider: Spider,
    ) -> LogFormatterResult:
        """Tell which item caused an error, with our texts cut."""
        return super().item_error(self._cut(item), exception, response, spider)

    def _result(self, item: Any) -> dict[str, Any] | None:
        """Return what an item has of our result."""
        if not is_item(item):
            return None
        adapter = ItemAdapter(item)
        if self._flat:
            start = f"{self._field}_"
            return {
                name.removeprefix(start): value
                for name, value in adapter.items()
                if name.startswith(start)
            } or None
        found = adapter.get(self._field)
        return found if isinstance(found, dict) else None

    def _cut(self, item: Any) -> Any:
        """Return an item to show: itself, or its fields with our result cut."""
        result = self._result(item)
        if result is None:
            return item
        short = {name: _cut_value(value) for name, value in result.items() if name != "segments"}
        fields = dict(ItemAdapter(item))
        if self._flat:
            return fields | {f"{self._field}_{name}": value for name, value in short.items()}
        return fields | {self._field: short}


def _cut_value(value: Any) -> Any:
    if isinstance(value, str) and len(value) > VALUE_LENGTH:
        return f"{value[:VALUE_LENGTH]}..."
    return value


def _cut_url(url: str) -> str:
    """Return a URL in `URL_BYTES`: its beginning and its end, and nothing that breaks a line."""
    if len(url) > URL_BYTES:
        url = f"{url[:URL_BYTES]}\n{url[-URL_BYTES:]}"  # what stands between is cut in any case
    data = "".join(each if each.isprintable() else "?" for each in url).encode("utf-8", "replace")
    if len(data) <= URL_BYTES:
        return data.decode()
    half = (URL_BYTES - 3) // 2
    return f"{data[:half].decode('utf-8', 'ignore')}...{data[-half:].decode('utf-8', 'ignore')}"
