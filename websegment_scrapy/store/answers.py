"""What questions to a dedup database are answered with (`queries`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "ChangeRow",
    "ClusterRow",
    "DueRow",
    "PageRow",
    "PairRow",
    "RevisedRow",
    "SiteRow",
    "Story",
    "Summary",
    "VisitRow",
]


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
    former_recipe: int
    hosts: int
    clusters: int
    largest_cluster: int
    visits: int
    first_seen: datetime | None
    last_seen: datetime | None
    page_types: dict[str, int]
    """How many pages are of each type, the most frequent first."""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster of near-duplicates: its representative, its size and the URLs of its pages."""

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
    model: str
    rendered: bool
    render_error: str | None
    render_reason: str | None
    http_status: int | None
    error: str | None
    crawl: str | None
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime | None
    revised: datetime | None
    page_type: str | None
    page_type_probability: float | None
    main_text_score: float | None


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
class ChangeRow:
    """A page that is new or has changed, and how much: 0 to 1, for a page that was known."""

    url: str
    seen_at: datetime
    crawl: str
    decision: str
    changed_share: float | None
    title: str


@dataclass(frozen=True, slots=True)
class RevisedRow:
    """A page that was judged again, and what it is now."""

    url: str
    revised: datetime
    decision: str
    words: int
    duplicate_of: str | None
    title: str


@dataclass(frozen=True, slots=True)
class DueRow:
    """A page that is due to be looked at again, and how long it is left alone between two looks."""

    url: str
    due: datetime
    interval_hours: float
    last_seen: datetime
    last_changed: datetime | None


@dataclass(frozen=True, slots=True)
class SiteRow:
    """One host in numbers; ``forgotten`` pages are counted nowhere else.

    ``page_types`` says how many pages are of each type, the most frequent first.
    """

    host: str
    pages: int
    new: int
    duplicate: int
    empty: int
    failed: int
    first_seen: datetime
    last_seen: datetime | None
    forgotten: int
    page_types: dict[str, int]


@dataclass(frozen=True, slots=True)
class Story:
    """Everything about one URL: its page, the other pages of its cluster, all visits."""

    page: PageRow
    cluster: tuple[str, ...]
    visits: tuple[VisitRow, ...]
