"""Words to shingles: 64-bit hashes of all windows of six words, in numpy.

The windows follow the papers' recipe (six consecutive words, GCuts paper, section 5.3). The hash is
made to be the same on every machine and in every process, and to cost one cryptographic hash per
*distinct* word: with ``H(w)`` the first 8 bytes of BLAKE2b of a word and ``m_k`` fixed odd numbers,

    shingle(w_0 … w_{n-1}) = splitmix64( n + Σ_k m_k · H(w_k)  mod 2⁶⁴ )
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["SHINGLE_HASH", "SHINGLE_WIDTH", "shingle_hashes"]

SHINGLE_WIDTH = 6
"""Words in a window (GCuts paper, section 5.3)."""

SHINGLE_HASH = "blake2b8-splitmix64-1"
"""Name of the hash; stored signatures depend on it."""

# Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014), figure 16.
GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


def shingle_hashes(words: Sequence[str], width: int = SHINGLE_WIDTH) -> NDArray[np.uint64]:
    """Return the distinct hashes of all windows of `width` words, in ascending order.

    A text shorter than a window gives one shingle of all its words, no words give none.
    """
    if width < 1:
        raise ValueError(f"the width of a shingle is {width}: it takes at least 1 word")
    hashes = _word_hashes(words)
    count = len(hashes)
    if count == 0:
        return np.empty(0, dtype=np.uint64)
    width = min(width, count)
    total = np.full(count - width + 1, width, dtype=np.uint64)
    for position, multiplier in enumerate(_multipliers(width)):
        total += multiplier * hashes[position : position + len(total)]
    ordered = np.sort(_splitmix64(total))  # np.unique takes 40 times as long on a million
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _word_hashes(words: Sequence[str]) -> NDArray[np.uint64]:
    """Hash every word, each distinct one only once."""
    index: dict[str, int] = {}
    ids = np.fromiter((index.setdefault(word, len(index)) for word in words), np.intp, len(words))
    digests = b"".join(
        blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in index
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)[ids]


def _multipliers(width: int) -> NDArray[np.uint64]:
    """Return one odd number per position, so that the order of words counts."""
    return _splitmix64(GOLDEN_GAMMA * np.arange(1, width + 1, dtype=np.uint64)) | np.uint64(1)


def _splitmix64(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of SplitMix64, a bijection on 64-bit numbers."""
    values = (values ^ (values >> np.uint64(30))) * MIX_1
    values = (values ^ (values >> np.uint64(27))) * MIX_2
    return values ^ (values >> np.uint64(31))
