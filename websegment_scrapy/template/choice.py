"""How much of a page is main text: which of the likely blocks are kept.

What is wanted is a high F1 of the words kept. With independent blocks the expected F1 is highest
when those are kept whose probability is above half of the F1 that can be reached (Lewis: Evaluating
and optimizing autonomous text classification systems, SIGIR 1995), so the limit is another one on
every page: near 0.5 on an article, lower where nothing is certain. Where even the best choice
promises less than `LEAST_GAIN`, nothing is kept: the page is all template.

Pages often hold the same text twice, for small and for large screens; of equal blocks of at least
`REPEATED_WORDS` words the first is kept, unless a later one is clearly the likelier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["choose", "without_repetitions"]

LEAST_GAIN = 0.35
REPEATED_WORDS = 3
CLEARLY = 0.2
"""Chosen on held-out hosts of the training pages, each among a few values."""


def choose(
    probability: NDArray[np.float64], words: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], float]:
    """Return which blocks are kept, and the probability above which they are.

    Parameters
    ----------
    probability
        That each block is main text.
    words
        Of each block.
    """
    order = np.argsort(-probability, kind="stable")
    mass = np.cumsum((probability * words)[order])
    total = np.cumsum(words[order]) + mass[-1]
    gain = float(np.max(2 * mass / np.maximum(total, 1e-9), initial=0.0))
    limit = gain / 2 if gain >= LEAST_GAIN else 1.0
    return (probability > limit) & (words > 0), limit


def without_repetitions(
    probability: NDArray[np.float64], words: NDArray[np.float64], texts: Sequence[str]
) -> NDArray[np.float64]:
    """Return the probabilities with 0 for blocks that say what another block says."""
    found = probability.copy()
    known: dict[str, int] = {}
    for block in np.flatnonzero(words >= REPEATED_WORDS).tolist():
        text = " ".join(texts[block].lower().split())
        other = known.setdefault(text, block)
        if other == block:
            continue
        if found[block] > found[other] + CLEARLY:
            found[other] = 0.0
            known[text] = block
        else:
            found[block] = 0.0
    return found
