"""When a page is due again: learned from its visits.

A page that was found unchanged is looked at again after four fifths of the time that it has stood,
so the time between two looks nearly doubles with each; one that has changed, after a quarter of the
time that it had. Both within bounds. It begins with twenty hours: a crawl every night meets every
page again on the next one, also when it comes by a little earlier.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import select

from websegment_scrapy.store.answers import DueRow
from websegment_scrapy.store.models import Page, Revisit
from websegment_scrapy.store.queries import database_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from websegment_scrapy.store.database import Database
    from websegment_scrapy.store.store import Store

__all__ = ["FIRST", "LONGEST", "SHORTEST", "due_pages", "next_interval"]

FIRST = timedelta(hours=20)
SHORTEST = timedelta(hours=1)
LONGEST = timedelta(days=30)

STANDING = 0.8
"""Of the time that a page has stood, after which it is looked at again."""

SHORTER = 4
"""By this the interval of a page that has changed is divided."""


def next_interval(
    interval: timedelta | None, stood: timedelta | None, *, changed: bool
) -> timedelta:
    """Return how long after a visit its page is due again.

    Parameters
    ----------
    interval
        What it was before; ``None``: the page is seen for the first time.
    stood
        Since when its text is the present one.
    changed
        Whether the visit found another text than before.
    """
    if interval is None:
        return FIRST
    if changed:
        return max(interval / SHORTER, SHORTEST)
    return min(max(interval, STANDING * (stood or timedelta())), LONGEST)


def due_pages(source: Store | Database, now: datetime) -> Iterator[DueRow]:
    """Yield the pages that are due at a moment, those that wait longest first.

    Pages of which no interval is known, because they were never seen by a crawl with
    ``WEBSEGMENT_REVISIT`` or were last seen by one without, are always due and not listed.
    """
    query = (
        select(Page.url, Revisit.due, Revisit.interval_seconds, Page.last_seen, Page.last_changed)
        .join(Page, Page.id == Revisit.page_id)
        .where(
            Revisit.due <= now, Revisit.seen_at == Page.last_seen, Page.content_hash.is_not(None)
        )
        .order_by(Revisit.due, Page.id)
    )
    with database_of(source).read() as connection:
        for url, due, interval, last_seen, last_changed in connection.execute(query):
            yield DueRow(url, due, round(interval / 3600, 2), last_seen, last_changed)
