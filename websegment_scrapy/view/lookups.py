"""What the viewer asks a database: one page of rows at a time, each answer in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import aliased

from websegment_scrapy.store.clusters import in_cluster
from websegment_scrapy.store.models import Crawl, Page, Site, Visit
from websegment_scrapy.store.record import canonical_url, url_key

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = [
    "ROWS",
    "Rows",
    "cluster_pages",
    "copies_of",
    "found_pages",
    "hosts_like",
    "page_by_id",
    "page_by_url",
    "site_story",
    "visits_of",
]

ROWS = 25
FEW = 2000
"""Pages of a site up to which they are asked for by their ids, not by the host."""

MOST_COPIES = 20
MOST_VISITS = 100

_Original, _First = aliased(Page, name="original"), aliased(Page, name="first")
_COLUMNS = (
    Page.id,
    Page.url,
    Page.host,
    Page.title,
    Page.words,
    Page.decision,
    Page.similarity,
    Page.duplicate_of_id,
    Page.cluster_id,
    Page.last_seen,
)


@dataclass(frozen=True, slots=True)
class Rows:
    """One page of rows; ``below`` is what the next one is asked for with, if there is one."""

    rows: tuple[Any, ...]
    below: int | None = None


@dataclass(frozen=True, slots=True)
class SiteStory:
    """A site: its decisions now, its decisions by crawl, and some of its pages."""

    decisions: dict[str, int]
    crawls: tuple[tuple[str, dict[str, int]], ...]
    pages: Rows


def _rows(found: list[Any], key: str = "id") -> Rows:
    more = len(found) > ROWS
    shown = tuple(found[:ROWS])
    return Rows(shown, getattr(shown[-1], key) if more else None)


def page_by_id(connection: Connection, page: int) -> Any:
    """Return everything about a page, with the names of what it refers to."""
    query = (
        select(
            *[column for column in Page.__table__.columns if column.name not in _LARGE],
            _Original.url.label("original_url"),
            _Original.title.label("original_title"),
            _First.url.label("first_url"),
            _First.title.label("first_title"),
            Crawl.name.label("crawl"),
        )
        .select_from(Page)
        .outerjoin(_Original, _Original.id == Page.duplicate_of_id)
        .outerjoin(_First, _First.id == Page.cluster_id)
        .outerjoin(Crawl, Crawl.id == Page.crawl_id)
        .where(Page.id == page)
    )
    return connection.execute(query).first()


_LARGE = {"signature", "fingerprint", "url_key", "content_hash", "page_hash", "document_hash"}


def page_by_url(connection: Connection, url: str) -> int | None:
    """Return the page of a URL, if it was seen."""
    key = url_key(canonical_url(url))
    return connection.execute(select(Page.id).where(Page.url_key == key)).scalar()


def visits_of(connection: Connection, page: int) -> list[Any]:
    """Return the last visits to a page."""
    query = (
        select(
            Visit.seen_at,
            Crawl.name.label("crawl"),
            Visit.decision,
            Visit.similarity,
            Visit.duplicate_of_id,
            func.coalesce(func.nullif(_Original.title, ""), _Original.url).label("original"),
            Visit.reason,
        )
        .outerjoin(Crawl, Crawl.id == Visit.crawl_id)
        .outerjoin(_Original, _Original.id == Visit.duplicate_of_id)
        .where(Visit.page_id == page)
        .order_by(Visit.id.desc())
        .limit(MOST_VISITS)
    )
    return list(connection.execute(query).all())


def copies_of(connection: Connection, page: int) -> list[Any]:
    """Return pages that repeat a page."""
    query = (
        select(*_COLUMNS)
        .where(Page.duplicate_of_id == page)
        .order_by(Page.id.desc())
        .limit(MOST_COPIES)
    )
    return list(connection.execute(query).all())


def cluster_pages(connection: Connection, cluster: int, above: int = 0) -> tuple[int, Rows]:
    """Return the size of a cluster and some of its pages, the earliest first."""
    own = in_cluster(cluster)
    size = connection.execute(select(func.count()).select_from(Page).where(own)).scalar_one()
    query = select(*_COLUMNS).where(own, Page.id > above).order_by(Page.id).limit(ROWS + 1)
    return size, _rows(list(connection.execute(query).all()))


def found_pages(connection: Connection, wanted: str, below: int | None = None) -> Rows:
    """Return pages whose URL or title has a text in it, the latest first."""
    query = select(*_COLUMNS).order_by(Page.id.desc()).limit(ROWS + 1)
    if wanted:
        query = query.where(
            or_(_has(connection, Page.url, wanted), _has(connection, Page.title, wanted))
        )
    if below is not None:
        query = query.where(Page.id < below)
    return _rows(list(connection.execute(query).all()))


def _has(connection: Connection, column: Any, wanted: str) -> Any:
    """Return whether a column has a text in it, in any case.

    SQLite's LIKE knows the case of ASCII letters by itself, and takes half the time then.
    """
    if connection.dialect.name == "sqlite":
        return column.contains(wanted, autoescape=True)
    return column.icontains(wanted, autoescape=True)


def hosts_like(connection: Connection, wanted: str) -> list[str]:
    """Return hosts that have a text in them."""
    query = select(Site.host).order_by(Site.host).limit(ROWS)
    if wanted:
        query = query.where(_has(connection, Site.host, wanted))
    return list(connection.execute(query).scalars())


def site_story(connection: Connection, host: str, below: int | None = None) -> SiteStory:
    """Return what is known of a site; there is no index of hosts, so as few scans as can be."""
    own: Any = Page.host == host
    few = list(
        connection.execute(
            select(Page.id).where(own).order_by(Page.id.desc()).limit(FEW + 1)
        ).scalars()
    )
    of_visits: Any = Page.host == host
    if len(few) <= FEW:
        own, of_visits = Page.id.in_(few), Visit.page_id.in_(few)
    decisions = select(Page.decision, func.count()).where(own).group_by(Page.decision)
    counted = {row[0]: row[1] for row in connection.execute(decisions)}
    visits = select(Visit.crawl_id, Visit.decision, func.count()).group_by(
        Visit.crawl_id, Visit.decision
    )
    if len(few) > FEW:
        visits = visits.join(Page, Page.id == Visit.page_id)
    crawls: dict[int, dict[str, int]] = {}
    for crawl, decision, number in connection.execute(visits.where(of_visits)):
        crawls.setdefault(crawl, {})[decision] = number
    last = sorted(crawls, reverse=True)[:ROWS]
    named = select(Crawl.id, Crawl.name).where(Crawl.id.in_(last))
    names = {row.id: row.name for row in connection.execute(named)}
    query = select(*_COLUMNS).where(own).order_by(Page.id.desc()).limit(ROWS + 1)
    if below is not None:
        query = query.where(Page.id < below)
    pages = _rows(list(connection.execute(query).all()))
    return SiteStory(counted, tuple((names.get(c, "?"), crawls[c]) for c in last), pages)
