"""The spider middlewares: which page an item belongs to, and pages without any item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse

from websegment_scrapy.crawl.pages import PARSED, YIELDED_KEY, WithRegistry, enabled_config
from websegment_scrapy.items import named_pages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["RecordPagesMiddleware", "RememberResponseMiddleware"]

PARSE_META = {"_callback", "_depth"}
"""What Scrapy's command ``parse`` writes to the meta of its requests."""


class RememberResponseMiddleware(WithRegistry):
    """Spider middleware that notes for every item which page it belongs to.

    That is the response of the callback that yielded it, or what ``belongs_to`` has named. It
    belongs nearest to the engine (a low number in ``SPIDER_MIDDLEWARES``), where items are what the
    pipelines will get.
    """

    def process_spider_input(self, response: Response) -> None:
        """Note what ``scrapy parse`` reads: it takes the items from the callback by itself."""
        if response.meta.keys() >= PARSE_META:
            PARSED.set(response)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass everything on; remember what is neither a request nor nothing.

        A crawl that comes back to known pages has to know which of them lead to others.
        """
        leads_on = False
        async for value in result:
            if isinstance(value, Request):
                leads_on = True
                if self.registry.origins is not None and response.request is not None:
                    self.registry.origins[value] = response.request
                if self.registry.revisits:
                    value.meta[YIELDED_KEY] = True
            elif value is not None:
                named = named_pages(value)
                leads_on = leads_on or any(page is not response for page in named)
                self.registry.remember(value, response, named)
            yield value
        self.registry.callback_ended(response, leads_on=leads_on)


class RecordPagesMiddleware(WithRegistry):
    """Spider middleware that has every HTML page recorded that reaches the spider.

    Settings: ``WEBSEGMENT_RECORD``; the middleware is there for ``"pages"`` only.

    It belongs nearest to the spider (a high number in ``SPIDER_MIDDLEWARES``): what other
    middlewares keep from the callbacks, such as pages of other HTTP statuses, is not recorded.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware for a crawl that records all pages."""
        if enabled_config(crawler).record != "pages":
            raise NotConfigured
        return super().from_crawler(crawler)

    def process_spider_input(self, response: Response) -> None:
        """Begin with a page while the spider reads it."""
        if isinstance(response, HtmlResponse):
            self.registry.record(response)
