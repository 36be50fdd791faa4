"""The probabilities of text blocks, smoothed over the DOM by the isotonic method of PageLevel.

The tree has the blocks as leaves and above them the elements in which blocks come together. A
block weighs what its words weigh; an element has the mean of what is below it as score and the
weight `ELEMENT`. A section that differs from what is around it costs `PENALTY`, so a single
block is set apart only when its own score says so clearly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.subtrees import range_sums
from websegment_scrapy.template.isotonic import smooth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.features import BlockFeatures

__all__ = ["RESOLUTION", "smooth_blocks"]

ELEMENT = 0.1
PENALTY = 0.05
RESOLUTION = 64
"""Chosen on held-out hosts among a few values; the method itself is exact for any of them."""


def smooth_blocks(page: BlockFeatures, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smoothed probability that each block is main text."""
    home, top, tree = page.place.home, page.place.top, page.text.tree
    around = top[np.maximum(tree.parent, 0)]
    climb = around.tolist()
    seen: set[int] = set()
    for node in set(home.tolist()):
        while node not in seen:
            seen.add(node)
            node = climb[node]
    inner = np.array(sorted(seen), dtype=np.int64)
    above = np.searchsorted(inner, around[inner])
    above[0] = -1
    first = page.text.blocks.begin
    weight = np.sqrt(page.text.words + 1.0)
    below = np.searchsorted(first, inner), np.searchsorted(first, tree.end[inner])
    sizes = range_sums(weight, *below)
    mean = range_sums(weight * (1.0 - probability), *below) / np.maximum(sizes, 1e-9)
    found = smooth(
        np.concatenate([mean, 1.0 - probability]),
        np.concatenate([above, np.searchsorted(inner, home)]),
        np.concatenate([np.full(len(inner), ELEMENT), weight / weight.mean()]),
        PENALTY,
        resolution=RESOLUTION,
    )
    return 1.0 - found.values[len(inner) :]
