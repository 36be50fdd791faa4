"""Questions to a dedup database: summary, clusters, one URL's story, pairs, changes, sites, pages.

Every function reads in short transactions of its own, so crawls may write meanwhile.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, literal_column, or_, select
from sqlalchemy.orm import aliased

from websegment_scrapy.store.answers import (
    ChangeRow,
    ClusterRow,
    PageRow,
    PairRow,
    RevisedRow,
    SiteRow,
    Story,
    Summary,
    VisitRow,
)
from websegment_scrapy.store.clusters import in_cluster
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.models import Crawl, Page, Site, Visit
from websegment_scrapy.store.record import canonical_url, url_key
from websegment_scrapy.store.schema import count_former, read_info
from websegment_scrapy.store.type_counts import types_by_host, types_of_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Executable

    from websegment_scrapy.store.schema import Info
    from websegment_scrapy.store.store import Store

__all__ = [
    "changed",
    "clusters",
    "info_of",
    "open_for_reading",
    "page_count",
    "pages",
    "pairs",
    "revised",
    "sites",
    "story",
    "summary",
]

_BATCH = 1000

_Original, _First = aliased(Page, name="original"), aliased(Page, name="first")
_MEMBERS = (
    select(Page.url, Page.title)
    .where(in_cluster(bindparam("cluster")))
    .order_by(Page.cluster_id != Page.id, Page.id)
)


def open_for_reading(url: str, *, mapped: bool = False) -> Database:
    """Open a database that exists, whatever its recipe; nothing can be written through it."""
    database = Database.open(url, mapped=mapped)
    try:
        with database.read() as connection:
            read_info(database, connection)
    except BaseException:
        database.close()
        raise
    return database


def info_of(url: str) -> Info:
    """Read what the database at a URL was made for."""
    with closing(open_for_reading(url)) as database, database.read() as connection:
        return read_info(database, connection)


def database_of(source: Store | Database) -> Database:
    """Return the database of a store."""
    return source if isinstance(source, Database) else source.database


def page_count(source: Store | Database) -> int:
    """Count all pages."""
    with database_of(source).read() as connection:
        return connection.execute(select(func.count()).select_from(Page)).scalar_one()


def summary(source: Store | Database) -> Summary:
    """Count pages, decisions, clusters and visits.

    Every number comes from an index, so it takes no reading of all pages.
    """
    database = database_of(source)
    with database.read() as connection:
        info = read_info(database, connection)

        def count(what: Any, *conditions: Any) -> int:
            query = select(func.count()).select_from(what).where(*conditions)
            found: int = connection.execute(query).scalar_one()
            return found

        pages = count(Page)
        duplicate = count(Page, Page.duplicate_of_id.is_not(None))
        without: dict[str, int] = {
            row.decision: row.number
            for row in connection.execute(
                select(Page.decision, func.count().label("number"))
                .where(Page.signature.is_(None))
                .group_by(Page.decision)
            )
        }
        sizes = _sizes(2).subquery()
        groups = connection.execute(
            select(func.count().label("number"), func.max(sizes.c.size).label("largest"))
        ).one()
        former = count_former(connection, info.recipe_id)
        visits = count(Visit)
        hosts = count(Site)
        moment = select(Visit.seen_at).limit(1)
        first = connection.execute(moment.order_by(Visit.id)).scalar()
        last = connection.execute(moment.order_by(Visit.id.desc())).scalar()
        types = types_of_all(connection)
    return Summary(
        database=database.name,
        signature=info.recipe.kind,
        similarity=info.similarity,
        created=info.created,
        pages=pages,
        new=pages - duplicate - sum(without.values()),
        duplicate=duplicate,
        empty=without.get("empty", 0),
        failed=without.get("failed", 0),
        former_recipe=former,
        hosts=hosts,
        clusters=groups.number,
        largest_cluster=groups.largest or 0,
        visits=visits,
        first_seen=first,
        last_seen=last,
        page_types=types,
    )


def clusters(
    source: Store | Database, min_size: int = 2, limit: int | None = None
) -> list[ClusterRow]:
    """Return the clusters with at least `min_size` pages, largest first."""
    with database_of(source).read() as connection:
        sizes = _sizes(min_size).order_by(literal_column("size").desc(), Page.cluster_id)
        rows = connection.execute(sizes if limit is None else sizes.limit(limit)).all()
        result = []
        for row in rows:
            members = connection.execute(_MEMBERS, {"cluster": row.cluster_id}).all()
            result.append(
                ClusterRow(
                    members[0].url, members[0].title, row.size, tuple(m.url for m in members)
                )
            )
        return result


def changed(
    source: Store | Database, since: datetime, *, new_too: bool = False
) -> Iterator[ChangeRow]:
    """Yield the visits since a moment that found other words than before, in order of time.

    With `new_too` also those that found a page for the first time: all that is new since then,
    without near-duplicates of what was known.
    """
    kinds = ("changed", "new") if new_too else ("changed",)
    chosen = [Visit.decision == kind for kind in kinds]
    query = (
        select(
            Visit.id,
            *_columns(
                ChangeRow,
                Visit,
                url=Page.url,
                crawl=Crawl.name,
                changed_share=case((Visit.decision == "changed", 1 - Visit.similarity)),
                title=Page.title,
            ),
        )
        .join(Page, Page.id == Visit.page_id)
        .join(Crawl, Crawl.id == Visit.crawl_id)
        .where(Visit.seen_at >= since, or_(*chosen))
    )
    for row in _in_batches(database_of(source), query, Visit.id):
        yield ChangeRow(*row[1:])


def revised(source: Store | Database, since: datetime) -> Iterator[RevisedRow]:
    """Yield the pages that were judged again since a moment, in order of first sight."""
    query = (
        select(Page.id, *_columns(RevisedRow, Page, duplicate_of=_Original.url))
        .outerjoin(_Original, _Original.id == Page.duplicate_of_id)
        .where(Page.revised >= since)
    )
    for row in _in_batches(database_of(source), query):
        yield RevisedRow(*row[1:])


def sites(source: Store | Database) -> list[SiteRow]:
    """Return every host with its numbers, the largest first."""

    def of(decision: str) -> Any:
        return func.sum(case((Page.decision == decision, 1), else_=0)).label(decision)

    numbers = (
        select(
            Page.host,
            func.count().label("pages"),
            *[of(decision) for decision in ("new", "duplicate", "empty", "failed")],
            func.max(Page.last_seen).label("last_seen"),
        )
        .group_by(Page.host)
        .subquery()
    )
    query = (
        select(
            Site.host,
            func.coalesce(numbers.c.pages, 0),
            func.coalesce(numbers.c.new, 0),
            func.coalesce(numbers.c.duplicate, 0),
            func.coalesce(numbers.c.empty, 0),
            func.coalesce(numbers.c.failed, 0),
            Site.first_seen,
            numbers.c.last_seen,
            Site.forgotten_pages,
        )
        .outerjoin(numbers, numbers.c.host == Site.host)
        .order_by(func.coalesce(numbers.c.pages, 0).desc(), Site.host)
    )
    with database_of(source).read() as connection:
        types = types_by_host(connection)
        return [SiteRow(*(*row, types.get(row.host, {}))) for row in connection.execute(query)]


def story(source: Store | Database, url: str) -> Story | None:
    """Return everything about one URL, or ``None`` when it was never seen."""
    key = url_key(canonical_url(url))
    with database_of(source).read() as connection:
        row = connection.execute(_page_rows().where(Page.url_key == key)).first()
        if row is None:
            return None
        page = PageRow(*row)
        cluster = connection.execute(select(Page.cluster_id).where(Page.id == page.id)).scalar_one()
        others = connection.execute(
            select(Page.url).where(in_cluster(cluster), Page.id != page.id).order_by(Page.id)
        ).scalars()
        visits = connection.execute(
            select(*_columns(VisitRow, Visit, crawl=Crawl.name, duplicate_of=_Original.url))
            .join(Crawl, Crawl.id == Visit.crawl_id)
            .outerjoin(_Original, _Original.id == Visit.duplicate_of_id)
            .where(Visit.page_id == page.id)
            .order_by(Visit.id)
        )
        return Story(page, tuple(others), tuple(VisitRow(*visit) for visit in visits))


def pairs(source: Store | Database) -> Iterator[PairRow]:
    """Yield every near-duplicate with the page that it repeats, in order of first sight."""
    query = (
        select(
            Page.id, *_columns(PairRow, Page, duplicate_of=_Original.url, representative=_First.url)
        )
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
    """Return the query for the sizes of clusters.

    Clusters of one page are those that are in no other cluster; all others are counted in the
    index of the members that do not represent their cluster.
    """
    members = (
        select(Page.cluster_id, (func.count() + 1).label("size"))
        .where(Page.cluster_id != Page.id)
        .group_by(Page.cluster_id)
        .having(func.count() + 1 >= min_size)
    )
    if min_size > 1:
        return members
    return (
        select(Page.cluster_id, func.count().label("size"))
        .where(Page.cluster_id.is_not(None))
        .group_by(Page.cluster_id)
    )


def _page_rows() -> Any:
    """Return the query for the columns of `PageRow`."""
    return (
        select(
            *_columns(
                PageRow,
                Page,
                duplicate_of=_Original.url,
                representative=_First.url,
                crawl=Crawl.name,
            )
        )
        .outerjoin(_Original, _Original.id == Page.duplicate_of_id)
        .outerjoin(_First, _First.id == Page.cluster_id)
        .outerjoin(Crawl, Crawl.id == Page.crawl_id)
    )


def _columns(answer: type, table: type, **others: Any) -> list[Any]:
    """Return the columns of an answer: those of a table by their names, and the others as given."""
    return [
        others[field.name] if field.name in others else getattr(table, field.name)
        for field in fields(answer)
    ]


def _in_batches(database: Database, query: Any, column: Any = Page.id) -> Iterator[tuple[Any, ...]]:
    """Run a query in batches by id, so that no long transaction stays open."""
    after = 0
    while True:
        batch: Executable = query.where(column > after).order_by(column).limit(_BATCH)
        with database.read() as connection:
            rows = [tuple(row) for row in connection.execute(batch)]
        yield from rows
        if len(rows) < _BATCH:
            return
        after = rows[-1][0]
