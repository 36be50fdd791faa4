"""The papers' signature, the eight smallest shingle hashes, by many hash functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.dedup.shingles import SHINGLE_WIDTH, shingle_hashes
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HASH_FUNCTIONS", "by_hash_functions", "half_common"]

HASH_FUNCTIONS = 25
SEED = 2008
SMALLEST = RECIPES["shingles"].size


def half_common(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> bool:
    """Say whether half of the smaller set is common: 4 of 8 (GCuts, section 5.2)."""
    common = len(set(one.tolist()) & set(other.tolist()))
    return 2 * common >= min(len(one), len(other)) > 0


def by_hash_functions(text: str) -> NDArray[np.uint64]:
    """Return the smallest hashes by each hash function: the package's own, mixed with a seed."""
    shingles = shingle_hashes(words(text), SHINGLE_WIDTH)
    seeds = np.random.default_rng(SEED).integers(2**63, size=HASH_FUNCTIONS, dtype=np.uint64)
    # The finaliser of MurmurHash3 (Appleby), a bijection: distinct shingles stay distinct.
    mixed = shingles[np.newaxis, :] ^ seeds[:, np.newaxis]
    for multiplier in (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * multiplier
    mixed ^= mixed >> np.uint64(33)
    mixed.sort(axis=1)
    return mixed[:, :SMALLEST].copy()
