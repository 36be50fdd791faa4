"""Isotonic smoothing equals brute force, and its time and memory grow with the nodes."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from websegment_scrapy.template.isotonic import smooth


@st.composite
def trees(draw, most=7, steps=8):
    """Scores, weights and penalties are dyadic, so that sums are exact and ties are ties."""
    count = draw(st.integers(1, most))
    parent = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, count)]
    few = draw(st.lists(st.integers(0, steps), min_size=1, max_size=6))
    scores = [draw(st.sampled_from(few)) / steps for _ in range(count)]
    weights = [draw(st.integers(0, 4)) for _ in range(count)]
    penalties = [draw(st.integers(0, 24)) / 16 for _ in range(count)]
    return np.array(scores), np.array(parent), np.array(weights, float), np.array(penalties)


def cost_of(y, scores, parent, weights, penalties):
    """Return the costs of many assignments, infinite where a child lies under its parent."""
    y = np.atleast_2d(y)
    total = np.abs(y - scores) @ weights + penalties[0]
    for node, above in enumerate(parent[1:], 1):
        total = total + penalties[node] * (y[:, node] != y[:, above])
        total = np.where(y[:, node] < y[:, above], np.inf, total)
    return total


def brute_force(scores, parent, weights, penalties, candidates):
    every = np.stack(np.meshgrid(*[candidates] * len(scores), indexing="ij"), -1)
    every = every.reshape(-1, len(scores))
    costs = cost_of(every, scores, parent, weights, penalties)
    # Assignments are enumerated in lexicographic order: the first of the best is the smallest.
    best = int(np.argmin(costs))
    return every[best], float(costs[best])


def sections_of(values, parent):
    section = list(range(len(parent)))
    for node, above in enumerate(parent[1:], 1):
        if values[node] == values[above]:
            section[node] = section[above]
    return section


@settings(max_examples=300)
@given(trees())
def test_values_cost_and_sections_equal_brute_force(tree) -> None:
    scores, parent, weights, penalties = tree
    found = smooth(scores, parent, weights, penalties, resolution=None)
    values, cost = brute_force(scores, parent, weights, penalties, np.unique(scores))
    assert found.values.tolist() == values.tolist()
    assert found.cost == cost
    assert found.sections.tolist() == sections_of(values, parent)


@settings(max_examples=60)
@given(trees(most=5, steps=4))
def test_no_value_between_the_scores_is_better(tree) -> None:
    scores, parent, weights, penalties = tree
    _, cost = brute_force(scores, parent, weights, penalties, np.arange(9) / 8)
    assert smooth(scores, parent, weights, penalties, resolution=None).cost == cost


@settings(max_examples=100)
@given(trees(most=6, steps=64), st.integers(2, 16))
def test_rounding_costs_no_more_than_it_says(tree, resolution) -> None:
    scores, parent, weights, penalties = tree
    exact = smooth(scores, parent, weights, penalties, resolution=None)
    rounded = smooth(scores, parent, weights, penalties, resolution=resolution)
    digits = 1e-12  # both are sums of floats
    assert exact.cost - digits <= rounded.cost
    assert rounded.cost <= exact.cost + weights.sum() / resolution + digits
    assert rounded.cost == pytest.approx(
        float(cost_of(rounded.values, scores, parent, weights, penalties)[0])
    )


@settings(max_examples=50)
@given(trees(most=7), st.randoms(use_true_random=False))
def test_the_order_of_the_nodes_does_not_matter(tree, random) -> None:
    scores, parent, weights, penalties = tree
    order = [0]
    rest = set(range(1, len(parent)))
    while rest:
        node = random.choice(sorted(node for node in rest if parent[node] in order))
        order.append(node)
        rest.remove(node)
    place = {node: number for number, node in enumerate(order)}
    moved = [-1] + [place[int(parent[node])] for node in order[1:]]
    one = smooth(scores, parent, weights, penalties)
    two = smooth(scores[order], moved, weights[order], penalties[order])
    assert one.values[order].tolist() == two.values.tolist()
    assert one.cost == pytest.approx(two.cost)


def shapes(count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(count)
    node = np.arange(1, count)
    return {
        "chain": np.concatenate(([-1], node - 1)),
        "star": np.concatenate(([-1], np.zeros(count - 1, dtype=int))),
        "comb": np.concatenate(([-1], np.where(node % 2, node - 1, np.maximum(node - 2, 0)))),
        "page": np.concatenate(([-1], rng.integers(np.maximum(node - 30, 0), node))),
    }


def seconds(count: int, shape: str) -> float:
    rng = np.random.default_rng(1)
    scores, penalties = rng.random(count), rng.random(count)
    parent = shapes(count)[shape]
    times = []
    for _ in range(3):
        start = time.process_time()
        smooth(scores, parent, None, penalties)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("shape", ["chain", "star", "comb", "page"])
def test_twenty_thousand_nodes_take_a_quarter_of_a_second(shape: str) -> None:
    assert min(seconds(20_000, shape) for _ in range(2)) < 0.25


@pytest.mark.parametrize("shape", ["chain", "page"])
def test_time_grows_linearly(shape: str) -> None:
    ratio = min(seconds(24_000, shape) / seconds(6_000, shape) for _ in range(3))
    assert ratio < 4 * 1.6


def test_twenty_thousand_nodes_take_less_than_200_megabytes() -> None:
    rng = np.random.default_rng(2)
    for parent in shapes(20_000).values():
        tracemalloc.start()
        smooth(rng.random(20_000), parent, None, 0.5)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 200e6


def test_a_child_is_never_under_its_parent() -> None:
    rng = np.random.default_rng(3)
    parent = shapes(3000)["page"]
    values = smooth(rng.random(3000), parent, rng.integers(1, 9, 3000), rng.random(3000)).values
    assert (values[1:] >= values[parent[1:]]).all()


def test_without_penalties_a_chain_is_plain_isotonic_regression() -> None:
    found = smooth([0.5, 0.25, 0.75], [-1, 0, 1], penalties=0.0)
    assert found.values.tolist() == [0.25, 0.25, 0.75]
    assert found.cost == 0.25


def test_large_penalties_give_one_section_at_the_weighted_median() -> None:
    found = smooth([0.1, 0.9, 0.4], [-1, 0, 0], [1, 1, 5], 1e9, resolution=None)
    assert found.values.tolist() == [0.4] * 3
    assert found.sections.tolist() == [0] * 3


@pytest.mark.parametrize(
    ("scores", "parent", "weights", "penalties", "message"),
    [
        ([0.1], [0], None, 0.0, "root first"),
        ([0.1, 0.2], [-1, -1], None, 0.0, "root first"),
        ([0.1, 0.2, 0.3], [-1, 2, 0], None, 0.0, "before their children"),
        ([np.nan], [-1], None, 0.0, "finite"),
        ([0.1], [-1], [-1.0], 0.0, "not negative"),
        ([0.1], [-1], None, -1.0, "not negative"),
        ([0.1, 0.2], [-1], None, 0.0, "every node"),
    ],
)
def test_what_is_no_tree_is_refused(scores, parent, weights, penalties, message) -> None:
    with pytest.raises(ValueError, match=message):
        smooth(scores, parent, weights, penalties)


def test_nothing_gives_nothing() -> None:
    found = smooth([], [])
    assert len(found.values) == len(found.sections) == 0
    assert found.cost == 0.0
