"""The WPS-graph, its closures and its gold labels against brute force."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_array

from tests.broken_layout import PAGE, damaged
from tests.labelled import labelled_examples
from tests.skeletons import random_skeleton
from websegment_scrapy.learn.wps_gold import gold_boundaries
from websegment_scrapy.measure.metrics import adjusted_rand_index
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment import wps_graph
from websegment_scrapy.segment.boundary_features import boundary_features, boundary_names
from websegment_scrapy.segment.closure import hopeful, maximum_closure
from websegment_scrapy.segment.features import page_features
from websegment_scrapy.segment.wps import StructuredPrediction
from websegment_scrapy.segment.wps_graph import (
    HORIZONTAL,
    LAYERS,
    VERTICAL,
    WpsGraph,
    build_wps_graph,
)
from websegment_scrapy.segment.wps_model import shipped_wps_model
from websegment_scrapy.segment.wps_partition import is_closed, partition_of

SEEDS = st.integers(0, 2**32 - 1)


def random_graph(rng: np.random.Generator, leaves: int) -> tuple[wps_graph.WpsGraph, object]:
    """The graph of a random tree whose boxes lie anywhere."""
    skeleton = random_skeleton(rng, leaves)
    corner = rng.integers(0, 60, (leaves, 2)).astype(float)
    own = np.hstack((corner, corner + rng.integers(5, 30, (leaves, 2))))
    boxes = np.array(
        [
            [*own[low:high, :2].min(axis=0), *own[low:high, 2:].max(axis=0)]
            for low, high in zip(skeleton.low, skeleton.high, strict=True)
        ]
    )
    return build_wps_graph(skeleton, boxes), skeleton


def all_closures(graph: WpsGraph) -> list[np.ndarray]:
    marks = itertools.product((False, True), repeat=graph.boundaries)
    return [found for each in marks if is_closed(graph, found := np.array(each, dtype=bool))]


def by_linear_programming(weight: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The paper's own way (section 5): the relaxed integer program."""
    rows = np.repeat(np.arange(len(edges)), 2)
    values = np.tile([1.0, -1.0], len(edges))
    matrix = coo_array((values, (rows, edges.ravel())), shape=(len(edges), len(weight)))
    return linprog(
        -weight,
        A_ub=matrix.tocsr() if len(edges) else None,
        b_ub=np.zeros(len(edges)) if len(edges) else None,
        bounds=(0, 1),
    ).x


@settings(max_examples=150)
@given(SEEDS)
def test_the_closure_equals_brute_force_on_any_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 10))
    pairs = [(b, a) for b in range(size) for a in range(b) if rng.random() < 0.3]
    edges = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    parts = 8 ** int(rng.integers(0, 3))  # sums of eighths are exact, and so are ties
    weight = np.round(rng.normal(size=size) * parts) / parts
    best, smallest = 0.0, 0
    for marks in itertools.product((False, True), repeat=size):
        chosen = np.array(marks)
        if (chosen[edges[:, 1]] | ~chosen[edges[:, 0]]).all():
            worth = float(weight[chosen].sum())
            if worth > best + 1e-9:
                best, smallest = worth, int(chosen.sum())
            elif worth > best - 1e-9:
                smallest = min(smallest, int(chosen.sum()))
    found = maximum_closure(weight, edges)
    assert (found[edges[:, 1]] | ~found[edges[:, 0]]).all()
    assert float(weight[found].sum()) == pytest.approx(best)
    assert found.sum() == smallest
    assert not (found & ~hopeful(weight, edges)).any()


def test_the_closure_equals_the_linear_program_on_pages() -> None:
    rng = np.random.default_rng(5)
    for example in labelled_examples(5):
        features = example.measures.features
        graph = build_wps_graph(features.skeleton, features.boxes)
        weight = rng.normal(0.3, size=graph.boundaries)
        relaxed = by_linear_programming(weight, graph.edges)
        assert relaxed == pytest.approx(relaxed.round(), abs=1e-7)
        found = maximum_closure(weight, graph.edges)
        assert float(weight[found].sum()) == pytest.approx(float(weight @ relaxed))


