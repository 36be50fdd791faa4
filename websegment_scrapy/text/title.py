"""The title of a page: what its head says, without the site's name where it can be told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from websegment_scrapy.page.reading import Reader

if TYPE_CHECKING:
    from websegment_scrapy.page.tree import PageTree

__all__ = ["page_title"]

_SEPARATOR = re.compile(r"(?<!\s)\s++[|–—·•:»«-]\s++|(?:(?<!\s)\s++)?[|»«]\s*+")


def page_title(tree: PageTree, reader: Reader | None = None) -> str:
    """Return the page's title; ``reader`` is that of all leaves, if it is there already.

    ``og:title`` is written for sharing, so it comes first; then the part of ``<title>`` that a
    visible heading repeats, which leaves the site's name out; then all of ``<title>``; then the
    first visible heading.
    """
    if tree.head.og_title:
        return tree.head.og_title
    headings = _headings(tree, reader)
    title = tree.head.title
    if not title:
        return headings[0] if headings else ""
    known = {heading.casefold() for heading in headings}
    for part in _SEPARATOR.split(title):
        if part.casefold() in known:
            return part
    return title


def _headings(tree: PageTree, reader: Reader | None) -> list[str]:
    """Return the text of the visible ``h1`` elements, or else of the ``h2`` elements."""
    reader = reader or Reader(tree)
    for name in ("h1", "h2"):
        nodes = tree.tagged({name}).nonzero()[0]
        first = tree.leaves.searchsorted(nodes).tolist()
        last = tree.leaves.searchsorted(tree.end[nodes]).tolist()
        found = []
        for low, high in zip(first, last, strict=True):
            if text := " ".join(reader.text(tree.leaves[low:high]).split()):
                found.append(text)
        if found:
            return found
    return []
