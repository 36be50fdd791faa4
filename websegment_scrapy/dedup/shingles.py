"""Words to shingles: 64-bit hashes of all windows of six words.

The windows follow the papers' recipe (six consecutive words, GCuts paper, section 5.3). The hash is
the plainest that is the same on every machine, in every process and in every language: the first
8 bytes, big-endian, of BLAKE2b of the window's words joined by blanks.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["SHINGLE_HASH", "SHINGLE_WIDTH", "shingle_hashes"]

SHINGLE_WIDTH = 6
"""Words in a window (GCuts paper, section 5.3)."""

SHINGLE_HASH = "blake2b8"
"""Name of the hash; stored signatures depend on it."""

CHUNK = 65_536
"""Windows hashed at once, so that a page of millions of words needs little memory."""


def shingle_hashes(words: Sequence[str], width: int = SHINGLE_WIDTH) -> NDArray[np.uint64]:
    """Return the distinct hashes of all windows of `width` words, in ascending order.

    A text shorter than a window gives one shingle of all its words, no words give none.
    """
    if width < 1:
        raise ValueError(f"the width of a shingle is {width}: it takes at least 1 word")
    if not words:
        return np.empty(0, dtype=np.uint64)
    width = min(width, len(words))
    windows = len(words) - width + 1
    digests = b"".join(
        _digests(words[start : start + CHUNK + width - 1], width)
        for start in range(0, windows, CHUNK)
    )
    ordered = np.sort(np.frombuffer(digests, dtype=">u8").astype(np.uint64))
    first = np.ones(len(ordered), dtype=bool)  # np.unique takes 40 times as long on a million
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _digests(words: Sequence[str], width: int) -> bytes:
    """Hash every window; each is a piece of the joined text."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    text = b" ".join(encoded)
    ends = list(accumulate(encoded, lambda end, word: end + 1 + len(word), initial=-1))
    return b"".join(
        [
            blake2b(text[start + 1 : end], digest_size=8).digest()
            for start, end in zip(ends, ends[width:], strict=False)
        ]
    )
