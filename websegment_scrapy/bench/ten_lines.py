"""What users write instead of this plugin: a spider, and a pipeline of about ten lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.http import TextResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

__all__ = ["Pages", "PagesInBrowser", "PagesWithHtml", "TrafilaturaAndDatasketch"]

SIMILARITY, SHINGLE = 0.7, 6


class Pages(scrapy.Spider):
    """One item for every URL."""

    name = "pages"
    with_html = False
    meta: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, urls: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = urls

    async def start(self) -> AsyncIterator[Any]:
        """Ask for every page, in the order given."""
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=True, meta={**self.meta, "asked": url})

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page's address and what it was asked for at; its document if that is wanted."""
        item = {"url": response.url, "asked": response.meta["asked"]}
        if self.with_html and isinstance(response, TextResponse):
            item["html"] = response.text
        yield item


class PagesWithHtml(Pages):
    """The same with the document on the item."""

    with_html = True


class PagesInBrowser(Pages):
    """The same through scrapy-playwright."""

    meta = {"playwright": True}  # noqa: RUF012


class TrafilaturaAndDatasketch:
    """What a user writes: the main text, and whether another page has it."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH
        from trafilatura import extract

        self.extract, self.sketch = extract, MinHash
        self.index = MinHashLSH(threshold=SIMILARITY, num_perm=128)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Put the text and the pages that are like it on the item."""
        text = item["text"] = self.extract(item.pop("html")) or ""
        words = text.lower().split()
        shingles = {" ".join(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)}
        sketch = self.sketch(num_perm=128)
        sketch.update_batch([shingle.encode() for shingle in shingles])
        item["duplicates"] = self.index.query(sketch)
        self.index.insert(item["url"], sketch)
        return item
