"""How much of a page is main text: which of the likely blocks are kept.

What is wanted is a high F1 of the words kept. Were the blocks independent, the best choice would
follow from their probabilities alone (keep what is above half the F1 that can be reached; Lewis,
1995). They are not: on a page of products all of a list is content or nothing is. So a few
candidates, one for each of `LIMITS`, are measured, and a regression that has seen such choices
on other pages says which has the highest F1. Keeping nothing is a candidate too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.template.block_features import BlockFeatures

__all__ = ["CHOICE_FEATURES", "LIMITS", "choice_features"]

LIMITS = np.array(
    "0.02 0.04 0.07 0.1 0.14 0.18 0.22 0.26 0.3 0.34 0.38 0.42 0.46 0.5 0.55 0.6 0.65 0.7 0.75 0.8 "
    "0.85 0.9 1".split(),
    dtype=np.float64,
)
"""Blocks of a higher probability are kept; above the last one there is none."""

NEAR = 0.1
SOME = 1e-6
CHOICE_FEATURES = (
    "limit", "gain", "gain_of_best", "words", "share", "blocks", "block_share", "mean", "reached",
    "just_above", "just_below", "link_share", "shown_share", "words_per_block", "longest",
    "page_best", "page_gain", "page_expected", "page_expected_share",
)  # fmt: skip
"""Columns of a candidate; those of the page (``page_…`` of the blocks) follow."""


def choice_features(page: BlockFeatures, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one row for each of `LIMITS`: what would be kept, and what the page is like."""
    words = page.text.words + SOME
    order = np.argsort(-probability, kind="stable")
    sorted_p, sorted_words = probability[order], words[order]
    kept_words = np.concatenate(([0.0], np.cumsum(sorted_words)))
    kept_mass = np.concatenate(([0.0], np.cumsum(sorted_words * sorted_p)))
    expected, total = kept_mass[-1], kept_words[-1]
    gains = 2 * kept_mass / (kept_words + expected + SOME)
    count = np.searchsorted(-sorted_p, -LIMITS, side="left")
    above = np.searchsorted(-sorted_p, -(LIMITS + NEAR), side="left")
    below = np.searchsorted(-sorted_p, -(LIMITS - NEAR), side="left")
    kept = kept_words[count]
    some = np.maximum(kept, SOME)
    blocks = np.maximum(count, 1)

    def share(column: str) -> NDArray[np.float64]:
        values = page.column(column)[order] * sorted_words
        found: NDArray[np.float64] = np.concatenate(([0.0], np.cumsum(values)))[count] / some
        return found

    longest = np.concatenate(([0.0], np.maximum.accumulate(sorted_words)))[count]
    rows = np.column_stack(
        [
            LIMITS,
            gains[count],
            gains[count] / max(float(gains.max()), SOME),
            kept,
            kept / total,
            count,
            count / len(words),
            kept_mass[count] / some,
            kept_mass[count] / max(float(expected), SOME),
            (kept - kept_words[above]) / np.maximum(kept, 1.0),
            (kept_words[below] - kept) / np.maximum(kept, 1.0),
            share("link_share"),
            share("shown"),
            kept / blocks,
            longest,
        ]
    )
    same = [sorted_p[0], gains.max(), expected, expected / total, *page.page_values]
    return np.concatenate([rows, np.tile(same, (len(LIMITS), 1))], axis=1)
