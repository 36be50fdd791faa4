"""How often engines find the informative segment of a page (WPS, section 7, table 4).

The paper counts the pages whose informative segment is one segment exactly (**found**). Blocks here
were marked by others than those who drew our boundaries, so it is also counted how often a segment
has nearly its words (**nearly**); whether the segment that is said to be informative has
(**named**), and whether the largest one that is not mostly links has (**largest**); and on pages
without an informative segment whether none is named (**none**).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.measure.informative import gold_informative, is_found, likeness
from websegment_scrapy.measure.report import text_table
from websegment_scrapy.page.leaf_table import leaf_table
from websegment_scrapy.segment.informative import informative_segment
from websegment_scrapy.segment.segments import describe_segments
from websegment_scrapy.text.main_text import main_segment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.segments import Segment

__all__ = [
    "InformativeGold",
    "InformativeScores",
    "InformativeShares",
    "informative_gold",
    "informative_shares",
    "informative_table",
    "score_informative",
]

NEARLY = 0.9
"""Likeness of words from which a segment nearly is another."""


@dataclass(frozen=True, slots=True, eq=False)
class InformativeGold:
    """The leaves of a page that count, those of its informative segment, and their words."""

    counted: NDArray[np.bool_]
    informative: NDArray[np.bool_]
    words: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class InformativeScores:
    """What an engine makes of one page's informative segment; ``none`` on pages without one."""

    found: bool = False
    nearly: bool = False
    named: bool = False
    largest: bool = False
    none: bool | None = None


@dataclass(frozen=True, slots=True)
class InformativeShares:
    """Shares of the pages that have an informative segment; ``none`` of the others."""

    pages: int
    found: float
    nearly: float
    named: float
    largest: float
    none: float


def informative_gold(
    tree: PageTree,
    gold: NDArray[np.int32],
    counted: NDArray[np.bool_],
    types: Mapping[int, str],
) -> InformativeGold:
    """Find the informative segment of a labelled page; ``types`` are those of its blocks."""
    words = leaf_table(tree).values["words"]
    block = gold_informative(gold, words, types)
    return InformativeGold(counted, counted & (gold == block) & (block >= 0), words)


def score_informative(
    tree: PageTree, labels: NDArray[np.int32], gold: InformativeGold
) -> InformativeScores:
    """Compare an engine's segments, numbered by ``relabel``, with the informative one."""
    segments = describe_segments(tree, labels)
    named = informative_segment(segments)
    if not gold.informative.any():
        return InformativeScores(none=named is None)
    counted = gold.counted
    own, words, mine = gold.informative[counted], gold.words[counted], labels[counted]

    def is_near(segment: Segment | None) -> bool:
        return segment is not None and likeness(own, mine == segment.id, words) >= NEARLY

    return InformativeScores(
        found=is_found(own, mine),
        nearly=any(is_near(segments[label]) for label in np.unique(mine[own]).tolist()),
        named=is_near(named),
        largest=is_near(main_segment(segments)),
    )


def informative_shares(pages: Sequence[InformativeScores]) -> InformativeShares | None:
    """Sum up an engine over pages; ``None`` if no page has an informative segment."""
    having = [page for page in pages if page.none is None]
    others = [page.none for page in pages if page.none is not None]
    if not having:
        return None
    return InformativeShares(
        pages=len(having),
        found=float(np.mean([page.found for page in having])),
        nearly=float(np.mean([page.nearly for page in having])),
        named=float(np.mean([page.named for page in having])),
        largest=float(np.mean([page.largest for page in having])),
        none=float(np.mean(others)) if others else 1.0,
    )


def informative_table(shares: Mapping[str, InformativeShares | None]) -> list[str]:
    """Return a heading and a table of engines; nothing where no page has an informative segment."""
    known = {engine: each for engine, each in shares.items() if each is not None}
    if not known:
        return []
    count = next(iter(known.values())).pages
    header = ("engine", "found", "nearly", "named", "largest", "none")
    rows = [
        (
            engine,
            *(
                f"{share:.3f}"
                for share in (each.found, each.nearly, each.named, each.largest, each.none)
            ),
        )
        for engine, each in known.items()
    ]
    return [
        f"Informative segment, {count} pages that have one: one segment has exactly its leaves, "
        f"nearly its words ({NEARLY}), so has the segment that is named, so has the largest; and "
        "of the other pages those where none is named",
        text_table(header, rows),
    ]
