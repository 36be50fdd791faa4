"""What the store decides about a page: new, duplicate, unchanged, changed, empty or failed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["Decision", "DecisionKind"]


class DecisionKind(StrEnum):
    """The six decisions."""

    NEW = "new"
    """First visit to this URL; no representative in the database is similar."""
    DUPLICATE = "duplicate"
    """First visit to this URL; a page in the database is similar, and so is its representative."""
    UNCHANGED = "unchanged"
    """Seen before, and its words are the same."""
    CHANGED = "changed"
    """Seen before, with other words."""
    EMPTY = "empty"
    """Too few words to compare."""
    FAILED = "failed"
    """The page could not be fetched or analysed."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one visit.

    Parameters
    ----------
    kind
        What was decided.
    url
        The page's canonical URL, as stored.
    page_id
        Its row in the table ``pages``.
    first_seen
        When the URL was seen for the first time (UTC).
    duplicate_of
        URL of the most similar page, when the page's content is a near-duplicate; also for an
        ``unchanged`` or ``changed`` page whose content is one.
    similarity
        ``duplicate`` and ``unchanged``: similarity to `duplicate_of`; ``changed``: similarity to
        the page's own former content; otherwise ``None``.
    representative
        URL of the page that stands for the text: the page itself when it repeats nothing, otherwise
        one that it is similar to. ``None`` for ``empty`` and ``failed``.
    reason
        Why the page is ``empty`` or ``failed``.
    revised
        Whether an ``unchanged`` page is judged otherwise than at its last visit, because more is
        known about its site: its text, or what it repeats, may be another.
    emptied
        Whether an ``empty`` page had a text before; that stays stored.
    """

    kind: DecisionKind
    url: str
    page_id: int
    first_seen: datetime
    duplicate_of: str | None = None
    similarity: float | None = None
    representative: str | None = None
    reason: str | None = None
    revised: bool = False
    emptied: bool = False
