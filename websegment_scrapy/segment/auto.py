"""The engine ``auto``: the subtrees that agree best with how likely leaves belong together.

The adjusted Rand index counts pairs of leaves. So what is learned is a pair's probability to be in
one segment, by the row of the tree at which the two part (``togetherness.py``), and the segments
are the subtrees for which the sum over their pairs of

    P(the two are in one segment) − THRESHOLD

is the greatest, found exactly (``tree_partition.py``). A mistake about a large row costs the many
pairs that part there, one about a small row next to nothing, in the training (``learn/auto.py``) as
here.

Where a row is opened, paragraphs that follow each other below it stay one segment: a text whose
paragraphs stand beside menus, without an element around them, has no subtree of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.segment.auto_model import AutoModel, shipped_auto_model
from websegment_scrapy.segment.features import page_features
from websegment_scrapy.segment.togetherness import OTHER_LEAF, parting_pairs, together
from websegment_scrapy.segment.tree_partition import best_subtrees
from websegment_scrapy.segment.wps_graph import HORIZONTAL, LAYERS, OVERLAP_PX, VERTICAL
from websegment_scrapy.segment.wps_partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.skeleton import Skeleton
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.features import PageFeatures

__all__ = ["THRESHOLD", "Auto"]

PARAGRAPH = "p"
THRESHOLD = 0.45
"""From 0.4 to 0.5 the agreement on 66 pages is the same."""


@dataclass(frozen=True, slots=True)
class Auto:
    """Segments by the best choice of subtrees.

    Parameters
    ----------
    name
        The engine's name.
    model
        A model; by default the one shipped for the page's kind of layout.
    """

    name: str = "auto"
    model: AutoModel | None = None

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        return self.partition(tree).labels

    def partition(self, tree: PageTree) -> Partition:
        """Return the segments and the groups that they were cut out of: the rows opened."""
        features = page_features(tree)
        skeleton = features.skeleton
        opened = self._opened(tree, features)
        groups = np.flatnonzero(opened)
        number = np.full(skeleton.inner, -1, dtype=np.int32)
        number[groups] = np.arange(len(groups))
        rows = _segment_rows(skeleton, opened)
        begins = _begins(tree, skeleton, rows)
        segment = np.cumsum(begins, dtype=np.int32) - 1
        return Partition(
            labels=np.repeat(segment, skeleton.high[rows] - skeleton.low[rows]),
            parent=_group_above(skeleton, number, rows[begins]),
            first=rows[begins].astype(np.int32),
            count=np.bincount(segment, minlength=int(begins.sum())).astype(np.int32),
            group_parent=_group_above(skeleton, number, groups),
            group_kind=_kinds(features, groups),
        )

    def _opened(self, tree: PageTree, features: PageFeatures) -> NDArray[np.bool_]:
        """Say of each inner row whether it is opened to its children."""
        skeleton = features.skeleton
        if not skeleton.inner:
            return np.zeros(0, dtype=bool)
        model = self.model or shipped_auto_model(tree.layout)
        weight = np.where(tree.is_text[tree.leaves], 1.0, OTHER_LEAF)
        pairs = parting_pairs(skeleton, weight)
        matrix = features.columns(model.features)
        likely = together(pairs, *model.log_odds(matrix, skeleton.inner))
        return best_subtrees(skeleton, pairs.number * (likely - THRESHOLD))


def _segment_rows(skeleton: Skeleton, opened: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rows of the segments in the order of the page: those whose parent is opened."""
    is_open = np.append(opened, np.zeros(skeleton.leaves, dtype=bool))
    above = skeleton.parent
    shown = ~is_open & ((above < 0) | is_open[above])
    rows = np.flatnonzero(shown)
    return rows[np.argsort(skeleton.low[rows], kind="stable")]


def _begins(tree: PageTree, skeleton: Skeleton, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say of each segment's row whether a segment begins there: not at a paragraph's next one.

    Whatever stands between two paragraphs, a line too, parts them.
    """
    top = skeleton.top[rows]
    is_paragraph = tree.tagged((PARAGRAPH,))[top]
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = ~(is_paragraph[1:] & is_paragraph[:-1] & (tree.end[top[:-1]] == top[1:]))
    return begins


def _group_above(
    skeleton: Skeleton, number: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.int32]:
    above = skeleton.parent[rows]
    if not len(number):
        return np.full(len(rows), -1, dtype=np.int32)
    return np.where(above >= 0, number[np.maximum(above, 0)], -1).astype(np.int32)


def _kinds(features: PageFeatures, groups: NDArray[np.int64]) -> NDArray[np.int8]:
    """Say how the children of each row lie: below each other, beside each other, or in layers."""
    skeleton, boxes = features.skeleton, features.boxes
    order = np.lexsort((skeleton.low, skeleton.parent))
    one, two = order[:-1], order[1:]
    beside = skeleton.parent[one] == skeleton.parent[two]
    one, two = one[beside], two[beside]
    below = boxes[two, 1] >= boxes[one, 3] - OVERLAP_PX
    right = boxes[two, 0] >= boxes[one, 2] - OVERLAP_PX
    parent = skeleton.parent[one]
    rows = len(skeleton.low)
    number = np.bincount(parent, minlength=rows)
    horizontal = 2 * np.bincount(parent, below, rows) > number
    vertical = 2 * np.bincount(parent, right & ~below, rows) > number
    kinds = np.where(horizontal, HORIZONTAL, np.where(vertical, VERTICAL, LAYERS))
    return kinds[groups].astype(np.int8)
