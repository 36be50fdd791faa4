"""The numbers of a report: sites, crawls, who copies whom, how pages were seen, histograms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, func, select
from sqlalchemy.orm import aliased

from websegment_scrapy.store.models import Crawl, Page, Site, Visit

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

__all__ = [
    "DECISIONS",
    "Copying",
    "CrawlNumbers",
    "SiteNumbers",
    "Ways",
    "change_bins",
    "copying",
    "crawl_numbers",
    "score_bins",
    "site_numbers",
    "ways_of_seeing",
]

DECISIONS = ("new", "duplicate", "unchanged", "changed", "empty", "failed")

BINS = 10
"""Of a histogram."""

MERGED = "merge of "
"""How crawls are called under which a merge wrote its decisions: nobody crawled then."""

_Original = aliased(Page, name="original")


@dataclass(slots=True)
class SiteNumbers:
    """One host in numbers; ``copies`` and ``copied`` count pages across hosts only.

    ``score`` is the mean of its pages' expected F1.
    """

    host: str
    pages: int
    new: int
    duplicate: int
    empty: int
    failed: int
    rendered: int
    words: int
    score: float | None
    first_seen: datetime | None
    last_seen: datetime | None
    copies: int = 0
    copied: int = 0


@dataclass(slots=True)
class CrawlNumbers:
    """One crawl: how many visits with which decision, and from when to when."""

    id: int
    name: str
    began: datetime
    ended: datetime
    decisions: dict[str, int] = field(default_factory=dict)
    rendered: int = 0
    """Pages whose last visit was in this crawl and that came from a browser."""
    pages: int = 0
    """Pages whose last visit was in this crawl."""

    @property
    def visits(self) -> int:
        """All its visits."""
        return sum(self.decisions.values())

    @property
    def spider(self) -> str:
        """The name without the time of its start."""
        return self.name.rpartition(" ")[0] or self.name

    @property
    def is_merge(self) -> bool:
        """Whether it only brought pages of another database."""
        return self.name.startswith(MERGED)


@dataclass(frozen=True, slots=True)
class Copying:
    """How many pages of a host repeat pages of another, and how similar they are on average."""

    host: str
    original: str
    pages: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Ways:
    """Pages seen in one way: rendered or not, or not although they should have been."""

    way: str
    pages: int
    empty: int
    failed: int
    words: float
    score: float | None


def site_numbers(connection: Connection) -> list[SiteNumbers]:
    """Return every host that has pages, the largest first."""
    decided = {kind: _count(Page.decision == kind) for kind in ("new", "duplicate", "empty")}
    query = (
        select(
            Page.host,
            func.count(),
            *decided.values(),
            _count(Page.decision == "failed"),
            _count(Page.rendered),
            func.sum(Page.words),
            func.avg(Page.main_text_score),
            Site.first_seen,
            func.max(Page.last_seen),
        )
        .outerjoin(Site, Site.host == Page.host)
        .group_by(Page.host, Site.first_seen)
        .order_by(func.count().desc(), Page.host)
    )
    return [SiteNumbers(*row) for row in connection.execute(query)]


def copying(connection: Connection) -> list[Copying]:
    """Return who repeats whom by host, the same host too; those with most pages first."""
    query = (
        select(Page.host, _Original.host, func.count(), func.avg(Page.similarity))
        .join(_Original, _Original.id == Page.duplicate_of_id)
        .where(Page.duplicate_of_id.is_not(None))
        .group_by(Page.host, _Original.host)
        .order_by(func.count().desc(), Page.host, _Original.host)
    )
    return [Copying(*row) for row in connection.execute(query)]


def crawl_numbers(connection: Connection) -> list[CrawlNumbers]:
    """Return every crawl that has visits, the last first."""
    names = {row.id: row.name for row in connection.execute(select(Crawl.id, Crawl.name))}
    found: dict[int, CrawlNumbers] = {}
    query = select(
        Visit.crawl_id,
        Visit.decision,
        func.count(),
        func.min(Visit.seen_at),
        func.max(Visit.seen_at),
    ).group_by(Visit.crawl_id, Visit.decision)
    for crawl, decision, number, began, ended in connection.execute(query):
        own = found.setdefault(crawl, CrawlNumbers(crawl, names.get(crawl, "?"), began, ended))
        own.began, own.ended = min(own.began, began), max(own.ended, ended)
        own.decisions[decision] = number
    seen = select(Page.crawl_id, func.count(), _count(Page.rendered)).group_by(Page.crawl_id)
    for crawl, pages, rendered in connection.execute(seen):
        if crawl in found:
            found[crawl].pages, found[crawl].rendered = pages, rendered
    return sorted(found.values(), key=lambda each: (each.ended, each.id), reverse=True)


def ways_of_seeing(connection: Connection) -> list[Ways]:
    """Return how pages were seen at their last visits."""
    way: Any = case(
        (Page.rendered, "rendered"),
        (Page.render_error.is_not(None), "refused"),
        else_="plain",
    )
    query = select(
        way,
        func.count(),
        _count(Page.decision == "empty"),
        _count(Page.decision == "failed"),
        func.avg(case((Page.decision.in_(("new", "duplicate")), Page.words))),
        func.avg(Page.main_text_score),
    ).group_by(way)
    found = {}
    for name, pages, empty, failed, words, score in connection.execute(query):
        found[name] = Ways(name, pages, empty, failed, float(words or 0), score)
    return [found[name] for name in ("rendered", "plain", "refused") if name in found]


def score_bins(connection: Connection) -> list[int]:
    """Return how many pages have which expected F1 (`Page.main_text_score`), from 0 to 1."""
    edges = range(BINS - 1, 0, -1)
    place = case(*((Page.main_text_score >= edge / BINS, edge) for edge in edges), else_=0)
    query = select(place, func.count()).where(Page.main_text_score.is_not(None)).group_by(place)
    bins = [0] * BINS
    for own, pages in connection.execute(query):
        bins[own] = pages
    return bins


def change_bins(connection: Connection) -> dict[str, Any]:
    """Return how many visits found how much changed; ``unknown`` ones have no measure."""
    bins, unknown = [0] * BINS, 0
    query = (
        select(Visit.similarity, func.count())
        .where(Visit.decision == "changed")
        .group_by(Visit.similarity)
    )
    for similarity, number in connection.execute(query):
        if similarity is None:
            unknown += number
        else:
            bins[min(int((1 - similarity) * BINS), BINS - 1)] += number
    return {"bins": bins, "unknown": unknown}


def add_copies(sites: list[SiteNumbers], cells: list[Copying]) -> None:
    """Write down with each site what it copies of others, and others of it."""
    by_host = {site.host: site for site in sites}
    for cell in cells:
        if cell.host != cell.original:
            if cell.host in by_host:
                by_host[cell.host].copies += cell.pages
            if cell.original in by_host:
                by_host[cell.original].copied += cell.pages


def _count(condition: Any) -> Any:
    return func.sum(case((and_(condition), 1), else_=0))
