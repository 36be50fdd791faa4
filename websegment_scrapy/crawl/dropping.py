"""Why an item was dropped: what it repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

if TYPE_CHECKING:
    from websegment_scrapy.dedup.decision import Decision

__all__ = ["NearDuplicate", "Unchanged"]


class NearDuplicate(DropItem):
    """An item was dropped because its page repeats another one.

    ``decision`` tells which page and how similar it is.
    """

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"near-duplicate of {decision.duplicate_of}", log_level="INFO")
        self.decision = decision


class Unchanged(DropItem):
    """An item was dropped because its page has not changed since the last visit.

    ``decision`` is what was decided, where the page was looked at.
    """

    def __init__(self, url: str, decision: Decision | None = None) -> None:
        super().__init__(f"not changed since the last visit: {url}", log_level="INFO")
        self.url = url
        self.decision = decision
