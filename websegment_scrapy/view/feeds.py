"""Reads the pages of a crawl back from its feed: JSON lines, or Scrapy's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.store.record import canonical_url, clean, url_key

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FeedError", "FeedPage", "read_feed"]


class FeedError(WebsegmentError):
    """A feed cannot be read."""


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A page as an item of a feed tells of it."""

    key: bytes
    """Of its URL, as the database has it."""
    main_text: str
    words: int
    page_words: int


def read_feed(path: str, field: str) -> Iterator[FeedPage]:
    """Yield the pages of a feed, item by item; items without a result are passed over.

    Parameters
    ----------
    path
        A file of JSON lines, or of JSON as Scrapy writes it: an item on each line.
    field
        The item field with the result (``WEBSEGMENT_FIELD``); with ``WEBSEGMENT_FLATTEN`` the
        beginning of the fields' names.
    """
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                text = line.strip().removeprefix("[").removesuffix("]").rstrip(",")
                if text:
                    page = _page(_item(path, number, text), field)
                    if page is not None:
                        yield page
    except OSError as error:
        raise FeedError(f"{path} cannot be read ({error.strerror}): name a crawl's feed") from None


def _item(path: str, number: int, text: str) -> dict[str, Any]:
    try:
        item = json.loads(text)
    except (ValueError, RecursionError):
        item = None
    if not isinstance(item, dict):
        raise FeedError(
            f"{path}: line {number} is no item: give a feed of JSON lines (scrapy crawl NAME -O "
            "FILE.jsonl) or Scrapy's JSON"
        )
    return item


def _page(item: dict[str, Any], field: str) -> FeedPage | None:
    result = item.get(field)
    if not isinstance(result, dict):
        prefix = f"{field}_"
        result = {
            name.removeprefix(prefix): value
            for name, value in item.items()
            if name.startswith(prefix)
        }
    url, text = result.get("url") or item.get("url"), result.get("main_text")
    if not isinstance(url, str) or not isinstance(text, str):
        return None
    return FeedPage(
        url_key(canonical_url(url)),
        clean(text),
        _number(result.get("words")),
        _number(result.get("page_words")),
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
