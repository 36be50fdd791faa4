"""The engine ``auto``: its choice of subtrees, what it learns, and pages that are hard."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broken_layout import PAGE, damaged
from tests.labelled import labelled_examples, labelled_html
from tests.skeletons import random_skeleton
from tests.texts import prose
from websegment_scrapy.analysis import analyze
from websegment_scrapy.learn.auto import shares_together, train_auto
from websegment_scrapy.learn.boosting import Boosting, fit_mean_trees, fit_trees
from websegment_scrapy.measure.metrics import adjusted_rand_index
from websegment_scrapy.model_files import ModelError
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment.auto import Auto
from websegment_scrapy.segment.auto_model import AutoModel, shipped_auto_model
from websegment_scrapy.segment.features import page_features
from websegment_scrapy.segment.togetherness import parting_pairs, survival, together
from websegment_scrapy.segment.tree_partition import best_subtrees, worth_of

if TYPE_CHECKING:
    from websegment_scrapy.model_files import LayoutKind
    from websegment_scrapy.page.skeleton import Skeleton

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=150)
@given(SEEDS)
def test_the_choice_of_subtrees_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, int(rng.integers(1, 11)))
    inner, above = skeleton.inner, skeleton.parent
    gain = rng.normal(size=inner).round(int(rng.integers(0, 3)))
    best, fewest = -np.inf, 0
    for marks in itertools.product((False, True), repeat=inner):
        opened = np.array(marks, dtype=bool)
        if any(opened[row] and above[row] >= 0 and not opened[above[row]] for row in range(inner)):
            continue
        worth = worth_of(skeleton, gain, opened)
        if worth > best + 1e-9:
            best, fewest = worth, int(opened.sum())
        elif worth > best - 1e-9:
            fewest = min(fewest, int(opened.sum()))
    found = best_subtrees(skeleton, gain)
    assert worth_of(skeleton, gain, found) == pytest.approx(best)
    if not np.modf(gain)[0].any():  # whole numbers: no rounding hides what is equally good
        assert found.sum() == fewest


def paths(skeleton: Skeleton, leaf: int, row: int) -> list[int]:
    """The rows from a leaf up to the child of ``row``."""
    found = [skeleton.inner + leaf]
    while skeleton.parent[found[-1]] != row:
        found.append(int(skeleton.parent[found[-1]]))
    return found


@settings(max_examples=60)
@given(SEEDS)
def test_what_is_said_of_a_row_is_the_mean_over_the_pairs_that_part_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, int(rng.integers(2, 9)))
    segment = rng.normal(size=len(skeleton.low))
    keep = 1 - 1 / (1 + np.exp(-segment))
    pairs = parting_pairs(skeleton, np.ones(skeleton.leaves))
    found = together(pairs, segment, np.zeros(skeleton.inner))
    for row in range(skeleton.inner):
        likely = []
        for one, two in itertools.combinations(range(skeleton.low[row], skeleton.high[row]), 2):
            ways = paths(skeleton, one, row), paths(skeleton, two, row)
            if ways[0][-1] != ways[1][-1]:
                likely.append(np.prod([keep[each] for way in ways for each in way]))
        assert pairs.number[row] == pytest.approx(len(likely))
        mean = np.clip(np.mean(likely), 1e-4, 1 - 1e-4)
        assert found[row] == pytest.approx(1 / (1 + np.exp(-np.log(mean / (1 - mean)) / 2)))
    assert survival(skeleton, np.zeros(len(segment))) == pytest.approx(1.0)


def test_all_pairs_of_leaves_part_somewhere() -> None:
    skeleton = random_skeleton(np.random.default_rng(1), 30)
    assert parting_pairs(skeleton, np.ones(30)).number.sum() == pytest.approx(30 * 29 / 2)
    weight = np.random.default_rng(2).random(30)
    total = (weight.sum() ** 2 - (weight**2).sum()) / 2
    assert parting_pairs(skeleton, weight).number.sum() == pytest.approx(total)


def test_shares_of_pairs_are_those_of_the_gold_segments() -> None:
    (example,) = labelled_examples(1)
    skeleton = example.measures.features.skeleton
    number, share = shares_together(example)
    uniform = example.is_uniform[: skeleton.inner] & (number > 0)
    assert share[uniform] == pytest.approx(1.0)
    assert share[0] < 0.5
    assert (share[number == 0] == 0).all()


def test_the_mean_of_ensembles_is_an_ensemble() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(600, 5)).round(2)
    matrix[:, 4] = rng.integers(0, 3, 600)
    target = matrix[:, 0] + matrix[:, 4] > 1
    few = Boosting(iterations=8, features_per_split=0.5)
    weight = np.ones(600)
    mean = fit_mean_trees(matrix, target, seeds=(1, 2), weight=weight, boosting=few)
    each = [fit_mean_trees(matrix, target, seeds=(s,), weight=weight, boosting=few) for s in (1, 2)]
    sums = sum(trees.log_odds(matrix) for trees in each)
    assert mean.log_odds(matrix) == pytest.approx(sums / 2)
    plain = fit_trees(matrix, target, seed=1, boosting=few)
    apart = np.abs(each[0].probability(matrix) - plain.probability(matrix))
    assert np.median(apart) < 0.05


def test_it_learns_pages_that_it_has_not_seen(tmp_path: Path) -> None:
    examples = labelled_examples(16)
    model = train_auto(examples[:12], "static", views=examples[:2])
    for example in examples[12:]:
        labels = Auto(model=model).segment(example.tree)
        assert adjusted_rand_index(example.gold, labels) > 0.9
    files = model.save(tmp_path / "one")
    again = train_auto(examples[:12], "static", views=examples[:2]).save(tmp_path / "two")
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]
    loaded = AutoModel.load(tmp_path / "one", "static")
    tree = examples[13].tree
    assert (Auto(model=loaded).segment(tree) == Auto(model=model).segment(tree)).all()
    with pytest.raises(ModelError, match="too few"):
        train_auto(examples[:3], "static")


def test_groups_are_the_opened_rows() -> None:
    tree = build_tree(labelled_html(4))
    found = Auto().partition(tree)
    assert (found.labels == Auto().segment(tree)).all()
    assert len(found.parent) == found.labels.max() + 1
    assert (found.group_parent < np.arange(len(found.group_parent))).all()
    page = analyze(labelled_html(4), engine="auto")
    assert len(page.groups) == len(found.group_parent)
    for segment in page.segments:
        assert segment.parent is None or segment.parent < len(page.groups)


@pytest.mark.parametrize("html", ["", "<p></p>", "<p>one", "<p>one<p>two", "<img src=x width=9>"])
def test_pages_with_nothing_to_cut(html: str) -> None:
    tree = build_tree(html)
    found = Auto().partition(tree)
    assert len(found.labels) == len(tree.leaves)
    assert len(np.unique(found.labels)) == len(found.parent)


@pytest.mark.parametrize("damage", sorted(damaged()))
def test_any_layout_gives_a_partition(damage: str) -> None:
    tree = damaged()[damage]
    labels = Auto().segment(tree)
    assert labels.shape == tree.leaves.shape
    assert labels.dtype == np.int32


@pytest.mark.parametrize(("width", "height"), [(10_000, 1), (1, 200_000), (10_000, 200_000)])
def test_enormous_pages(width: int, height: int) -> None:
    tree = build_tree(PAGE)
    factor = np.array([width, height, width, height]) / np.maximum(tree.box.max(axis=0), 1)
    wide = replace(tree, box=(tree.box * factor).astype(np.float32), width=width)
    found = Auto().partition(wide)
    assert found.labels.shape == tree.leaves.shape
    assert set(found.group_kind.tolist()) <= {0, 1, 2}


def test_frames_are_leaves_like_others() -> None:
    html = "<iframe src=/a width=300 height=200></iframe><p>Text.</p><frameset><frame src=x>"
    tree = build_tree(html)
    assert len(Auto().segment(tree)) == len(tree.leaves)


@pytest.mark.parametrize("layout", ["rendered", "static"])
def test_the_shipped_models_know_the_features(layout: LayoutKind) -> None:
    model = shipped_auto_model(layout)
    assert model.layout == layout
    assert model.features == page_features(build_tree(PAGE)).names


def test_a_list_of_five_thousand_entries_takes_no_time() -> None:
    entries = "".join(f"<li><a href=/{n}>Entry {n}</a></li>" for n in range(5000))
    tree = build_tree(f"<body><ul>{entries}</ul><p>Imprint</p></body>")
    start = time.process_time()
    labels = Auto().segment(tree)
    assert time.process_time() - start < 5
    assert len(labels) == 5001


def test_paragraphs_that_follow_each_other_are_one_segment_without_an_element_around_them() -> None:
    menu = "<ul><li><a href=/>home</a><li><a href=/news>news</a></ul>"
    text = "".join(f"<p>{prose(number, 60)}</p>" for number in range(4))
    page = analyze(f"<body>{menu}<h1>A story</h1>{text}<div>All rights reserved</div>")
    assert page.engine == "auto"
    (found,) = [segment for segment in page.segments if prose(2, 60)[:30] in segment.text]
    assert found.words >= 200
    assert found.xpaths == tuple(f"/html[1]/body[1]/p[{number}]" for number in range(1, 5))
    assert "All rights" not in found.text
