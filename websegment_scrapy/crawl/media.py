"""What a document really is: HTML or something else, and not too much of it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.page.decode import SNIFFED_BYTES, is_plainly_not_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playwright.async_api import CDPSession

__all__ = ["TooLargeError", "is_file", "is_html", "media_type", "read_body", "too_large"]

HTML_TYPES = ("text/html", "application/xhtml+xml", "")
_READ_BYTES = 2**20


class TooLargeError(WebsegmentError):
    """A document is larger than ``WEBSEGMENT_PAGE_SIZE``."""


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of Playwright's headers in small letters; empty: none was given."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_html(kind: str, body: bytes) -> bool:
    """Tell whether a body of a media type is HTML, and not only called so."""
    return kind in HTML_TYPES and not is_plainly_not_html(body[:SNIFFED_BYTES])


def is_file(headers: Mapping[str, str]) -> bool:
    """Tell whether a browser would rather save or play it than show it as a page."""
    disposition = headers.get("content-disposition", "").strip().lower()
    return disposition.startswith("attachment") or media_type(headers) not in HTML_TYPES


async def read_body(session: CDPSession, request: str, limit: int) -> bytes:
    """Read the body of an answer that the browser has paused at, until it is above the limit."""
    answer = await session.send("Fetch.takeResponseBodyAsStream", {"requestId": request})
    chunks, size, ended = [], 0, False
    while not ended and size <= limit:
        part = await session.send("IO.read", {"handle": answer["stream"], "size": _READ_BYTES})
        data = part["data"]
        chunks.append(base64.b64decode(data) if part.get("base64Encoded") else data.encode())
        size, ended = size + len(chunks[-1]), part["eof"]
    await session.send("IO.close", {"handle": answer["stream"]})
    return b"".join(chunks)


def too_large(url: str, size: int, limit: int) -> str:
    """Say how large a document is, and how large it may be."""
    return (
        f"{url[:200]} has {size / 2**20:.0f} MiB, more than {limit / 2**20:.0f} "
        "(WEBSEGMENT_PAGE_SIZE)"
    )
