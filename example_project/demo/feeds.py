"""Reads the pages of a crawl back from its feed: JSON lines, a page on each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FoundPage", "read_feed"]


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page as a crawl found it: what the item's field ``websegment`` says."""

    url: str
    decision: str
    duplicate_of: str | None
    similarity: float | None
    words: int
    page_words: int
    main_text: str
    segments: tuple[dict[str, Any], ...]

    @property
    def other_text(self) -> str:
        """The text of the segments that are not main text."""
        return "\n".join(part["text"] for part in self.segments if part["role"] != "main")


def read_feed(path: Path) -> dict[str, FoundPage]:
    """Return the pages of a feed by URL, in the order in which they were decided."""
    pages = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        field = item["websegment"]
        pages[item["url"]] = FoundPage(
            url=item["url"],
            decision=field["decision"],
            duplicate_of=field.get("duplicate_of"),
            similarity=field.get("similarity"),
            words=field["words"],
            page_words=field["page_words"],
            main_text=field["main_text"],
            segments=tuple(field.get("segments") or ()),
        )
    return pages
