"""Connected components of near-duplicates among a set of signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.dedup.signature import similarities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.dedup.signature import Signature

__all__ = ["components"]


def components(signatures: Sequence[Signature], threshold: float) -> list[list[int]]:
    """Split signatures into clusters of near-duplicates.

    Two signatures are linked when they have a key in common and their similarity is at least
    `threshold`: exactly the pairs that a store finds when pages come one by one. A cluster is a
    connected component; clusters and their members are in ascending order of position.
    """
    keys = [signature.keys() for signature in signatures]
    holders: dict[int, list[int]] = {}
    for position in range(len(signatures)):
        for key in keys[position]:
            holders.setdefault(key, []).append(position)
    parent = list(range(len(signatures)))

    def root(position: int) -> int:
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    for position, signature in enumerate(signatures):
        later = {other for key in keys[position] for other in holders[key] if other > position}
        candidates = sorted(other for other in later if root(other) != root(position))
        if not candidates:
            continue
        found = similarities(signature, [signatures[other] for other in candidates])
        for index in np.flatnonzero(found >= threshold):
            low, high = sorted((root(position), root(candidates[index])))
            parent[high] = low
    groups: dict[int, list[int]] = {}
    for position in range(len(signatures)):
        groups.setdefault(root(position), []).append(position)
    return list(groups.values())
