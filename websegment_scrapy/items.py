"""``WebPage``: an item for spiders that want the page itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

    from scrapy.http import Response

__all__ = ["WebPage"]


class WebPage(dict[str, Any]):
    """A page as an item: ``url``, ``status`` and, after the pipelines, the result field.

    It is a dictionary, so the result field can have any name and users can add their own.
    """

    @classmethod
    def from_response(cls, response: Response, **values: Any) -> Self:
        """Make the item of a response; ``values`` are further fields.

        The response itself is remembered by the spider middleware when the spider yields the
        item.
        """
        return cls(url=response.url, status=response.status, **values)
