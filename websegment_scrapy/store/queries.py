"""Questions to a dedup database: summary, clusters, one URL's story, pairs, all pages.

Every function reads in short transactions of its own, so crawls may write meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from websegment_scrapy.store.database import Database
from websegment_scrapy.store.models import Page, Visit
from websegment_scrapy.store.record import canonical_url, url_key
from websegment_scrapy.store.schema import read_info

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Executable

    from websegment_scrapy.store.store import Store

__all__ = [
    "ClusterRow",
    "PageRow",
    "PairRow",
    "Story",
    "Summary",
    "VisitRow",
    "clusters",
    "open_for_reading",
    "pages",
    "pairs",
    "story",
    "summary",
]

_BATCH = 1000

_Original, _First = aliased(Page, name="original"), aliased(Page, name="first")


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole database in numbers."""

    database: str
    signature: str
    similarity: float
    created: datetime
    pages: int
    new: int
    duplicate: int
    empty: int
    failed: int
    hosts: int
    clusters: int
    largest_cluster: int
    visits: int
    first_seen: datetime | None
    last_seen: datetime | None


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster of near-duplicates: its first page, its size and the URLs of its pages."""

    representative: str
    title: str
    size: int
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page."""

    id: int
    url: str
    host: str
    title: str
    words: int
    decision: str
    duplicate_of: str | None
    similarity: float | None
    representative: str | None
    engine: str
    rendered: bool
    render_error: str | None
    http_status: int | None
    error: str | None
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime | None


@dataclass(frozen=True, slots=True)
class VisitRow:
    """One visit to a page."""

    seen_at: datetime
    crawl: str
    decision: str
    similarity: float | None
    duplicate_of: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class PairRow:
    """A near-duplicate and the page that it repeats."""

    url: str
    duplicate_of: str
    representative: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Story:
    """Everything about one URL: its page, the other pages of its cluster, all visits."""

    page: PageRow
    cluster: tuple[str, ...]
    visits: tuple[VisitRow, ...]


def open_for_reading(url: str) -> Database:
    """Open a database that exists, whatever its recipe; nothing can be written through it."""
    database = Database.open(url)
    try:
        with database.read() as connection:
            read_info(database, connection)
    except BaseException:
        database.close()
        raise
    return database


def database_of(source: Store | Database) -> Database:
    """Return the database of a store."""
    return source if isinstance(source, Database) else source.database


def summary(source: Store | Database) -> Summary:
    """Count pages, decisions, clusters and visits."""
    database = database_of(source)
    with database.read() as connection:
        info = read_info(database, connection)
        by_decision: dict[str, int] = {
            row.decision: row.number
            for row in connection.execute(
                select(Page.decision, func.count().label("number")).group_by(Page.decision)
            )
        }
        spans = connection.execute(
            select(
                func.count(func.distinct(Page.host)).label("hosts"),
                func.min(Page.first_seen).label("first"),
                func.max(Page.last_seen).label("last"),
            )
        ).one()
        sizes = _sizes(2).subquery()
        groups = connection.execute(
            select(func.count().label("number"), func.max(sizes.c.size).label("largest"))
        ).one()
        visits = connection.execute(select(func.count()).select_from(Visit)).scalar_one()
    return Summary(
        database=database.name,
        signature=info.recipe.kind,
        similarity=info.similarity,
        created=info.created,
        pages=sum(by_decision.values()),
        new=by_decision.get("new", 0),
        duplicate=by_decision.get("duplicate", 0),
        empty=by_decision.get("empty", 0),
        failed=by_decision.get("failed", 0),
        hosts=spans.hosts,
        clusters=groups.number,
        largest_cluster=groups.largest or 0,
        visits=visits,
        first_seen=spans.first,
        last_seen=spans.last,
    )


def clusters(
    source: Store | Database, min_size: int = 2, limit: int | None = None
) -> list[ClusterRow]:
    """Return the clusters with at least `min_size` pages, largest first."""
    with database_of(source).read() as connection:
        sizes = _sizes(min_size).order_by(func.count().desc(), Page.cluster_id)
        rows = connection.execute(sizes if limit is None else sizes.limit(limit)).all()
        result = []
        for row in rows:
            members = connection.execute(
                select(Page.url, Page.title)
                .where(Page.cluster_id == row.cluster_id)
                .order_by(Page.id)
            ).all()
            result.append(
                ClusterRow(
                    members[0].url, members[0].title, row.size, tuple(m.url for m in members)
                )
            )
        return result


def story(source: Store | Database, url: str) -> Story | None:
    """Return everything about one URL, or ``None`` when it was never seen."""
    key = url_key(canonical_url(url))
    with database_of(source).read() as connection:
        row = connection.execute(_page_rows().where(Page.url_key == key)).first()
        if row is None:
            return None
        page = PageRow(*row)
        cluster = select(Page.cluster_id).where(Page.id == page.id).scalar_subquery()
        others = connection.execute(
            select(Page.url).where(Page.cluster_id == cluster, Page.id != page.id).order_by(Page.id)
        ).scalars()
        visits = connection.execute(
            select(
                Visit.seen_at,
                Visit.crawl,
                Visit.decision,
                Visit.similarity,
                _Original.url,
                Visit.reason,
            )
            .outerjoin(_Original, _Original.id == Visit.duplicate_of_id)
            .where(Visit.page_id == page.id)
            .order_by(Visit.id)
        )
        return Story(page, tuple(others), tuple(VisitRow(*visit) for visit in visits))


def pairs(source: Store | Database) -> Iterator[PairRow]:
    """Yield every near-duplicate with the page that it repeats, in order of first sight."""
    query = (
        select(Page.id, Page.url, _Original.url, _First.url, Page.similarity)
        .join(_Original, _Original.id == Page.duplicate_of_id)
        .join(_First, _First.id == Page.cluster_id)
    )
    for row in _in_batches(database_of(source), query):
        yield PairRow(*row[1:])


def pages(source: Store | Database) -> Iterator[PageRow]:
    """Yield every page, in order of first sight."""
    for row in _in_batches(database_of(source), _page_rows()):
        yield PageRow(*row)


def _sizes(min_size: int) -> Any:
    return (
        select(Page.cluster_id, func.count().label("size"))
        .where(Page.cluster_id.is_not(None))
        .group_by(Page.cluster_id)
        .having(func.count() >= min_size)
    )


def _page_rows() -> Any:
    """Return the query for the columns of `PageRow`."""
    return (
        select(
            Page.id,
            Page.url,
            Page.host,
            Page.title,
            Page.words,
            Page.decision,
            _Original.url,
            Page.similarity,
            _First.url,
            Page.engine,
            Page.rendered,
            Page.render_error,
            Page.http_status,
            Page.error,
            Page.first_seen,
            Page.last_seen,
            Page.last_changed,
        )
        .outerjoin(_Original, _Original.id == Page.duplicate_of_id)
        .outerjoin(_First, _First.id == Page.cluster_id)
    )


def _in_batches(database: Database, query: Any) -> Iterator[tuple[Any, ...]]:
    """Run a query on pages in batches by id, so that no long transaction stays open."""
    after = 0
    while True:
        batch: Executable = query.where(Page.id > after).order_by(Page.id).limit(_BATCH)
        with database.read() as connection:
            rows = [tuple(row) for row in connection.execute(batch)]
        yield from rows
        if len(rows) < _BATCH:
            return
        after = rows[-1][0]
