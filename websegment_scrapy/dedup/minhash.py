"""Minimum hashes of a set of 32-bit numbers, by datasketch's scheme ``affine32``.

The numbers are mixed with the finaliser of MurmurHash3, then permuted 128 times by
``a·h + b mod 2^32`` with odd ``a``, and the least value of each permutation is kept. ``a`` and
``b`` come from numpy's ``RandomState``, whose numbers never change for a seed. The values are
datasketch's, number for number (the tests compare them); its package is not imported for them,
because it brings SciPy along to choose bands, which are fixed here, and a worker's start would take
twice as long.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SCHEME", "minimum_hashes"]

SCHEME = "affine32"
"""Name of the scheme in datasketch 2; stored signatures depend on it."""

CHUNK = 512
"""Numbers permuted at once: a table of so many × 128 fits into a core's cache."""

_NONE = np.uint32(0xFFFF_FFFF)
"""The value of an empty set."""


def minimum_hashes(
    numbers: NDArray[np.uint32], size: int, seed: int, scheme: str = SCHEME
) -> NDArray[np.uint32]:
    """Return the least values of ``size`` permutations of ``numbers``."""
    if scheme != SCHEME:
        raise ValueError(f"permutation scheme is {scheme!r}: known is {SCHEME!r}")
    factor, offset = _permutations(size, seed)
    mixed = _mixed(numbers)[:, None]
    least = np.full(size, _NONE, dtype=np.uint32)
    for start in range(0, len(mixed), CHUNK):
        permuted = mixed[start : start + CHUNK] * factor
        permuted += offset
        np.minimum(least, permuted.min(axis=0), out=least)
    return least


@cache
def _permutations(size: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Draw the factors, which are odd, and the offsets."""
    drawn = np.random.RandomState(seed)
    factor = drawn.randint(0, 1 << 31, size, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return factor, drawn.randint(0, 1 << 32, size, dtype=np.uint32)


def _mixed(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Apply the finaliser of MurmurHash3, a bijection; products are taken modulo 2^32."""
    numbers = (numbers ^ (numbers >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    numbers = (numbers ^ (numbers >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return numbers ^ (numbers >> np.uint32(16))
