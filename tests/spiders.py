"""Spiders of the tests: small, and of the kinds that users write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import attrs
import scrapy
import scrapy.exceptions
from scrapy.http import Response, TextResponse

from websegment_scrapy import WebPage, belongs_to


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


class PostSpider(PageSpider):
    """Sends a form to every URL."""

    name = "post"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.FormRequest(url, formdata={"name": "value"})


class FollowSpider(PageSpider):
    """Follows every link."""

    name = "follow"

    def parse(self, response: Response) -> Iterator[Any]:
        yield WebPage.from_response(response)
        if isinstance(response, TextResponse):
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link)


class IndexSpider(PageSpider):
    """Follows the links of the pages that it begins with, and yields what is there."""

    name = "index"

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        for link in response.css("li > a::attr(href)").getall():
            yield response.follow(link, self.parse_page)

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield WebPage.from_response(response)


class OnlyLinks(FollowSpider):
    """Follows every link and yields no item; what it has begun with is not done again."""

    name = "only-links"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        yield from (each for each in super().parse(response) if isinstance(each, scrapy.Request))


class LinkedChain(OnlyLinks):
    """Every page's item travels with the request for the next page, which belongs to it too."""

    name = "linked-chain"

    def parse(self, response: Response, item: Any = None) -> Iterator[Any]:
        item = belongs_to(item or {"url": response.url}, response)
        links = list(super().parse(response))
        yield from links[1:]
        if links:
            yield links[0].replace(cb_kwargs={"item": belongs_to({"url": "next"}, response)})
        yield item


class FailureSpider(PageSpider):
    """Counts, as stats, why the browser could not load what a page asks for."""

    name = "failures"

    async def start(self) -> AsyncIterator[Any]:
        handlers = {"requestfailed": self.note}
        for url in self.urls:
            yield scrapy.Request(url, meta={"playwright_page_event_handlers": handlers})

    def note(self, request: Any) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value(f"failed/{request.failure}")


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


class PlainItems(PageSpider):
    """Yields plain dictionaries with fields of its own; leaves one page out."""

    name = "plain"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            meta = {"websegment": {"skip": True}} if url.endswith("/skipped") else {}
            yield scrapy.Request(url, meta=meta)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"asked": response.request.url if response.request else None, "number": 1}


class FlatItem(scrapy.Item):
    url = scrapy.Field()
    websegment_url = scrapy.Field()
    websegment_decision = scrapy.Field()


class FlatItems(PageSpider):
    """Items that declare some of the flat fields."""

    name = "flat"

    def parse(self, response: Response) -> Iterator[Any]:
        yield FlatItem(url=response.url)


class AwaitingSpider(PageSpider):
    """Awaits another page inside the callback; the item belongs to that one."""

    name = "awaiting"

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        assert self.crawler.engine is not None
        request = scrapy.Request(response.urljoin("/inner"))
        inner = await self.crawler.engine.download_async(request)
        yield WebPage.from_response(inner)
        yield belongs_to({"url": f"{inner.url}#dict"}, inner)
        yield belongs_to(DataclassItem(url=f"{inner.url}#dataclass"), inner)
        yield belongs_to(DeclaredItem(url=f"{inner.url}#item"), inner)
        yield {"url": f"{response.url}#outer"}


class ChainSpider(PageSpider):
    """One item from three pages, each in its own callback."""

    name = "chain"

    def parse(self, response: Response) -> Iterator[Any]:
        yield from self.parse_next(response, {"url": response.url})

    def parse_next(self, response: Response, item: dict[str, Any]) -> Iterator[Any]:
        item = belongs_to(item, response)
        following = response.css("a.next::attr(href)").get()
        if following is None:
            yield item
        else:
            yield response.follow(following, self.parse_next, cb_kwargs={"item": item})


class Silent(PageSpider):
    """Yields an item for some pages only, and fails on one."""

    name = "silent"

    def parse(self, response: Response) -> Any:
        if response.url.endswith("/bad"):
            raise RuntimeError("the spider's own")
        return [{"url": response.url}] if response.url.endswith("/item") else None


class UserDrops:
    """A pipeline of the user's that drops or breaks items after ours."""

    async def process_item(self, item: Any) -> Any:
        if item["url"].endswith("/broken"):
            raise RuntimeError("the user's own")
        if item["url"].endswith("/unwanted"):
            raise scrapy.exceptions.DropItem("the user's reason")
        return item
