"""Clusters of near-duplicates that are bounded: each has a representative, which all resemble."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.dedup.signature import similarities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.dedup.signature import Signature

__all__ = ["stars"]


def stars(signatures: Sequence[Signature], threshold: float) -> list[int]:
    """Return for each signature the position of its representative.

    In their order, a signature that is not similar to a representative before it (at least
    `threshold`) is one; all others belong to the most similar one, of equals to the first. So
    every signature is similar to its representative, and no two representatives are similar: they
    are a maximal independent set of the graph of near-duplicates (a connected component, which may
    join unrelated texts by steps, has several).

    Each representative costs one comparison with all that follow it.
    """
    best = np.zeros(len(signatures), dtype=np.float64)
    chosen = np.arange(len(signatures))
    for position, signature in enumerate(signatures):
        if best[position] >= threshold:
            continue
        chosen[position] = position
        found = similarities(signature, signatures[position + 1 :])
        nearer = np.flatnonzero((found >= threshold) & (found > best[position + 1 :]))
        nearer += position + 1
        best[nearer] = found[nearer - position - 1]
        chosen[nearer] = position
    return [int(position) for position in chosen]
