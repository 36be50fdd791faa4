"""Trees, metric and model files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.ensemble import HistGradientBoostingClassifier

from tests.labelled import labelled_examples, labelled_html
from websegment_scrapy.evaluate.folds import cross_validate
from websegment_scrapy.evaluate.segmentation import GoldTask
from websegment_scrapy.learn import metric as lmnn
from websegment_scrapy.learn.boosting import read_trees
from websegment_scrapy.learn.metric import Triplets, fit_lmnn
from websegment_scrapy.learn.segmentation import deal, train
from websegment_scrapy.measure.metrics import adjusted_rand_index
from websegment_scrapy.model_files import ModelError
from websegment_scrapy.segment.features import page_features
from websegment_scrapy.segment.graph_cuts import GraphCuts
from websegment_scrapy.segment.model import Metric, SegmentationModel, shipped_segmentation_model
from websegment_scrapy.trees import Trees


@pytest.mark.parametrize("leaves", [2, 5, 8])
def test_bit_masks_give_the_trees_of_scikit_learn(leaves: int) -> None:
    rng = np.random.default_rng(leaves)
    matrix = rng.normal(size=(1500, 6)).round(1)
    target = (matrix[:, 0] * matrix[:, 1] > 0.2) | (matrix[:, 2] > 1)
    model = HistGradientBoostingClassifier(max_leaf_nodes=leaves, max_iter=20, random_state=0)
    model.fit(matrix, target)
    found = read_trees(model).log_odds(matrix)
    assert found == pytest.approx(model.decision_function(matrix))


def triplets(rng: np.random.Generator, leaves: int = 12) -> Triplets:
    """Every leaf has four labels; the right one is near in the first coordinate alone."""
    leaf = np.repeat(np.arange(leaves), 4)
    target = np.tile([True, False, False, False], leaves)
    difference = rng.normal(size=(len(leaf), 5)) * 3
    difference[target, 0] = rng.normal(size=leaves) * 0.1
    difference[~target, 0] += np.sign(difference[~target, 0]) * 2
    return Triplets(leaf, difference, rng.random(len(leaf)), rng.random(len(leaf)), target)


def test_the_gradient_of_the_metric_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(3)
    data = lmnn._join([triplets(rng), triplets(rng, 5)])
    point = rng.normal(size=2 * 5 + 2)
    numeric = approx_fprime(point, lambda flat: lmnn._flat_loss(flat, data, 2)[0], 1e-7)
    assert lmnn._flat_loss(point, data, 2)[1] == pytest.approx(numeric, rel=1e-3, abs=1e-3)


def test_the_learned_metric_prefers_what_tells_labels_apart() -> None:
    rng = np.random.default_rng(4)
    pages = [triplets(rng) for _ in range(10)]
    metric = fit_lmnn(pages, rank=3)
    weight = (metric.transform**2).sum(axis=0)
    assert weight[0] > 5 * weight[1:].max()
    assert loss(pages, metric) < loss(pages, Metric(np.eye(5), 0.0, 1.0))


def loss(pages: list[Triplets], metric: Metric) -> float:
    weights = np.sqrt([metric.label_weight, metric.tree_weight])
    flat = np.concatenate((metric.transform.ravel(), weights))
    return lmnn._flat_loss(flat, lmnn._join(pages), len(metric.transform))[0]


def test_folds_are_of_equal_size_and_the_same_every_time() -> None:
    fold = deal(83, 5, seed=1)
    assert sorted(np.bincount(fold).tolist()) == [16, 16, 17, 17, 17]
    assert (fold == deal(83, 5, seed=1)).all()


def test_training_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    examples = labelled_examples(8)
    for name in ("one", "two"):
        train(examples, "static").save(tmp_path / name)
    for file in ("segmentation-static.json", "segmentation-static.npz"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    model = SegmentationModel.load(tmp_path / "one", "static")
    assert set(model.parameters) == {"gcuts", "gcuts-np", "gcuts-nl", "cclus", "cclus-nl"}
    labels = GraphCuts(model=model).segment(examples[0].tree)
    assert len(labels) == len(examples[0].tree.leaves)


def test_cross_validation_segments_every_page() -> None:
    blocks = frozenset(str(number) for number in range(10))
    tasks = {
        f"page {seed}": GoldTask(labelled_html(seed), blocks, ("gcuts",), "text", False)
        for seed in range(16)
    }
    labels, curves = cross_validate(tasks, folds=2, workers=2)
    assert sorted(labels) == sorted(tasks)
    agreement = [adjusted_rand_index(page.gold, page.found["gcuts"]) for page in labels.values()]
    assert np.mean(agreement) > 0.8
    assert curves == {}


def test_too_few_pages_are_refused() -> None:
    with pytest.raises(ModelError, match="too few"):
        train(labelled_examples(3), "static")


@pytest.mark.parametrize("layout", ["rendered", "static"])
def test_the_shipped_models_know_the_features(layout: str) -> None:
    model = shipped_segmentation_model(layout)  # type: ignore[arg-type]
    example = labelled_examples(1)[0]
    assert model.layout == layout
    assert set(model.features) <= set(page_features(example.tree).names)


def test_no_model_file_holds_a_pickle() -> None:
    folder = Path(lmnn.__file__).parent.parent / "models"
    for path in folder.glob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            assert all(arrays[name].dtype != object for name in arrays)


def test_a_model_of_another_version_is_refused(tmp_path: Path) -> None:
    train(labelled_examples(8), "static").save(tmp_path)
    path = tmp_path / "segmentation-static.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps({**description, "version": 99}))
    with pytest.raises(ModelError, match="another version"):
        SegmentationModel.load(tmp_path, "static")
    path.write_text(json.dumps({**description, "pair_features": ["x"]}))
    with pytest.raises(ModelError, match="another pair_features"):
        SegmentationModel.load(tmp_path, "static")
    path.write_text("no JSON")
    with pytest.raises(ModelError, match="cannot be read"):
        SegmentationModel.load(tmp_path, "static")
    with pytest.raises(ModelError, match="websegment train segmentation"):
        SegmentationModel.load(tmp_path / "absent", "rendered")


def test_thresholds_of_single_precision_part_numbers_next_to_them() -> None:
    limit = float(np.float32(0.1))
    trees = Trees(
        feature=np.zeros(7, dtype=np.int32),
        threshold=np.array([limit, *[np.inf] * 6]),
        mask=np.array([0b11111110, *[255] * 6], dtype=np.uint8),
        value=np.arange(8, dtype=np.float64)[None, :],
        baseline=0.0,
    )
    beside = [np.nextafter(limit, 1.0), limit, np.nextafter(limit, -1.0), -1e300, 1e300, -0.0]
    assert trees.log_odds(np.array(beside)[:, None]).tolist() == [1, 0, 0, 0, 1, 0]
    negative = Trees(trees.feature, -trees.threshold, trees.mask, trees.value, 0.0)
    beside = [np.nextafter(-limit, 1.0), -limit, np.nextafter(-limit, -1.0)]
    assert negative.log_odds(np.array(beside)[:, None]).tolist() == [1, 0, 0]
