"""What lies between two leaves that follow each other: the tags opened and closed there.

Block Fusion (section 3.3) calls it a gap, extraction a line or paragraph break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["bits_by_tag", "gap_bits"]


def bits_by_tag(tree: PageTree, bits: Mapping[str, int], other: int = 0) -> NDArray[np.uint8]:
    """Give each element the bits of its tag, ``other`` to tags not named, 0 to text nodes."""
    table = np.array([bits.get(name, other) for name in tree.tags], dtype=np.uint8)
    found = table[tree.tag]
    found[tree.is_text] = 0
    return found


def gap_bits(
    tree: PageTree, leaves: NDArray[np.int32] | NDArray[np.int64], bits: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Return for each leaf but the first the union of ``bits`` of the tags crossed before it.

    Between leaves ``p`` and ``q`` the elements opened are the nodes strictly between them in
    document order and, as ``q`` lies below some of those, all of ``q``'s new ancestors; the
    elements closed besides are the ancestors of ``p`` that end before ``q``. So it is the union
    over the nodes from ``p`` to ``q``, and over those that end behind ``p`` and not behind ``q``:
    two sums over ranges that follow each other.
    """
    if len(leaves) < 2:
        return np.zeros(0, dtype=np.uint8)
    some = np.flatnonzero(bits)
    ending = np.zeros(len(bits) + 1, dtype=np.uint8)
    np.bitwise_or.at(ending, tree.end[some], bits[some])
    gaps: NDArray[np.uint8] = np.bitwise_or.reduceat(bits, leaves)[:-1]
    gaps |= np.bitwise_or.reduceat(ending, leaves + 1)[:-1]
    gaps |= bits[leaves[1:]]
    return gaps
