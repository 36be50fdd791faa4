"""Which segment is the main one: the papers' rule.

The largest segment by words that is not half links (GCuts, section 5.3; Block Fusion,
section 5.4). Where every segment is mostly links, there is no main text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from websegment_scrapy.segment.segments import Segment

__all__ = ["assign_roles", "main_segment"]


def main_segment(segments: tuple[Segment, ...]) -> Segment | None:
    """Return the largest segment that is not mostly links; of equal ones the first."""
    candidates = [segment for segment in segments if segment.words and not segment.is_mostly_links]
    return max(candidates, key=lambda segment: segment.words, default=None)


def assign_roles(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Give the main segment its role."""
    main = main_segment(segments)
    return tuple(
        replace(segment, role="main") if segment is main else segment for segment in segments
    )
