"""Follows every link of the sites that it is given, and hands each page to websegment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from websegment_scrapy import WebPage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

__all__ = ["SiteSpider"]


class SiteSpider(scrapy.Spider):
    """``scrapy crawl site -a start=http://one.example/,http://two.example/``.

    All crawlers of a fleet are given the same addresses; the first one puts them into the queue.
    """

    name = "site"
    links = LinkExtractor()

    def __init__(self, start: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.begin = [url for url in start.split(",") if url]
        self.allowed_domains = sorted({urlsplit(url).hostname or "" for url in self.begin})

    async def start(self) -> AsyncIterator[Any]:
        """Begin; without ``dont_filter``, so that it is done once for all crawlers."""
        for url in self.begin:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page as an item, then follow its links."""
        if not isinstance(response, HtmlResponse):
            return
        yield WebPage.from_response(response)
        for link in self.links.extract_links(response):
            yield response.follow(link)
