"""The informative segment of a labelled page (WPS, section 7), and whether it was found.

The paper's annotators mark the segment that presents the major information of a page, and none on
index pages. Our labelled pages have types of blocks instead. The informative segment is the
``Article`` or ``Content`` block that has, for itself alone, at least half of the words of all these
blocks, a fifth of the page's words, and ``MIN_WORDS`` of them; a page of many teasers or short
texts has none. A block has for itself what is in no block inside it, as everywhere
(`evaluate.segmentation.gold_segments`).

It is found when one segment has exactly its leaves: neither is it a part of a larger segment, nor
is it separated into several (section 7). Only leaves that are measured count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["gold_informative", "is_found", "likeness"]

TYPES = frozenset({"Article", "Content"})
HALF = 0.5
FIFTH = 0.2
MIN_WORDS = 20


def gold_informative(
    gold: NDArray[np.int32], words: NDArray[np.float64], types: Mapping[int, str]
) -> int:
    """Return the block that is the informative segment, -1 if there is none.

    Parameters
    ----------
    gold
        The block of each leaf, -1 for leaves in none.
    words
        The words of each leaf.
    types
        The type of each block.
    """
    total = {
        block: float(words[gold == block].sum())
        for block, kind in sorted(types.items())
        if kind in TYPES
    }
    largest = max(total, key=lambda block: total[block], default=-1)
    if largest < 0:
        return -1
    least = max(MIN_WORDS, HALF * sum(total.values()), FIFTH * float(words.sum()))
    return largest if total[largest] >= least else -1


def is_found(informative: NDArray[np.bool_], labels: NDArray[np.int32]) -> bool:
    """Say whether one segment has exactly the leaves of the informative one."""
    inside = np.unique(labels[informative])
    return len(inside) == 1 and not (labels[~informative] == inside[0]).any()


def likeness(
    informative: NDArray[np.bool_], segment: NDArray[np.bool_], words: NDArray[np.float64]
) -> float:
    """Return 2·|A∩B| / (|A| + |B|) of the words of two sets of leaves."""
    both = float(words[informative & segment].sum())
    total = float(words[informative].sum() + words[segment].sum())
    return 2 * both / total if total else 0.0
