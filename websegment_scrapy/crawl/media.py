"""What a document really is: HTML or something else, and not too much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.page.decode import SNIFFED_BYTES, is_plainly_not_html

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HTML_TYPES", "TooLargeError", "is_html", "media_type", "too_large"]

HTML_TYPES = ("text/html", "application/xhtml+xml", "")


class TooLargeError(WebsegmentError):
    """A document is larger than ``WEBSEGMENT_PAGE_SIZE``."""


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of Playwright's headers in small letters; empty: none was given."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_html(kind: str, body: bytes) -> bool:
    """Tell whether a body of a media type is HTML, and not only called so."""
    return kind in HTML_TYPES and not is_plainly_not_html(body[:SNIFFED_BYTES])


def too_large(url: str, size: int, limit: int) -> str:
    """Say how large a document is, and how large it may be."""
    return (
        f"{url[:200]} has {size / 2**20:.0f} MiB, more than {limit / 2**20:.0f} "
        "(WEBSEGMENT_PAGE_SIZE)"
    )
