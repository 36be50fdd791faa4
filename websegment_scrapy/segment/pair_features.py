"""Features of pairs of leaves: what speaks for one segment or two (GCuts, section 4.3).

Gaps and alignment on the page, differences of style, distance in the tree, the size of the common
ancestor, the same path of tags and likeness of content. Every column is finite and symmetric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.skeleton import common_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.features import PageFeatures

__all__ = ["PAIR_APART", "PAIR_FEATURES", "PairMeasure"]

PAIR_FEATURES = (
    "gap_x", "gap_y", "apart_x", "apart_y", "overlap_x", "overlap_y", "aligned_left",
    "aligned_top", "same_width", "same_height", "font_size", "font_weight", "family", "colour",
    "background", "italic", "both_linked", "one_linked", "both_text", "one_text", "one_heading",
    "words", "same_path", "tree_distance", "deeper", "common_leaves", "common_of_page",
    "common_area", "common_children", "common_regular", "common_list", "common_table",
    "common_body", "order_distance",
)  # fmt: skip

PAIR_APART = (
    1, 1, 1, 1, -1, -1, -1,
    -1, -1, -1, 1, 1, 1, 1,
    1, 1, -1, 1, -1, 1, 1,
    1, -1, 1, 1, 1, 1,
    1, 0, -1, -1, 0,
    1, 1,
)  # fmt: skip
"""Whether more of each feature speaks for two segments (1) or for one (-1): GCuts-NL, CClus-NL."""


class PairMeasure:
    """Measures pairs of leaves of one page."""

    def __init__(self, tree: PageTree, features: PageFeatures) -> None:
        skeleton, leaf = features.skeleton, features.leaf
        self.skeleton = skeleton
        self.boxes = leaf.boxes
        self.values = leaf.values
        self.family = leaf.family
        self.path = _tag_paths(tree)
        self.colour = np.stack([leaf.values[f"colour_{c}"] for c in "rgb"], axis=1)
        self.background = np.stack([leaf.values[f"background_{c}"] for c in "rgb"], axis=1)
        self.words = np.log1p(leaf.values["words"])
        inner = skeleton.inner
        self.row = features.columns(
            ("log_leaves", "leaves_of_page", "area_share", "children", "children_same_tag",
             "is_list", "is_table", "is_body")
        )[:inner]  # fmt: skip

    def __call__(self, first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return one row of ``PAIR_FEATURES`` for each pair of two different leaves."""
        one, two = self.boxes[first], self.boxes[second]
        size_one, size_two = one[:, 2:] - one[:, :2], two[:, 2:] - two[:, :2]
        small, large = np.minimum(size_one, size_two), np.maximum(size_one, size_two)
        shared = np.minimum(one[:, 2:], two[:, 2:]) - np.maximum(one[:, :2], two[:, :2])
        apart = np.abs(one[:, :2] + one[:, 2:] - two[:, :2] - two[:, 2:]) / 2
        aligned = np.abs(one[:, :2] - two[:, :2]) <= 2
        gap, overlap = np.log1p(np.maximum(-shared, 0)), np.clip(shared / small, 0, 1)
        common = common_rows(self.skeleton, first, second)
        depth, inner = self.skeleton.depth, self.skeleton.inner
        depth_one, depth_two = depth[inner + first], depth[inner + second]
        row = self.row[common]
        found = np.stack(
            [
                gap[:, 0], gap[:, 1], np.log1p(apart[:, 0]), np.log1p(apart[:, 1]),
                overlap[:, 0], overlap[:, 1], aligned[:, 0], aligned[:, 1],
                small[:, 0] / large[:, 0], small[:, 1] / large[:, 1],
                self._apart("font_size", first, second),
                self._apart("font_weight", first, second),
                self.family[first] != self.family[second],
                np.abs(self.colour[first] - self.colour[second]).sum(axis=1),
                np.abs(self.background[first] - self.background[second]).sum(axis=1),
                self._apart("italic", first, second),
                *self._both("is_linked", first, second),
                *self._both("text", first, second),
                self._apart("heading", first, second),
                np.abs(self.words[first] - self.words[second]),
                self.path[first] == self.path[second],
                np.log(depth_one + depth_two - 2 * depth[common]),
                np.abs(depth_one - depth_two),
                *row.T,
                np.log(np.abs(first.astype(np.float64) - second)),
            ],
            axis=1,
        )  # fmt: skip
        return found.astype(np.float64)

    def _apart(
        self, name: str, first: NDArray[np.int32], second: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        return np.abs(self.values[name][first] - self.values[name][second])

    def _both(
        self, name: str, first: NDArray[np.int32], second: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        one, two = self.values[name][first], self.values[name][second]
        return one * two, np.abs(one - two)


def _tag_paths(tree: PageTree) -> NDArray[np.int64]:
    """Return one number for each distinct path of tags from the root to a leaf."""
    known: dict[tuple[int, int], int] = {}
    path: list[int] = []
    tags = tree.tag.tolist()
    for node, parent in enumerate(tree.parent.tolist()):
        key = (path[parent] if parent >= 0 else -1, tags[node])
        path.append(known.setdefault(key, len(known)))
    return np.array(path, dtype=np.int64)[tree.leaves]
