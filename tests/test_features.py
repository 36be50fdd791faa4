"""Skeleton, features and neighbours of pages, whatever their layout is like."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broken_layout import PAGE, damaged
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.skeleton import build_skeleton, common_rows
from websegment_scrapy.segment.features import METRIC_FEATURES, page_features
from websegment_scrapy.segment.neighbours import visual_neighbours
from websegment_scrapy.segment.pair_features import PAIR_APART, PAIR_FEATURES, PairMeasure


def test_the_skeleton_has_one_row_for_each_set_of_leaves() -> None:
    tree = build_tree(PAGE)
    skeleton = build_skeleton(tree)
    below = {
        tuple(np.flatnonzero((tree.leaves >= node) & (tree.leaves < tree.end[node])))
        for node in range(len(tree))
    } - {()}
    rows = [tuple(range(low, high)) for low, high in zip(skeleton.low, skeleton.high, strict=True)]
    assert sorted(rows) == sorted(below)
    assert skeleton.leaves == len(tree.leaves)
    for row in range(len(rows)):
        above = skeleton.parent[row]
        assert above < 0 or set(rows[row]) < set(rows[above])
        assert row >= skeleton.inner or rows[row] == tuple(
            range(skeleton.low[row], skeleton.high[row])
        )
        assert tree.depth[skeleton.top[row]] <= tree.depth[skeleton.bottom[row]]
    for row in range(skeleton.inner):
        inside = [other for other in range(skeleton.inner) if set(rows[other]) <= set(rows[row])]
        assert inside == list(range(row, skeleton.end[row]))


def test_the_common_row_is_the_smallest_that_holds_both_leaves() -> None:
    skeleton = build_skeleton(build_tree(PAGE))
    one, two = np.triu_indices(skeleton.leaves, 1)
    found = common_rows(skeleton, two.astype(np.int32), one.astype(np.int32))
    for p, q, row in zip(one, two, found, strict=True):
        holding = [
            (skeleton.high[r] - skeleton.low[r], r)
            for r in range(skeleton.inner)
            if skeleton.low[r] <= p and q < skeleton.high[r]
        ]
        assert row == min(holding)[1]


def brute_force(boxes: np.ndarray) -> list[tuple[int, int]]:
    """Order the boxes along every line between two edges and link those next to each other."""
    pairs = set()
    for start, across in ((0, 1), (1, 0)):
        near, far = boxes[:, start], np.maximum(boxes[:, start + 2], boxes[:, start] + 1)
        low, high = boxes[:, across], np.maximum(boxes[:, across + 2], boxes[:, across] + 1)
        edges = np.unique(np.concatenate((near, far)))
        for line in (edges[1:] + edges[:-1]) / 2:
            crossed = np.flatnonzero((near < line) & (line < far))
            order = sorted(crossed.tolist(), key=lambda box: (low[box] + high[box], box))
            pairs |= {(min(pair), max(pair)) for pair in itertools.pairwise(order)}
    return sorted(pairs)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.integers(-5, 20), st.integers(-5, 20), st.integers(0, 9), st.integers(0, 9)),
        max_size=12,
    )
)
def test_neighbours_are_those_of_brute_force(raw: list[tuple[int, int, int, int]]) -> None:
    boxes = np.array([(x, y, x + w, y + h) for x, y, w, h in raw], dtype=float).reshape(-1, 4)
    found = [(int(p), int(q)) for p, q in visual_neighbours(boxes)]
    assert found == brute_force(boxes)


def test_a_grid_of_leaves_has_few_neighbours() -> None:
    x, y = np.meshgrid(np.arange(100) * 10.0, np.arange(100) * 10.0)
    boxes = np.stack((x.ravel(), y.ravel(), x.ravel() + 8, y.ravel() + 8), axis=1)
    assert len(visual_neighbours(boxes)) == 2 * 100 * 99


@pytest.mark.parametrize("damage", sorted(damaged()))
def test_features_are_finite_for_any_layout(damage: str) -> None:
    tree = damaged()[damage]
    features = page_features(tree)
    assert features.matrix.shape == (len(features.skeleton.low), len(features.names))
    assert np.isfinite(features.matrix).all()
    assert np.isfinite(features.boxes).all()
    leaves = features.skeleton.leaves
    if leaves > 1:
        one, two = np.triu_indices(leaves, 1)
        measure = PairMeasure(tree, features)
        pairs = measure(one.astype(np.int32), two.astype(np.int32))
        assert pairs.shape == (len(one), len(PAIR_FEATURES))
        assert np.isfinite(pairs).all()
        assert (pairs == measure(two.astype(np.int32), one.astype(np.int32))).all()


def test_every_page_has_the_same_columns() -> None:
    names = {page_features(tree).names for tree in damaged().values()}
    assert len(names) == 1
    assert set(METRIC_FEATURES) <= set(next(iter(names)))
    assert len(PAIR_APART) == len(PAIR_FEATURES)


def test_sums_and_boxes_are_those_of_the_leaves_below() -> None:
    tree = build_tree(PAGE)
    features = page_features(tree)
    skeleton = features.skeleton
    log_words = features.columns(("log_words",))[:, 0]
    for row, (low, high) in enumerate(zip(skeleton.low, skeleton.high, strict=True)):
        words = sum(len(tree.text_of(leaf).split()) for leaf in tree.leaves[low:high])
        assert log_words[row] == pytest.approx(np.log1p(words))
        boxes = features.leaf.boxes[low:high]
        assert features.boxes[row, :2].tolist() == boxes[:, :2].min(axis=0).tolist()
        assert features.boxes[row, 2:].tolist() == boxes[:, 2:].max(axis=0).tolist()
