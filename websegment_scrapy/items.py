"""``WebPage``, an item for spiders that want the page itself, and ``belongs_to``, for all items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing import Self

    from scrapy.http import Response

__all__ = ["WebPage", "belongs_to", "named_pages"]

_ATTRIBUTE = "_websegment_pages"
_Item = TypeVar("_Item")


class WebPage(dict[str, Any]):
    """A page as an item: ``url``, ``status`` and, after the pipelines, the result field.

    It is a dictionary, so the result field can have any name and users can add their own.
    """

    @classmethod
    def from_response(cls, response: Response, **values: Any) -> Self:
        """Make the item of a response, which is its page; ``values`` are further fields."""
        return belongs_to(cls(url=response.url, status=response.status, **values), response)


def belongs_to(item: _Item, *responses: Response) -> _Item:
    """Name the pages that an item belongs to; return the item, which is to be yielded.

    Without this an item belongs to the response of the callback that yields it. That is not so
    when the callback has awaited another download, or when the item was begun in the callback of
    another page::

        async def parse(self, response):
            details = await self.crawler.engine.download_async(Request(url))
            yield belongs_to({"name": …}, details)

        def parse(self, response):
            item = belongs_to({"name": …}, response)
            yield Request(url, self.parse_more, cb_kwargs={"item": item})

        def parse_more(self, response, item):
            yield belongs_to(item, response)  # belongs to both

    The first page's text and decision go on the item; all are analysed and stored. A plain
    dictionary comes back as a `WebPage` with the same content, since it can carry nothing itself.
    A request that carries the item to the next callback carries the pages too; with ``JOBDIR`` it
    may have to stay in memory, as Scrapy says then.

    Raises
    ------
    TypeError
        If the item's type has no room for it, as attrs and data classes with slots have not.
    """
    carrier: Any = item
    if type(item) is dict:
        carrier = WebPage(carrier)
    try:
        # Not by setattr: scrapy.Item and frozen data classes have their own opinion.
        known: list[Response] = carrier.__dict__.setdefault(_ATTRIBUTE, [])
    except AttributeError:
        raise TypeError(
            f"items of type {type(item).__qualname__} cannot carry their pages: define the class "
            "with slots=False, or yield a dict"
        ) from None
    known.extend(response for response in responses if response not in known)
    return carrier  # type: ignore[no-any-return]


def named_pages(item: Any) -> tuple[Response, ...]:
    """Return the pages that `belongs_to` named, and take them off the item."""
    carried: dict[str, Any] = getattr(item, "__dict__", {})
    return tuple(carried.pop(_ATTRIBUTE, ()))
