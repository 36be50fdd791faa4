"""Which text blocks of a page are its main text, when only the main text is given.

A block is found in the main text by windows of `WINDOW` words; a block of fewer words must stand
there as it is, between what was found of the blocks before and after it: "Reply" occurs in many
places, but main text is only what is in its place.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["aligned_shares"]

WINDOW = 4
FOUND = 0.5
"""Share of a block's words from which its place in the main text is known."""

REACH = 60
"""Words around the first and the last block found, in which short blocks are looked for."""

SLACK = 3
"""Words by which it may stand outside of that. No search over any of these is on record."""


def aligned_shares(blocks: Sequence[Sequence[str]], gold: Sequence[str]) -> NDArray[np.float64]:
    """Return for each block the share of its words that belongs to the main text.

    Parameters
    ----------
    blocks
        The words of each block, in document order.
    gold
        The words of the main text.
    """
    places: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for position in range(len(gold) - WINDOW + 1):
        places[tuple(gold[position : position + WINDOW])].append(position)
    shares = np.zeros(len(blocks))
    spans: list[tuple[int, int] | None] = [None] * len(blocks)
    last = 0
    for number, words in enumerate(blocks):
        if len(words) < WINDOW:
            continue
        hit = np.zeros(len(words), dtype=bool)
        first: list[int] | None = None
        for position in range(len(words) - WINDOW + 1):
            found = places.get(tuple(words[position : position + WINDOW]))
            if found:
                hit[position : position + WINDOW] = True
                first = first or found
        shares[number] = hit.mean()
        if first and shares[number] > FOUND:
            start = min(first, key=lambda place: abs(place - last))
            last = start + len(words)
            spans[number] = (start, last)
    _short_blocks(shares, spans, blocks, gold)
    return shares


def _short_blocks(
    shares: NDArray[np.float64],
    spans: Sequence[tuple[int, int] | None],
    blocks: Sequence[Sequence[str]],
    gold: Sequence[str],
) -> None:
    """Find the blocks that are shorter than a window, each place once."""
    following: list[int | None] = [None] * len(blocks)
    start: int | None = None
    for number in range(len(blocks) - 1, -1, -1):
        following[number] = start
        span = spans[number]
        start = start if span is None else span[0]
    where: defaultdict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(gold):
        where[word].append(position)
    taken: set[int] = set()
    end: int | None = None
    for number, words in enumerate(blocks):
        span = spans[number]
        if 0 < len(words) < WINDOW:
            low, high = _bounds(end, following[number], len(gold))
            for position in where.get(words[0], ()):
                inside = low <= position and position + len(words) <= high
                if (
                    inside
                    and position not in taken
                    and list(gold[position : position + len(words)]) == list(words)
                ):
                    taken.add(position)
                    shares[number] = 1.0
                    break
        end = end if span is None else span[1]


def _bounds(end: int | None, start: int | None, length: int) -> tuple[int, int]:
    """Return where a short block may be: between the last found one and the next."""
    low = end if end is not None else (0 if start is None else start - REACH)
    high = start if start is not None else (length if end is None else end + REACH)
    return min(low, high) - SLACK, max(low, high) + SLACK
