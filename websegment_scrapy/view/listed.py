"""The rows of a report, each up to a limit: clusters, copies, changes, low scores, failures."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import aliased

from websegment_scrapy.printable import shortened
from websegment_scrapy.store.clusters import in_cluster
from websegment_scrapy.store.models import Page, Visit

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

__all__ = [
    "ChangedPage",
    "Cluster",
    "Copy",
    "Reason",
    "changed_pages",
    "copies",
    "kind_of_reason",
    "largest_clusters",
    "lowest_scores",
    "reasons",
]

REASON = 200
"""Characters of a reason that are told."""

_VARYING = re.compile(r"https?://[^\s'\"<>]+|0x[0-9a-f]+|\d+(?:[.,]\d+)?", re.ASCII | re.IGNORECASE)
"""What differs between two messages of the same kind: addresses and numbers."""

_Original = aliased(Page, name="original")
_STREAM = {"yield_per": 1000}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster: its number, its size, of how many hosts its pages are, and the first of them."""

    id: int
    size: int
    hosts: int
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """A page, the one that it repeats, and how similar they are."""

    page: int
    original: int
    similarity: float


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """A visit that found another text than before, and how much of it is new (0 to 1)."""

    page: int
    seen_at: datetime
    crawl: int
    share: float | None


@dataclass(slots=True)
class Reason:
    """Why pages failed, with how many did and the last of them."""

    what: str
    reason: str
    pages: int = 0
    examples: list[int] = field(default_factory=list)


def largest_clusters(connection: Connection, limit: int, members: int) -> list[Cluster]:
    """Return the largest clusters, each with some of its pages, the representative first."""
    size = (func.count() + 1).label("size")
    sizes = (
        select(Page.cluster_id, size)
        .where(Page.cluster_id != Page.id)
        .group_by(Page.cluster_id)
        .order_by(size.desc(), Page.cluster_id)
        .limit(limit)
    )
    found = []
    for cluster, number in connection.execute(sizes).all():
        assert cluster is not None
        own = in_cluster(cluster)
        first = select(Page.id).where(own).order_by(Page.cluster_id != Page.id, Page.id)
        hosts = select(func.count(Page.host.distinct())).where(own)
        found.append(
            Cluster(
                cluster,
                number,
                connection.execute(hosts).scalar_one(),
                tuple(connection.execute(first.limit(members)).scalars()),
            )
        )
    return found


def copies(connection: Connection, limit: int, of_each: int) -> list[Copy]:
    """Return the last copies, and of each two hosts the last ones; across hosts first."""
    rank = (
        func.row_number()
        .over(partition_by=(Page.host, _Original.host), order_by=Page.id.desc())
        .label("rank")
    )
    across = (Page.host != _Original.host).label("across")
    ranked = (
        select(Page.id, Page.duplicate_of_id, Page.similarity, rank, across)
        .join(_Original, _Original.id == Page.duplicate_of_id)
        .where(Page.duplicate_of_id.is_not(None))
        .subquery()
    )
    columns = ranked.c
    query = (
        select(columns.id, columns.duplicate_of_id, columns.similarity)
        .order_by((columns.rank <= of_each).desc(), columns.across.desc(), columns.id.desc())
        .limit(limit)
    )
    return [Copy(*row) for row in connection.execute(query)]


def changed_pages(connection: Connection, limit: int) -> list[ChangedPage]:
    """Return the last visits that found another text."""
    changed = Visit.decision == "changed"
    query = (
        select(Visit.page_id, Visit.seen_at, Visit.crawl_id, 1 - Visit.similarity)
        .where(changed)
        .order_by(Visit.seen_at.desc(), Visit.id.desc())
        .limit(limit)
    )
    return [ChangedPage(*row) for row in connection.execute(query)]


def lowest_scores(connection: Connection, limit: int) -> list[int]:
    """Return the pages whose text is expected to be worst, the worst first."""
    query = (
        select(Page.id)
        .where(Page.main_text_score.is_not(None))
        .order_by(Page.main_text_score, Page.id)
        .limit(limit)
    )
    return list(connection.execute(query).scalars())


def reasons(connection: Connection, examples: int) -> list[Reason]:
    """Return why pages failed, were empty or were not rendered, the most frequent first.

    Reasons that differ in addresses and numbers only are one.
    """
    query: Any = (
        select(Page.id, Page.decision, Page.error, Page.render_error, Page.http_status)
        .where(
            or_(
                Page.error.is_not(None),
                Page.render_error.is_not(None),
                Page.decision.in_(("failed", "empty")),
            )
        )
        .order_by(Page.id.desc())
    )
    found: dict[tuple[str, str], Reason] = {}

    def note(what: str, reason: str, page: int) -> None:
        own = found.setdefault((what, reason), Reason(what, reason))
        own.pages += 1
        if len(own.examples) < examples:
            own.examples.append(page)

    for page, decision, error, render_error, status in connection.execute(
        query, execution_options=_STREAM
    ):
        if error is not None or decision == "failed":
            note("failed", kind_of_reason(error or _by_status(status)), page)
        elif decision == "empty":
            note("empty", "too few words to compare", page)
        if render_error is not None:
            note("not rendered", kind_of_reason(render_error), page)
    return sorted(found.values(), key=lambda each: (-each.pages, each.what, each.reason))


def kind_of_reason(reason: str) -> str:
    """Return a reason without what differs from page to page.

    Examples
    --------
    >>> kind_of_reason("https://a.example/7 was not analysed within 30.0 s")
    '… was not analysed within … s'
    """
    return _VARYING.sub("…", shortened(reason, REASON))


def _by_status(status: int | None) -> str:
    return "no reason is known" if status is None else "the server's answer was no page"