@settings(max_examples=100)
@given(SEEDS)
def test_every_region_is_parted_into_its_sub_regions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, skeleton = random_graph(rng, int(rng.integers(1, 12)))

    def leaves(region: int) -> list[int]:
        rows = graph.rows[graph.row_start[region] : graph.row_start[region + 1]]
        spans = zip(skeleton.low[rows], skeleton.high[rows], strict=True)
        return sorted(leaf for low, high in spans for leaf in range(low, high))

    assert leaves(0) == list(range(skeleton.leaves))
    for region in range(graph.regions):
        if graph.parts[region]:
            below = range(graph.first[region], graph.first[region] + graph.parts[region])
            assert sorted(leaf for part in below for leaf in leaves(part)) == leaves(region)
            assert all(graph.around[part] == region for part in below)
    assert graph.boundaries == sum(max(int(parts) - 1, 0) for parts in graph.parts)
    assert np.bincount(graph.edges[:, 0], minlength=1).max(initial=0) <= 2
    assert (graph.edges[:, 1] < graph.edges[:, 0]).all()


@settings(max_examples=60)
@given(SEEDS)
def test_the_gold_labelling_is_the_one_with_the_fewest_wrong_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, skeleton = random_graph(rng, int(rng.integers(2, 9)))
    gold = rng.integers(0, 3, skeleton.leaves).astype(np.int32)

    def agreement(chosen: np.ndarray) -> int:
        labels = partition_of(graph, skeleton, chosen).labels
        same = labels[:, None] == labels[None, :]
        return int((same == (gold[:, None] == gold[None, :])).sum())

    found = gold_boundaries(graph, skeleton, gold)
    assert is_closed(graph, found)
    options = all_closures(graph)
    best = max(agreement(each) for each in options)
    assert agreement(found) == best
    assert found.sum() == min(each.sum() for each in options if agreement(each) == best)


def test_different_closures_are_different_partitions_with_a_hierarchy() -> None:
    rng = np.random.default_rng(8)
    graph, skeleton = random_graph(rng, 7)
    seen = set()
    for chosen in all_closures(graph):
        partition = partition_of(graph, skeleton, chosen)
        count = int(partition.labels.max()) + 1
        seen.add(tuple(np.unique(partition.labels, return_inverse=True)[1].tolist()))
        assert len(partition.parent) == count
        assert (partition.parent < len(partition.group_parent)).all()
        assert (partition.group_parent < np.arange(len(partition.group_parent))).all()
        # a group has two parts at least
        parts = np.bincount(
            partition.parent[partition.parent >= 0], minlength=len(partition.group_parent)
        )
        inner = partition.group_parent[partition.group_parent >= 0]
        parts += np.bincount(inner, minlength=len(parts))
        assert (parts >= 2).all()
    assert len(seen) > 1


def boxed(html: str, boxes: dict[str, tuple[int, int, int, int]]):
    """A page whose texts lie where they are said to."""
    tree = build_tree(html)
    box = tree.box.copy()
    for leaf in tree.leaves.tolist():
        box[leaf] = boxes[tree.text_of(leaf)]
    return replace(tree, box=box)


def test_horizontal_boundaries_come_first_then_vertical_ones() -> None:
    tree = boxed(
        "<h1>head</h1><div><p>left</p><p>right</p></div><p>foot</p>",
        {"head": (0, 0, 900, 50), "left": (0, 60, 400, 500), "right": (450, 60, 400, 480),
         "foot": (0, 600, 900, 40)},
    )  # fmt: skip
    features = page_features(tree)
    graph = build_wps_graph(features.skeleton, features.boxes)
    assert graph.kind.tolist() == [HORIZONTAL, HORIZONTAL, VERTICAL]
    assert graph.edges.tolist() == [[2, 0], [2, 1]]
    names = boundary_names(features.names)
    matrix = boundary_features(graph, features)
    assert matrix.shape == (3, len(names))
    assert matrix[:, names.index("gap")] == pytest.approx(np.log1p([10, 40, 50]))


def test_no_boundary_cuts_through_a_subtree() -> None:
    tree = boxed(
        "<div><p>a</p><p>c</p></div><div><p>b</p></div>",
        {"a": (0, 0, 90, 10), "b": (0, 20, 90, 10), "c": (0, 40, 90, 10)},
    )
    features = page_features(tree)
    graph = build_wps_graph(features.skeleton, features.boxes)
    assert graph.kind.tolist() == [LAYERS, HORIZONTAL]  # the box of b lies in that of a and c


