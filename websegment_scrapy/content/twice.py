"""A main text that stands twice in the HTML: once for small and once for large screens.

Equal blocks are one block (`choice.without_repetitions`), but copies are often cut into other
blocks: with ``br`` here and paragraphs there, a caption more, a sentence less. So passages are
compared. Authors repeat themselves too, in quotes, examples and terms; hence nothing is taken away
unless one copy is most of the page: what follows at about the same distance behind the same words.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.text import BlockText

__all__ = ["without_copy"]

PASSAGE = 8
"""Words in a row that are hardly ever the same by chance."""

MOST = 0.35
"""Share of the kept words that a copy has at least; a full copy has half of them."""

NEAR = 40
"""Words by which the distance of the copy may change: what only one of them has."""

COVERED = 0.9
"""Share of a block's words from which it is part of the copy."""


def without_copy(text: BlockText, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the kept blocks without those of a second copy of the text."""
    of_kept = np.flatnonzero(kept[text.token_block])
    tokens = [text.tokens[place] for place in of_kept.tolist()]
    count = len(tokens)
    once = sum(number == 1 for number in Counter(tokens).values())
    if not count or once > (1.0 - 2.0 * MOST) * count:
        return kept  # words of a copy occur twice
    back = np.zeros(count, dtype=np.int64)
    known: dict[tuple[str, ...], int] = {}
    shifted = (tokens[offset:] for offset in range(PASSAGE))
    for place, passage in enumerate(zip(*shifted, strict=False)):
        earlier = known.setdefault(passage, place)
        if earlier + PASSAGE <= place:
            back[place : place + PASSAGE] = place - earlier
    found = np.sort(back[back > 0])
    if len(found) < MOST * count:
        return kept
    near = np.searchsorted(found, found + NEAR, side="right") - np.arange(len(found))
    if near.max() < MOST * count:
        return kept
    distance = found[near.argmax()]
    copied = (back >= distance) & (back <= distance + NEAR)
    block = text.token_block[of_kept]
    size = np.bincount(block, minlength=len(kept))
    share = np.bincount(block, copied, minlength=len(kept)) / np.maximum(size, 1)
    return np.asarray(kept & ((share < COVERED) | (size == 0)))
