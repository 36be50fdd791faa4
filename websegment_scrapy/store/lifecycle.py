"""What happens to a store over the years: pages are forgotten, and their room is given back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, update

from websegment_scrapy.store.kept_texts import drop_texts
from websegment_scrapy.store.leaving import (
    WITHOUT_TEXT,
    ClusterTooLarge,
    former_of,
    hand_over_all,
    leave,
)
from websegment_scrapy.store.locks import lock_clusters
from websegment_scrapy.store.models import KeptPage, Page, Site, SiteRendering, Visit
from websegment_scrapy.store.rendering import ALL, forget_rendering
from websegment_scrapy.store.revisits import drop_revisits
from websegment_scrapy.store.schema import read_info
from websegment_scrapy.store.templates import clear_counts
from websegment_scrapy.store.visit import Rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from websegment_scrapy.store.database import Database

__all__ = ["forget", "not_seen_since", "vacuum"]

CHUNK = 200
"""Pages in one transaction: crawls that write meanwhile wait for one chunk at most."""


def not_seen_since(database: Database, before: datetime) -> int:
    """Count the pages that were last seen before a moment."""
    query = select(func.count()).select_from(Page).where(Page.last_seen < before)
    with database.read() as connection:
        return connection.execute(query).scalar_one()


def forget(
    database: Database, before: datetime, progress: Callable[[int], None] = lambda _: None
) -> int:
    """Remove pages that were last seen before a moment, with their visits; return how many.

    Their number is kept with their site. A cluster goes on without them, as if they had changed.
    What a site repeats is remembered until the last of its pages is forgotten. It works in short
    transactions, so it may be interrupted and crawls may write meanwhile.
    """
    forgotten = 0
    while True:
        with database.connect() as connection:
            driver: Any = connection.connection.driver_connection
            if not database.is_postgresql:
                # A page's visits go with it; SQLite would search them all for each page.
                driver.execute("PRAGMA foreign_keys=OFF")
            large: int | None = None
            try:
                with connection.begin():
                    count = _forget_some(database, connection, before)
            except ClusterTooLarge as error:
                large = error.page_id
            finally:
                if not database.is_postgresql:
                    driver.execute("PRAGMA foreign_keys=ON")
        if large is not None:
            with database.read() as connection:
                rules = _rules(database, connection)
            hand_over_all(database.write, large, rules)
            continue
        if not count:
            if forgotten:
                _forget_counts(database)
            return forgotten
        forgotten += count
        progress(forgotten)


def _rules(database: Database, connection: Connection) -> Rules:
    info = read_info(database, connection)
    return Rules(info.recipe, info.similarity, 1, info.recipe_id, info.secret)


def _forget_some(database: Database, connection: Connection, before: datetime) -> int:
    rules = _rules(database, connection)
    lock_clusters(connection)
    old = connection.execute(
        select(Page.id, Page.host, Page.cluster_id)
        .where(Page.last_seen < before)
        .order_by(Page.id)
        .limit(CHUNK)
    ).all()
    # Representatives last: what is forgotten with them need not find another one.
    for page_id, _, _ in sorted(old, key=lambda row: (row.id == row.cluster_id, row.id)):
        former = former_of(connection, page_id, rules)
        if former is not None:
            leave(connection, page_id, *former)
            connection.execute(update(Page).where(Page.id == page_id).values(**WITHOUT_TEXT))
    ids = [row.id for row in old]
    for host in sorted({row.host for row in old}):
        own = [row.id for row in old if row.host == host]
        visits = connection.execute(
            select(func.count()).select_from(Visit).where(Visit.page_id.in_(own))
        ).scalar_one()
        connection.execute(
            update(Site)
            .where(Site.host == host)
            .values(
                forgotten_pages=Site.forgotten_pages + len(own),
                forgotten_visits=Site.forgotten_visits + visits,
            )
        )
    connection.execute(delete(Visit).where(Visit.page_id.in_(ids)))
    connection.execute(
        update(Visit).where(Visit.duplicate_of_id.in_(ids)).values(duplicate_of_id=None)
    )
    connection.execute(delete(KeptPage).where(KeptPage.page_id.in_(ids)))
    drop_texts(connection, ids)
    drop_revisits(connection, ids)
    connection.execute(delete(Page).where(Page.id.in_(ids)))
    return len(ids)


def _forget_counts(database: Database) -> None:
    """Remove the counts of sites without pages."""
    with database.write() as connection:
        empty = Site.host.not_in(select(Page.host).distinct())
        counted = select(Site.host).where(Site.template_pages > 0, empty).with_for_update()
        hosts = sorted(connection.execute(counted).scalars())
        for host in hosts:
            clear_counts(connection, host)
        known = select(SiteRendering.host).where(
            SiteRendering.host.not_in(select(Page.host).distinct()), SiteRendering.host != ALL
        )
        forget_rendering(connection, connection.execute(known.distinct()).scalars())


def vacuum(database: Database) -> None:
    """Give the room of removed rows back, and renew what the query planner knows."""
    with database.connect() as connection:
        driver: Any = connection.connection.driver_connection
        if database.is_postgresql:
            driver.autocommit = True
            try:
                driver.execute("VACUUM (ANALYZE)")
            finally:
                driver.autocommit = False
            return
        driver.execute("VACUUM")
        driver.execute("ANALYZE")
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
