"""``RememberResponseMiddleware``: existing spiders need no change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from websegment_scrapy.crawl.pages import PageRegistry, enabled_config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["RememberResponseMiddleware"]


class RememberResponseMiddleware:
    """Spider middleware that notes for every item which response it came from.

    It belongs nearest to the engine (a low number in ``SPIDER_MIDDLEWARES``), where items are
    what the pipelines will get.
    """

    def __init__(self, registry: PageRegistry) -> None:
        self.registry = registry

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware for a crawl."""
        enabled_config(crawler)
        return cls(PageRegistry.of(crawler))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass everything on; remember what is neither a request nor nothing."""
        async for value in result:
            if value is not None and not isinstance(value, Request):
                self.registry.remember(value, response)
            yield value
