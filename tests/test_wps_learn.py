"""Learning of WPS: the working set's problem, the losses and whole trainings."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tests.labelled import labelled_examples
from tests.test_wps import all_closures, random_graph
from websegment_scrapy.learn.informative_loss import (
    best_chain,
    informative_boundaries,
    most_violated_informative,
    region_values,
)
from websegment_scrapy.learn.structured_svm import Plane, fit_structured_svm, least_distance
from websegment_scrapy.learn.wps import train_wps
from websegment_scrapy.measure.informative import gold_informative, is_found, likeness
from websegment_scrapy.measure.metrics import adjusted_rand_index
from websegment_scrapy.model_files import ModelError
from websegment_scrapy.segment.closure import maximum_closure
from websegment_scrapy.segment.wps import StructuredPrediction
from websegment_scrapy.segment.wps_model import WpsModel
from websegment_scrapy.segment.wps_partition import partition_of

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_working_set_is_solved_like_by_another_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gradients = rng.normal(size=(int(rng.integers(1, 6)), 3))
    offsets = rng.random(len(gradients))
    trade_off = float(rng.choice([0.1, 1.0, 10.0]))
    weights, multipliers, value = least_distance(gradients, offsets, trade_off)

    def objective(point: np.ndarray) -> float:
        return 0.5 * float(point[:-1] @ point[:-1]) + 0.5 * trade_off * float(point[-1]) ** 2

    other = minimize(
        objective,
        np.append(np.zeros(3), 1.0),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda point: gradients @ point[:-1] - offsets + point[-1],
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert value == pytest.approx(other.fun, rel=1e-4, abs=1e-7)
    slack = float((offsets - gradients @ weights).max(initial=0.0))
    assert objective(np.append(weights, slack)) == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert (multipliers >= 0).all()


def test_cutting_planes_find_what_all_planes_together_give() -> None:
    rng = np.random.default_rng(3)
    gradients, offsets = rng.normal(size=(200, 4)), rng.random(200)

    def most_violated(weights: np.ndarray) -> Plane:
        worst = int(np.argmax(offsets - gradients @ weights))
        return Plane(gradients[worst], float(offsets[worst]))

    found = fit_structured_svm(most_violated, 4, trade_off=1.0, precision=1e-4)
    _, _, best = least_distance(gradients, offsets, 1.0)
    assert best <= found.objective + 1e-9
    assert found.objective - best <= found.gap + 1e-9
    assert found.gap <= 1e-4 * found.objective
    assert found.linear_trade_off == pytest.approx(found.slack)


@settings(max_examples=100)
@given(SEEDS)
def test_values_of_regions_are_those_of_closures(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, _ = random_graph(rng, int(rng.integers(1, 14)))
    weight = rng.normal(size=graph.boundaries)
    found = maximum_closure(weight, graph.edges)
    assert region_values(graph, weight)[0] == pytest.approx(float(weight[found].sum()))


@settings(max_examples=100)
@given(SEEDS)
def test_chains_are_cut_in_the_best_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(0, 7))
    weight, value = rng.normal(size=size), rng.random(size + 1)
    ends = bool(rng.integers(2)), bool(rng.integers(2))

    def worth(marks: tuple[bool, ...]) -> float:
        around = (ends[0], *marks, ends[1])
        whole = zip(value, itertools.pairwise(around), strict=True)
        opened = sum(worth for worth, (one, two) in whole if one and two)
        return float(weight @ np.array(marks, dtype=float)) + (opened if any(marks) else 0.0)

    found, places = best_chain(weight, value, ends)
    for count in range(1, size + 1):
        options = [m for m in itertools.product((False, True), repeat=size) if sum(m) == count]
        assert found[count] == pytest.approx(max(map(worth, options)))
        assert places[count].sum() == count
        assert worth(tuple(places[count].tolist())) == pytest.approx(found[count])
    assert found[0] == 0.0


@settings(max_examples=150)
@given(SEEDS)
def test_the_most_violated_labelling_is_that_of_proposition_1(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, skeleton = random_graph(rng, int(rng.integers(2, 9)))
    closures = all_closures(graph)
    gold = closures[int(rng.integers(len(closures)))]
    partition = partition_of(graph, skeleton, gold)
    chosen = int(rng.integers(len(partition.first)))
    informative = informative_boundaries(
        graph, (int(partition.first[chosen]), int(partition.count[chosen]))
    )
    proper = np.concatenate((informative.outside, informative.inside))
    assert gold[informative.outside].all()
    assert not gold[informative.inside].any()
    weight = rng.normal(size=graph.boundaries)
    found, loss = most_violated_informative(graph, gold, informative, weight)

    def height(labels: np.ndarray) -> float:
        share = float((labels[proper] != gold[proper]).mean()) if len(proper) else 0.0
        return share * (1.0 + float(weight[labels].sum() - weight[gold].sum()))

    if len(proper):
        assert loss == pytest.approx(float((found[proper] != gold[proper]).mean()))
        assert height(found) == pytest.approx(max(0.0, *map(height, closures)))


def test_pages_without_an_informative_segment_have_the_loss_1() -> None:
    graph, _ = random_graph(np.random.default_rng(1), 6)
    gold = np.zeros(graph.boundaries, dtype=bool)
    weight = np.ones(graph.boundaries)
    found, loss = most_violated_informative(graph, gold, None, weight)
    assert found.all()
    assert loss == 1.0
    assert most_violated_informative(graph, gold, None, -weight)[1] == 0.0


def test_the_informative_segment_has_half_of_the_words() -> None:
    gold = np.array([0, 0, 1, 1, 2, -1], dtype=np.int32)
    words = np.array([30.0, 30, 10, 10, 9, 9])
    assert gold_informative(gold, words, {0: "Article", 1: "Content", 2: "LinkList"}) == 0
    assert gold_informative(gold, words, {0: "Menu", 1: "Content"}) == 1
    assert gold_informative(gold, words / 4, {0: "Menu", 1: "Content"}) == -1  # too few words
    words[2:4] = 35
    assert gold_informative(gold, words, {0: "Article", 1: "Article"}) == 1
    words[4] = 60
    types = {0: "Article", 1: "Article", 2: "Article"}
    assert gold_informative(gold, words, types) == -1  # an index page
    assert gold_informative(gold, words, {}) == -1
    words[2:5] = 10, 10, 500
    assert gold_informative(gold, words, {0: "Article", 1: "Content"}) == -1  # less than a fifth


def test_an_informative_segment_is_found_whole_and_alone() -> None:
    own = np.array([False, True, True, False])
    assert is_found(own, np.array([0, 1, 1, 2], dtype=np.int32))
    assert not is_found(own, np.array([0, 1, 1, 1], dtype=np.int32))
    assert not is_found(own, np.array([0, 1, 3, 2], dtype=np.int32))
    words = np.array([10.0, 10, 20, 5])
    assert likeness(own, np.array([False, True, True, True]), words) == pytest.approx(60 / 65)


def test_training_twice_gives_the_same_bytes_and_learns(tmp_path: Path) -> None:
    examples = labelled_examples(10)
    for name in ("one", "two"):
        train_wps(examples, "static").save(tmp_path / name)
    for file in ("wps-static.json", "wps-static.npz"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    model = WpsModel.load(tmp_path / "one", "static")
    for engine in ("wps-margin", "wps-slack"):
        found = [
            adjusted_rand_index(page.gold, StructuredPrediction(engine, model).segment(page.tree))
            for page in labelled_examples(16)[10:]
        ]
        assert np.mean(found) > 0.9
    report = model.reports["wps-margin"]
    assert report["duality_gap"] <= model.recipe["precision"] * report["objective"] + 1e-4


def test_too_few_pages_are_refused() -> None:
    with pytest.raises(ModelError, match="too few"):
        train_wps(labelled_examples(3), "static")


def test_a_missing_model_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="websegment train segmentation"):
        WpsModel.load(tmp_path, "rendered")
