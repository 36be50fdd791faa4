"""What came, went and changed between a crawl and the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from websegment_scrapy.store.models import Page, Visit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.view.numbers import CrawlNumbers

__all__ = ["Change", "Difference", "difference", "two_crawls"]

KINDS = ("came", "gone", "changed", "failing", "mended", "unchanged")

_GOOD = ("new", "duplicate", "unchanged", "changed")

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
    now, then = _visits(last.id, "now"), _visits(before.id, "former")
    pairs = select(now.c.page_id, now.c.decision, then.c.decision).outerjoin(
        then, then.c.page_id == now.c.page_id
    )
    counts = dict.fromkeys(KINDS, 0)
    shown: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for page, decision, former in connection.execute(pairs, execution_options=_STREAM):
        kind = _kind(decision, former)
        if kind is not None:
            counts[kind] += 1
            if len(shown[kind]) < examples:
                shown[kind].append(page)
    visited = select(Page.host).join(now, now.c.page_id == Page.id).distinct()
    absent = (
        select(Page.id)
        .join(then, then.c.page_id == Page.id)
        .outerjoin(now, now.c.page_id == Page.id)
        .where(now.c.page_id.is_(None), then.c.decision.in_(_GOOD), Page.host.in_(visited))
    )
    gone = select(func.count()).select_from(absent.subquery())
    counts["gone"] = connection.execute(gone).scalar_one()
    few = absent.order_by(Page.id).limit(examples)
    shown["gone"] = list(connection.execute(few).scalars())
    changes = tuple(Change(kind, counts[kind], tuple(shown[kind])) for kind in KINDS)
    return Difference(last, before, changes)


def _kind(decision: str, former: str | None) -> str | None:
    """Say what became of a page that the later crawl visited."""
    if decision in ("new", "duplicate"):
        return "came"
    if decision in ("failed", "empty"):
        return "failing" if former in _GOOD else None
    if former in ("failed", "empty"):
        return "mended"
    return decision if decision in ("changed", "unchanged") else None


def _visits(crawl: int, name: str) -> Any:
    """Return the last visit of a crawl to each of its pages."""
    last = (
        select(func.max(Visit.id).label("id"))
        .where(Visit.crawl_id == crawl)
        .group_by(Visit.page_id)
        .subquery()
    )
    visit = aliased(Visit)
    return (
        select(visit.page_id, visit.decision).join(last, last.c.id == visit.id).subquery(name=name)
    )
