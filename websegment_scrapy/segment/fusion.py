"""Block Fusion: fuse neighbouring text blocks of similar density (Kohlschütter and Nejdl, 2008).

The objective is greedy region growing in one dimension: neighbours ``x, y`` become one block while
``Δρ(x, y) = |ρ(x) − ρ(y)| / max(ρ(x), ρ(y)) ≤ ϑ`` (section 4, algorithm 1), until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.segment.atomic_blocks import (
    ANCHOR,
    FORCE_GAP,
    NO_GAP,
    Block,
    atomic_blocks,
    label_blocks,
    spread_to_leaves,
    text_gaps,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["BlockFusion", "JustRules", "block_fusion", "slope_delta"]

THRESHOLD = 0.38
"""``ϑ_max`` of BF-plain and BF-smoothed (section 5.2)."""

THRESHOLD_RULEBASED = 0.6
"""``ϑ_max`` of BF-rulebased (section 5.2)."""

MAX_ITERATIONS = 100
"""Real pages converge in fewer than ten (figure 7); a hostile one must not loop for ever."""


def slope_delta(left: Block, right: Block, *, rules: bool) -> float:
    """``Δρ`` of two neighbours; with rules, tags that force or forbid a gap decide first."""
    if rules:
        if right.gap & FORCE_GAP:
            return float("inf")
        if not right.gap & ~(NO_GAP | ANCHOR):
            return 0.0
    high = max(left.density, right.density)
    return abs(left.density - right.density) / high if high else 0.0


def block_fusion(
    blocks: list[Block], *, threshold: float, smoothed: bool, rules: bool
) -> list[Block]:
    """Fuse blocks until no neighbours are similar (algorithm 1).

    Parameters
    ----------
    blocks
        Atomic blocks in document order; they are changed in place.
    threshold
        ``ϑ_max``.
    smoothed
        Fuse also a block with both neighbours when these have equal densities above its own.
    rules
        Obey gap-forcing and gap-avoiding tags.
    """
    for _ in range(MAX_ITERATIONS):
        fused: list[Block] = []
        position = 0
        while position < len(blocks):
            block = blocks[position]
            position += 1
            if not fused:
                fused.append(block)
                continue
            left = fused[-1]
            if smoothed and _dominated(left, block, blocks, position, rules=rules):
                left.fuse(block)
                left.fuse(blocks[position])
                position += 1
            elif slope_delta(left, block, rules=rules) <= threshold:
                left.fuse(block)
            else:
                fused.append(block)
        if len(fused) == len(blocks):
            break
        blocks = fused
    return blocks


def _dominated(
    left: Block, block: Block, blocks: list[Block], position: int, *, rules: bool
) -> bool:
    """Say whether ``block`` is a dent between two blocks of one density."""
    if position >= len(blocks):
        return False
    right = blocks[position]
    if rules and (block.gap | right.gap) & FORCE_GAP:
        return False
    return left.density == right.density and block.density < left.density


@dataclass(frozen=True, slots=True)
class BlockFusion:
    """The engines ``bf-plain``, ``bf-smoothed`` and ``bf-rulebased``."""

    name: str
    threshold: float = THRESHOLD
    is_smoothed: bool = False
    rules: bool = False

    @classmethod
    def plain(cls) -> BlockFusion:
        """Density alone."""
        return cls("bf-plain")

    @classmethod
    def smoothed(cls) -> BlockFusion:
        """Density, and dents between equal neighbours filled."""
        return cls("bf-smoothed", is_smoothed=True)

    @classmethod
    def rulebased(cls) -> BlockFusion:
        """BF-smoothed that obeys gap-forcing and gap-avoiding tags."""
        return cls("bf-rulebased", THRESHOLD_RULEBASED, is_smoothed=True, rules=True)

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        blocks = block_fusion(
            atomic_blocks(tree),
            threshold=self.threshold,
            smoothed=self.is_smoothed,
            rules=self.rules,
        )
        return label_blocks(tree, blocks)


@dataclass(frozen=True, slots=True)
class JustRules:
    """The engine ``justrules``: ``ϑ_max = ∞``, cut at gap-forcing tags only (section 4)."""

    name: str = "justrules"

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        forced = text_gaps(tree) & FORCE_GAP != 0
        return spread_to_leaves(tree, np.cumsum(forced, dtype=np.int32) - 1)
