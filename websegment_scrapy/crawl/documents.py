"""The plain HTML of rendered pages, as the browser got it, while the pages are under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

__all__ = ["PlainDocuments"]


class PlainDocuments:
    """Bytes and content type by request; what nobody took goes with its request."""

    _of_crawler: ClassVar[WeakKeyDictionary[Crawler, PlainDocuments]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Request, tuple[bytes, str | None]] = WeakKeyDictionary()

    @classmethod
    def of(cls, crawler: Crawler) -> PlainDocuments:
        """Return those of a crawl."""
        return cls._of_crawler.setdefault(crawler, cls())

    def keep(self, request: Request, body: bytes, content_type: str | None) -> None:
        """Keep a document until it is taken."""
        self._kept[request] = body, content_type

    def see(self, request: Request) -> tuple[bytes | None, str | None]:
        """Return the document of a request, if there is one."""
        return self._kept.get(request, (None, None))

    def take(self, request: Request | None) -> tuple[bytes | None, str | None]:
        """Return the document of a request, if there is one, and forget it."""
        if request is None:
            return None, None
        return self._kept.pop(request, (None, None))
