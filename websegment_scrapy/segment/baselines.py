"""The baselines of the Block Fusion paper (section 5): ``taggap`` and ``wordwrap``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.words import words
from websegment_scrapy.segment.atomic_blocks import (
    WRAP_WIDTH,
    atomic_blocks,
    label_blocks,
    spread_to_leaves,
    text_leaves,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["TagGap", "WordWrap"]


@dataclass(frozen=True, slots=True)
class TagGap:
    """Every piece of text between any two tags, ``A`` excepted, is a segment."""

    name: str = "taggap"

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        return label_blocks(tree, atomic_blocks(tree))


@dataclass(frozen=True, slots=True)
class WordWrap:
    """The page's whole text wrapped at 80 characters; every line is a segment.

    A leaf that reaches over several lines belongs to the line on which it starts.
    """

    name: str = "wordwrap"

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        leaves = text_leaves(tree).tolist()
        labels = np.zeros(len(leaves), dtype=np.int32)
        line = used = 0
        for position, leaf in enumerate(leaves):
            labels[position] = line
            for number, token in enumerate(words(tree.text_of(leaf))):
                needed = len(token) + (1 if used else 0)
                if used and used + needed > WRAP_WIDTH:
                    line, used, needed = line + 1, 0, len(token)
                if number == 0:
                    labels[position] = line
                used += needed
        return spread_to_leaves(tree, labels)
