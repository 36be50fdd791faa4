"""Where the border of a segment should be: the places to choose from, and the one that was chosen.

A segment is wrong in one of two ways: it should be *cut* between two of its leaves, or *joined*
with a segment beside it. Both functions run in a worker process and answer with JSON. Page and
engine are the same as when it was looked at, so the segments are too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.printable import shortened
from websegment_scrapy.segment.segments import describe_segments, relabel
from websegment_scrapy.view.looking import analyzed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.analysis import AnalyzedPage
    from websegment_scrapy.view.looking import LookedAt

__all__ = ["SHOULD", "border_choices", "marked_place"]

SHOULD = ("cut", "join")
MOST_CUTS = 300
"""Places within one segment that are offered; further ones are found with another engine."""

MOST_NEIGHBOURS = 20
TEXT = 80
"""Characters by which a piece of a page is known."""


def border_choices(task: LookedAt, segment: int) -> str:
    """Return before which pieces of a segment it could be cut, and what lies beside it."""
    page = analyzed(task)
    own = page.segments[segment].leaves
    return json.dumps(
        {
            "cuts": [
                [place, _text(page, int(own[place]))]
                for place in range(1, min(len(own), MOST_CUTS + 1))
            ],
            "more": max(0, len(own) - 1 - MOST_CUTS),
            "neighbours": [
                [other, page.segments[other].role, shortened(page.segments[other].text, TEXT)]
                for other in _neighbours(page.labels, segment)
            ],
        }
    )


def marked_place(task: LookedAt, segment: int, should: str = "", place: int = -1) -> str:
    """Return the XPaths of a segment, all of them, and of the border that it should have.

    Parameters
    ----------
    task
        The page, and how it was judged.
    segment
        The segment's id.
    should, place
        ``cut`` and before which of its leaves (1, 2 …), ``join`` and the other segment's id, or
        nothing. What is not among `border_choices` gives no border.
    """
    page = analyzed(task)
    told: dict[str, Any] = {"xpaths": page.segments[segment].xpaths, "border": None}
    own = page.segments[segment].leaves
    if should == "cut" and 0 < place < len(own):
        between = own[place - 1], own[place]
        sides: Sequence[NDArray[np.int32]] = (own[:place], own[place:])
        told["border"] = _border(page, should, between, sides)
    elif should == "join" and place in _neighbours(page.labels, segment):
        other = page.segments[place].leaves
        sides = sorted((own, other), key=lambda leaves: int(leaves[0]))
        told["border"] = _border(page, should, _nearest(*sides), sides) | {"other": place}
    return json.dumps(told)


def _border(
    page: AnalyzedPage, should: str, between: Sequence[Any], sides: Sequence[NDArray[np.int32]]
) -> dict[str, Any]:
    """Write a border as XPaths: the two leaves around it, and all that is on either side."""
    labels = np.full(len(page.labels), 2, dtype=np.int32)
    for number, leaves in enumerate(sides):
        labels[leaves] = number
    numbered = relabel(labels)
    parts = describe_segments(page.tree, numbered)
    nodes = [int(page.tree.leaves[leaf]) for leaf in between]
    paths = {node: page.tree.xpaths([node])[0] for node in nodes}
    return {
        "should": should,
        "between": [paths[node] for node in nodes],
        "sides": [list(parts[int(numbered[leaves[0]])].xpaths) for leaves in sides],
    }


def _neighbours(labels: NDArray[np.int32], segment: int) -> list[int]:
    """Return the segments whose leaves come right before or after those of a segment."""
    own = labels == segment
    beside = np.flatnonzero(own[1:] != own[:-1])
    found = {int(label) for place in beside for label in labels[place : place + 2]}
    return sorted(found - {segment})[:MOST_NEIGHBOURS]


def _nearest(one: NDArray[np.int32], two: NDArray[np.int32]) -> tuple[int, int]:
    """Return the leaves of two segments that are nearest to each other in the document."""
    place = np.searchsorted(one, two)
    before = np.abs(two - one[np.maximum(place - 1, 0)])
    after = np.abs(two - one[np.minimum(place, len(one) - 1)])
    best = int(np.argmin(np.minimum(before, after)))
    nearest = place[best] - 1 if before[best] <= after[best] else place[best]
    return int(one[min(max(nearest, 0), len(one) - 1)]), int(two[best])


def _text(page: AnalyzedPage, leaf: int) -> str:
    """Return how a leaf begins, or what it is."""
    node = int(page.tree.leaves[leaf])
    text = " ".join(page.tree.texts_of(np.array([node]))[0].split())
    return shortened(text, TEXT) if text else f"({page.tree.tags[page.tree.tag[node]]})"
