"""Where main texts come from: the feeds of crawls, and what the database keeps of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from websegment_scrapy.config import Config
from websegment_scrapy.dedup.passages import marked_texts
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.store.kept_texts import texts_of
from websegment_scrapy.store.models import KeptPage
from websegment_scrapy.store.templates import read_verdict
from websegment_scrapy.text.dossier import Dossier
from websegment_scrapy.view.feeds import read_feed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["SiteRules", "add_versions", "feed_texts", "joined", "kept_texts", "marked_pair"]

CHUNK = 200
MOST_SITES = 200
"""Verdicts on sites that are remembered: each has up to some thousand numbers."""


class SiteRules:
    """The verdicts on sites, by the settings of the crawls.

    Parameters
    ----------
    theta, min_pages
        ``WEBSEGMENT_SITE_THRESHOLD`` and ``WEBSEGMENT_SITE_MIN_PAGES``.
    """

    def __init__(self, theta: float | None = None, min_pages: int | None = None) -> None:
        default = Config()
        self.theta = default.site_threshold if theta is None else theta
        self.min_pages = default.site_min_pages if min_pages is None else min_pages
        self._known: dict[str, SiteVerdict | None] = {}

    def verdict(self, connection: Connection, host: str) -> SiteVerdict | None:
        """Return what a site repeats, if that is known."""
        if host not in self._known:
            if len(self._known) >= MOST_SITES:
                self._known.clear()
            self._known[host] = read_verdict(
                connection, host, theta=self.theta, min_pages=self.min_pages
            )
        return self._known[host]


def kept_texts(
    connection: Connection, pages: Sequence[int], rules: SiteRules
) -> Iterator[tuple[int, str]]:
    """Yield the main texts of pages of which the database keeps enough, in any order."""
    for start in range(0, len(pages), CHUNK):
        chunk = pages[start : start + CHUNK]
        query = (
            select(KeptPage.page_id, KeptPage.host, KeptPage.dossier)
            .where(KeptPage.page_id.in_(chunk))
            .order_by(KeptPage.host)
        )
        for page, host, dossier in connection.execute(query).all():
            try:
                text = Dossier.from_bytes(dossier).text(rules.verdict(connection, host))
            except AnalysisError:  # written by another version
                continue
            yield page, text


def feed_texts(
    feeds: Iterable[str], field: str, wanted: Mapping[bytes, int], room: int
) -> dict[int, list[str]]:
    """Return what feeds tell of some pages: their texts, the last two that differ, in order.

    Parameters
    ----------
    feeds, field
        As for `read_feed`, the earliest first.
    wanted
        The pages by the keys of their URLs.
    room
        Characters of all texts; what comes when there is no more is left out.
    """
    found: dict[int, list[str]] = {}
    for feed in feeds:
        for page in read_feed(feed, field):
            number = wanted.get(page.key)
            if number is None:
                continue
            known = found.setdefault(number, [])
            if page.main_text in known[-1:] or len(page.main_text) > room:
                continue
            known.append(page.main_text)
            room -= len(page.main_text)
            if len(known) > 2:
                room += len(known.pop(0))
    return found


def add_versions(connection: Connection, found: dict[int, list[str]], pages: Sequence[int]) -> None:
    """Add the last texts that the database keeps of pages, where feeds tell of no change."""
    missing = [page for page in dict.fromkeys(pages) if len(found.get(page, ())) < 2]
    for start in range(0, len(missing), CHUNK):
        for page, versions in texts_of(connection, missing[start : start + CHUNK]).items():
            if len(versions) > len(found.get(page, ())):
                found[page] = [version.text for version in versions[-2:]]


def joined(
    from_feeds: Mapping[int, Sequence[str]],
    kept: Mapping[int, str],
    pages: Collection[int],
) -> dict[int, str]:
    """Return the present text of each page that has one: a feed's last, else the kept one."""
    found = {}
    for page in pages:
        text = from_feeds[page][-1] if from_feeds.get(page) else kept.get(page)
        if text:
            found[page] = text
    return found


def marked_pair(first: str, second: str, words: int) -> list[list[Any]]:
    """Mark the passages that two texts share, and return both as scripts take them.

    Each is a flat list, texts and numbers of passages in turn; what only one has is of passage -1.
    """
    return [
        [
            value
            for piece in pieces
            for value in (piece.text, -1 if piece.passage is None else piece.passage)
        ]
        for pieces in marked_texts(first, second, words)
    ]
