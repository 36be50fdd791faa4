"""Labelled pages as training examples: which rows are segments, which leaves belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.learn.metric import LEAVES_PER_PAGE, Triplets
from websegment_scrapy.measure.informative import gold_informative
from websegment_scrapy.page.subtrees import path_sums, range_sums, uniform_ranges
from websegment_scrapy.segment.costs import Measures, RowScores, measure_page
from websegment_scrapy.segment.features import METRIC_FEATURES
from websegment_scrapy.segment.pair_features import PairMeasure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["Example", "adjacent_examples", "make_example", "pair_examples", "triplets"]

PAIRS_PER_PAGE = 2000
"""Pairs of leaves taken of each page for CClus, at random."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A labelled page.

    Attributes
    ----------
    name
        The page's name.
    tree
        The page.
    measures
        Its features.
    gold
        The segment of each leaf, -1 for leaves in none.
    target
        The row of each leaf's segment, -1 for leaves in none.
    is_segment, is_uniform
        Of each row: it is the row of a segment; all leaves below it are in one segment, or in none.
    known
        Rows with at least one leaf that is in a segment; the others teach nothing.
    counted
        Leaves that are measured: text in a segment.
    informative
        The informative segment (`measure.informative`), -1 if there is none or nobody knows.
    """

    name: str
    tree: PageTree
    measures: Measures
    gold: NDArray[np.int32]
    target: NDArray[np.int32]
    is_segment: NDArray[np.bool_]
    is_uniform: NDArray[np.bool_]
    known: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    informative: int


def make_example(
    name: str,
    tree: PageTree,
    labelled: NDArray[np.int32],
    types: Mapping[int, str] | None = None,
) -> Example:
    """Prepare a labelled page.

    Parameters
    ----------
    name
        The page's name.
    tree
        The page, with two leaves or more.
    labelled
        For each node the number of the block that it is itself marked as, or -1.
    types
        The type of each block, if they are known.
    """
    measures = measure_page(tree)
    skeleton = measures.features.skeleton
    nearest, own = labelled.tolist(), np.arange(len(labelled)).tolist()
    for node, parent in enumerate(tree.parent.tolist()):
        if nearest[node] < 0:
            nearest[node] = nearest[parent] if parent >= 0 else -1
            own[node] = own[parent] if parent >= 0 else -1
    gold = np.array(nearest, dtype=np.int32)[tree.leaves]
    block = np.array(own)[tree.leaves]
    is_segment = np.zeros(len(skeleton.low), dtype=bool)
    rows = skeleton.row_of_node[np.flatnonzero(labelled >= 0)]
    is_segment[rows[rows >= 0]] = True
    return Example(
        name=name,
        tree=tree,
        measures=measures,
        gold=gold,
        target=np.where(gold >= 0, skeleton.row_of_node[block], -1).astype(np.int32),
        is_segment=is_segment,
        is_uniform=uniform_ranges(gold, skeleton.low, skeleton.high),
        known=range_sums(gold >= 0, skeleton.low, skeleton.high) > 0,
        counted=(gold >= 0) & (tree.is_text[tree.leaves]),
        informative=gold_informative(gold, measures.features.leaf.values["words"], types or {}),
    )


def triplets(
    example: Example, scores: RowScores, mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> Triplets:
    """List for some leaves of a page the labels they could carry, as the metric sees them."""
    features = example.measures.features
    skeleton = features.skeleton
    standard = (features.columns(METRIC_FEATURES) - mean) / scale
    path = path_sums(skeleton.parent, scores.crossing)
    leaves = np.flatnonzero(example.target >= 0)
    if len(leaves) > LEAVES_PER_PAGE:
        leaves = leaves[np.linspace(0, len(leaves) - 1, LEAVES_PER_PAGE).astype(np.int64)]
    rows = skeleton.inner + leaves
    number: NDArray[np.int64] = np.arange(len(leaves))
    label: NDArray[np.int64] = rows
    numbers, labels = [], []
    while len(label):
        numbers.append(number)
        labels.append(label)
        above = skeleton.parent[label]
        number, label = number[above >= 0], above[above >= 0].astype(np.int64)
    leaf, label = np.concatenate(numbers), np.concatenate(labels)
    row = rows[leaf]
    return Triplets(
        leaf=leaf,
        difference=standard[row] - standard[label],
        label=scores.segment[label],
        path=path[row] - path[label],
        target=label == example.target[leaves[leaf]],
    )


def adjacent_examples(example: Example) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return features and classes of the neighbouring leaves that are both in segments."""
    one, two = example.gold[example.measures.pairs].reshape(-1, 2).T
    known = (one >= 0) & (two >= 0)
    return example.measures.pair_matrix[known], (one == two)[known]


def pair_examples(
    example: Example, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return features and classes of random pairs of leaves that are both in segments."""
    leaves = np.flatnonzero(example.gold >= 0).astype(np.int32)
    pairs = np.stack(np.triu_indices(len(leaves), 1))
    if pairs.shape[1] > PAIRS_PER_PAGE:
        pairs = pairs[:, np.sort(rng.choice(pairs.shape[1], PAIRS_PER_PAGE, replace=False))]
    one, two = leaves[pairs[0]], leaves[pairs[1]]
    measure = PairMeasure(example.tree, example.measures.features)
    return measure(one, two), example.gold[one] == example.gold[two]
