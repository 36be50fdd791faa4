"""What came, went and changed between a crawl and the one before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import select

from websegment_scrapy.store.models import Page, Visit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.view.numbers import CrawlNumbers

__all__ = ["Change", "Difference", "difference", "two_crawls"]

KINDS = ("came", "gone", "changed", "failing", "mended", "unchanged")

_GOOD = ("new", "duplicate", "unchanged", "changed")

CHUNK = 500
_STREAM = {"yield_per": 1000}


@dataclass(frozen=True, slots=True)
class Change:
    """Pages of which the same is to be told: how many, and the first of them."""

    kind: str
    pages: int
    examples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A crawl beside the one before it; only hosts that the later one visited are compared."""

    last: CrawlNumbers
    before: CrawlNumbers
    changes: tuple[Change, ...]


def two_crawls(crawls: Sequence[CrawlNumbers]) -> tuple[CrawlNumbers, CrawlNumbers] | None:
    """Return the last crawl and the one before it: of the same spider if there is one."""
    real = [crawl for crawl in crawls if not crawl.is_merge]
    if not real:
        return None
    last, *others = sorted(real, key=lambda crawl: (crawl.began, crawl.id), reverse=True)
    same = [crawl for crawl in others if crawl.spider == last.spider]
    before = (same or others)[:1]
    return (last, before[0]) if before else None


def difference(
    connection: Connection, last: CrawlNumbers, before: CrawlNumbers, examples: int
) -> Difference:
    """Compare two crawls page by page, each by its last visit to the page."""
    found = {kind: Found(examples) for kind in KINDS}
    absent: list[int] = []
    for page, decision, former in _side_by_side(connection, last.id, before.id):
        if decision is None:
            if former in _GOOD:
                absent.append(page)
            continue
        kind = _kind(decision, former)
        if kind is not None:
            found[kind].add(page)
    hosts = _hosts(connection, last.id)
    for start in range(0, len(absent), CHUNK):
        chunk = select(Page.id, Page.host).where(Page.id.in_(absent[start : start + CHUNK]))
        for page, host in connection.execute(chunk.order_by(Page.id)):
            if host in hosts:
                found["gone"].add(page)
    changes = tuple(Change(kind, own.count, tuple(own.first)) for kind, own in found.items())
    return Difference(last, before, changes)


@dataclass(slots=True)
class Found:
    """Pages of one kind: how many, and the first of them, up to a number."""

    most: int
    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, page: int) -> None:
        """Count a page."""
        self.count += 1
        if len(self.first) < self.most:
            self.first.append(page)


def _side_by_side(
    connection: Connection, last: int, before: int
) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield each page of two crawls with both decisions; both are read in order of the pages.

    A join of the two would be faster where the planner is lucky, and takes hours where it is not.
    """
    now, then = _visits(connection, last), _visits(connection, before)
    nothing = (None, None)
    ours, theirs = next(now, nothing), next(then, nothing)
    while ours[0] is not None or theirs[0] is not None:
        if theirs[0] is None or (ours[0] is not None and ours[0] < theirs[0]):
            assert ours[0] is not None
            yield ours[0], ours[1], None
            ours = next(now, nothing)
        elif ours[0] is None or theirs[0] < ours[0]:
            yield theirs[0], None, theirs[1]
            theirs = next(then, nothing)
        else:
            yield ours[0], ours[1], theirs[1]
            ours, theirs = next(now, nothing), next(then, nothing)


def _visits(connection: Connection, crawl: int) -> Iterator[tuple[int, str]]:
    """Yield the pages of a crawl in order, each with its last decision there."""
    query = (
        select(Visit.page_id, Visit.decision)
        .where(Visit.crawl_id == crawl)
        .order_by(Visit.page_id, Visit.id)
    )
    latest: tuple[int, str] | None = None
    for page, decision in connection.execute(query, execution_options=_STREAM):
        if latest is not None and latest[0] != page:
            yield latest
        latest = page, decision
    if latest is not None:
        yield latest


def _hosts(connection: Connection, crawl: int) -> set[str]:
    query = (
        select(Page.host)
        .join(Visit, Visit.page_id == Page.id)
        .where(Visit.crawl_id == crawl)
        .distinct()
    )
    return set(connection.execute(query).scalars())


def _kind(decision: str, former: str | None) -> str | None:
    """Say what became of a page that the later crawl visited."""
    if decision in ("new", "duplicate"):
        return "came"
    if decision in ("failed", "empty"):
        return "failing" if former in _GOOD else None
    if former in ("failed", "empty"):
        return "mended"
    return decision if decision in ("changed", "unchanged") else None
