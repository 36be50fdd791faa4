"""Follows every link of the example sites and hands each page to websegment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from demo.web import load_sites
from websegment_scrapy import WebPage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

__all__ = ["NewsSpider"]


class NewsSpider(scrapy.Spider):
    """An ordinary spider: nothing in it knows of browsers, segments or databases.

    ``scrapy crawl news -a site=journal`` crawls one of the three sites only.
    """

    name = "news"
    allowed_domains = ("127.0.0.1",)
    links = LinkExtractor()
    site: str | None = None

    async def start(self) -> AsyncIterator[Any]:
        """Begin at the home pages; with fixed addresses ``start_urls`` would do."""
        for site in load_sites(self.settings.getint("DEMO_PORT")):
            if self.site in (None, site.key):
                yield scrapy.Request(f"{site.origin}/")

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page as an item, then follow its links."""
        if not isinstance(response, HtmlResponse):
            return  # a picture or a PDF has neither segments nor links
        yield WebPage.from_response(response)
        for link in self.links.extract_links(response):
            yield response.follow(link)