def test_a_list_of_five_thousand_entries_stays_bounded() -> None:
    entries = "".join(f"<li><a href=/{n}>Entry {n}</a> <i>of many</i></li>" for n in range(5000))
    tree = build_tree(f"<h1>Title</h1><ul>{entries}</ul><p>Some text.</p><p>The end.</p>")
    features = page_features(tree)
    start = time.process_time()
    graph = build_wps_graph(features.skeleton, features.boxes)
    assert graph.boundaries <= wps_graph.MAX_BOUNDARIES
    labels = StructuredPrediction().segment(tree)
    assert time.process_time() - start < 10
    assert len(labels) == len(tree.leaves)


def test_where_the_bound_bites_unlike_siblings_stay_apart(monkeypatch) -> None:
    monkeypatch.setattr(wps_graph, "MAX_SEQUENCE", 2)
    rows = "<p>x</p>" * 9 + "<div><p>y</p><p>z</p></div>" + "<p>x</p>" * 9
    tree = build_tree(f"<body>{rows}</body>")
    features = page_features(tree)
    graph = build_wps_graph(features.skeleton, features.boxes)
    assert graph.parts[0] == 3
    sizes = np.diff(graph.row_start)[graph.first[0] : graph.first[0] + 3]
    assert sizes.tolist() == [9, 1, 9]
    assert graph.regions == 6  # of the two lists nothing is cut, of the division its two texts


def test_the_whole_graph_is_bounded_too(monkeypatch) -> None:
    monkeypatch.setattr(wps_graph, "MAX_BOUNDARIES", 7)
    features = page_features(build_tree(PAGE * 3))
    graph = build_wps_graph(features.skeleton, features.boxes)
    assert 0 < graph.boundaries <= 7


@pytest.mark.parametrize("engine", ["wps-margin", "wps-slack"])
@pytest.mark.parametrize("damage", sorted(damaged()))
def test_any_layout_gives_finite_features_and_a_partition(engine: str, damage: str) -> None:
    tree = damaged()[damage]
    features = page_features(tree)
    graph = build_wps_graph(features.skeleton, features.boxes)
    if graph.boundaries:
        assert np.isfinite(boundary_features(graph, features)).all()
    labels = StructuredPrediction(engine).segment(tree)
    assert labels.shape == tree.leaves.shape
    assert labels.dtype == np.int32


def huge(width: float, height: float):
    tree = build_tree(PAGE * 4)
    box = tree.box * np.array([width / tree.box[:, :].max(), 1, 1, 1], dtype=np.float32)
    box = box * np.array([1, height / box[:, 1].max(), 1, 1], dtype=np.float32)
    return replace(tree, box=box.astype(np.float32))


@pytest.mark.parametrize(("width", "height"), [(10_000, 800), (1000, 200_000), (1e9, 1e9)])
def test_wide_and_tall_pages_are_segmented(width: float, height: float) -> None:
    tree = huge(width, height)
    labels = StructuredPrediction().segment(tree)
    assert len(labels) == len(tree.leaves)


def test_a_page_without_a_boundary_is_one_segment() -> None:
    for html in ("", "<p>alone</p>", "<iframe src=x></iframe>"):
        labels = StructuredPrediction().segment(build_tree(html))
        assert len(set(labels.tolist())) <= 1


def test_frames_are_leaves_like_others() -> None:
    html = "<iframe src=/a width=300 height=200></iframe><p>Text.</p><frameset><frame src=x>"
    tree = build_tree(html)
    assert len(StructuredPrediction().segment(tree)) == len(tree.leaves)


def test_deep_nesting_is_bounded() -> None:
    tree = build_tree("<div>x<p>y</p>" * 900 + "</div>" * 900)
    start = time.process_time()
    labels = StructuredPrediction().segment(tree)
    assert time.process_time() - start < 10
    assert len(labels) == len(tree.leaves)


def test_plain_pages_are_segmented_as_a_reader_would() -> None:
    found = [
        adjusted_rand_index(
            example.gold[example.counted],
            StructuredPrediction().segment(example.tree)[example.counted],
        )
        for example in labelled_examples(6)
    ]
    assert np.mean(found) > 0.6


@pytest.mark.parametrize("layout", ["rendered", "static"])
def test_the_shipped_models_know_the_features(layout) -> None:
    model = shipped_wps_model(layout)
    features = page_features(build_tree(PAGE))
    assert model.layout == layout
    assert model.features == boundary_names(features.names)
    assert set(model.weights) == {"wps-margin", "wps-slack"}
    for report in model.reports.values():
        assert report["duality_gap"] <= model.recipe["precision"] * report["objective"] + 1e-4
