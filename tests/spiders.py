"""Spiders of the tests: small, and of the kinds that users write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import attrs
import scrapy
from scrapy.http import Response, TextResponse

from websegment_scrapy import WebPage


class PageSpider(scrapy.Spider):
    """One ``WebPage`` for every URL it is given."""

    name = "pages"

    def __init__(self, urls: list[str], meta: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = urls
        self.meta = meta

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=True, meta=dict(self.meta))

    def parse(self, response: Response) -> Iterator[Any]:
        yield WebPage.from_response(response)


class FollowSpider(PageSpider):
    """Follows every link."""

    name = "follow"

    def parse(self, response: Response) -> Iterator[Any]:
        yield WebPage.from_response(response)
        if isinstance(response, TextResponse):
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link)


class AllStatuses(PageSpider):
    """Keeps pages of any HTTP status."""

    name = "statuses"
    handle_httpstatus_list = (404, 500)


class DeclaredItem(scrapy.Item):
    url = scrapy.Field()
    websegment = scrapy.Field()


class NarrowItem(scrapy.Item):
    url = scrapy.Field()


@dataclass
class DataclassItem:
    url: str
    websegment: dict[str, Any] | None = field(default=None)


@attrs.define
class AttrsItem:
    url: str
    websegment: dict[str, Any] | None = None


class ManyItems(PageSpider):
    """Yields items of every type from each response, from an asynchronous callback."""

    name = "many"

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        yield {"url": f"{response.url}#dict", "kept": "user's own"}
        yield DeclaredItem(url=f"{response.url}#item")
        yield DataclassItem(url=f"{response.url}#dataclass")
        yield AttrsItem(url=f"{response.url}#attrs")
        yield NarrowItem(url=f"{response.url}#narrow")


class CookieSpider(PageSpider):
    """Brings a cookie of its own."""

    name = "cookies"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=True, cookies={"own": "2"})


class StayingSpider(PageSpider):
    """Stays on the hosts of the URLs that it is given."""

    name = "staying"

    def __init__(self, urls: list[str], meta: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(urls, meta, **kwargs)
        self.allowed_domains = sorted({url.split("/")[2].partition(":")[0] for url in urls})
