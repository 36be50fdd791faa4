"""Training of the segmentation models: everything is chosen on pages it was not fitted to.

The pages are dealt into ``INNER_FOLDS`` folds, and every page is of another site than the others.

1. Trees for "is a segment" and "is in one segment" are grown on all folds but one and score the
   rows of the fold left out, so that every page is scored by trees that never saw it.
2. With those scores the metric (LMNN) and the logistic regressions of ``V`` are fitted on all folds
   but one; λ and the thresholds of CClus are the values with the best mean ARI over the pages left
   out.
3. The metric and ``V`` are fitted again on all pages, and so are the trees that the model keeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.learn.boosting import fit_trees
from websegment_scrapy.learn.examples import Example, adjacent_examples, pair_examples, triplets
from websegment_scrapy.learn.metric import fit_lmnn
from websegment_scrapy.learn.regression import fit_logistic, spread_of
from websegment_scrapy.measure.metrics import adjusted_rand_index
from websegment_scrapy.model_files import LayoutKind, Logistic, ModelError
from websegment_scrapy.segment.correlation import cclus, pair_probabilities
from websegment_scrapy.segment.costs import RowScores, Variant, build_energy, row_scores, weigh
from websegment_scrapy.segment.expansion import minimise
from websegment_scrapy.segment.features import METRIC_FEATURES
from websegment_scrapy.segment.model import SegmentationModel
from websegment_scrapy.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["INNER_FOLDS", "SEED", "deal", "train"]

SEED = 2008
INNER_FOLDS = 4
MIN_PAGES = 2 * INNER_FOLDS
MAX_ITERATIONS = 1000
"""Most iterations of the logistic regressions."""


LAMBDAS: dict[Variant, tuple[float, ...]] = {
    "full": (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5),
    "np": (0.0, 0.02, 0.05, 0.1, 0.2, 0.5),
    "nl": (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
}
THRESHOLDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)
"""Values of λ and of CClus's threshold to choose from, by the mean ARI of pages left out."""

ENGINE_OF: dict[Variant, str] = {"full": "gcuts", "np": "gcuts-np", "nl": "gcuts-nl"}
ENGINES = ("gcuts", "gcuts-np", "gcuts-nl", "cclus", "cclus-nl")


def deal(count: int, folds: int, seed: int) -> NDArray[np.int64]:
    """Deal pages into folds of equal size; page and site are the same thing here."""
    fold = np.empty(count, dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(count)] = np.arange(count) % folds
    return fold


def train(
    examples: Sequence[Example],
    layout: LayoutKind,
    *,
    seed: int = SEED,
    engines: Sequence[str] = ENGINES,
) -> SegmentationModel:
    """Learn a model from labelled pages; the same pages give the same model.

    Parameters
    ----------
    examples
        Labelled pages, each of another site.
    layout
        Their kind of layout.
    seed
        Deals the pages and chooses columns and pairs.
    engines
        Engines whose λ or threshold is chosen; the model serves no other.
    """
    from threadpoolctl import threadpool_limits

    if len(examples) < MIN_PAGES:
        raise ModelError(
            f"{len(examples)} labelled pages are too few to learn from: give at least {MIN_PAGES}, "
            "or measure the shipped models with --folds 0"
        )
    with threadpool_limits(1):  # sums in another order would change the last digits
        fold = deal(len(examples), INNER_FOLDS, seed)
        scores = _unseen_scores(examples, fold, seed)
        validation: list[SegmentationModel] = []
        for held_out in range(INNER_FOLDS):
            rest = [number for number in range(len(examples)) if fold[number] != held_out]
            validation.append(_fit(examples, scores, rest, layout, seed))
        unseen = [validation[number] for number in fold.tolist()]
        parameters = _choose(examples, scores, unseen, engines)
        everything = list(range(len(examples)))
        model = _fit(examples, scores, everything, layout, seed)
        segment, uniform = _grow(examples, everything, seed)
    recipe = _recipe(examples, seed)
    return replace(model, segment=segment, uniform=uniform, parameters=parameters, recipe=recipe)


def _recipe(examples: Sequence[Example], seed: int) -> dict[str, Any]:
    import scipy
    import sklearn

    return {
        "pages": len(examples),
        "leaves": int(sum(len(example.gold) for example in examples)),
        "seed": seed,
        "metric": "lmnn",
        "inner_folds": INNER_FOLDS,
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
        "numpy": np.__version__,
    }


def _grow(examples: Sequence[Example], chosen: Sequence[int], seed: int) -> tuple[Trees, Trees]:
    """Grow both ensembles on some pages."""
    pages = [examples[number] for number in chosen]
    matrix = [page.measures.features.matrix[page.known] for page in pages]
    return (
        _trees(matrix, [page.is_segment[page.known] for page in pages], seed),
        _trees(
            [rows[: _inner(page)] for rows, page in zip(matrix, pages, strict=True)],
            [page.is_uniform[page.known][: _inner(page)] for page in pages],
            seed,
        ),
    )


def _inner(page: Example) -> int:
    """Return the number of known inner rows."""
    return int(page.known[: page.measures.features.skeleton.inner].sum())


def _trees(
    matrices: Sequence[NDArray[np.float64]], targets: Sequence[NDArray[np.bool_]], seed: int
) -> Trees:
    return fit_trees(np.concatenate(matrices), np.concatenate(targets), seed=seed)


def _unseen_scores(
    examples: Sequence[Example], fold: NDArray[np.int64], seed: int
) -> list[RowScores]:
    scores: dict[int, RowScores] = {}
    for held_out in range(int(fold.max()) + 1):
        segment, uniform = _grow(examples, np.flatnonzero(fold != held_out).tolist(), seed)
        for number in np.flatnonzero(fold == held_out).tolist():
            features = examples[number].measures.features
            scores[number] = row_scores(
                segment.log_odds(features.matrix),
                uniform.log_odds(features.matrix[: features.skeleton.inner]),
            )
    return [scores[number] for number in range(len(examples))]


def _fit(
    examples: Sequence[Example],
    scores: Sequence[RowScores],
    chosen: Sequence[int],
    layout: LayoutKind,
    seed: int,
) -> SegmentationModel:
    """Fit the metric and ``V`` on some pages with given row scores; the trees stay empty."""
    nothing = np.zeros(0)
    empty = Trees(
        nothing.astype(np.int32), nothing, nothing.astype(np.uint8), nothing.reshape(0, 8), 0.0
    )
    pages = [examples[number] for number in chosen]
    rows = np.concatenate([page.measures.features.columns(METRIC_FEATURES) for page in pages])
    mean, scale = spread_of(rows)
    labels = [triplets(examples[number], scores[number], mean, scale) for number in chosen]
    rng = np.random.default_rng(seed)
    return SegmentationModel(
        layout=layout,
        features=examples[0].measures.features.names,
        segment=empty,
        uniform=empty,
        mean=mean,
        scale=scale,
        metric=fit_lmnn(labels),
        adjacent=_same_segment([adjacent_examples(page) for page in pages]),
        pairs=_same_segment([pair_examples(page, rng) for page in pages]),
        parameters={},
        recipe={},
    )


def _same_segment(pages: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]) -> Logistic:
    """Fit the probability that a pair shares a segment; every page weighs the same."""
    pages = [page for page in pages if len(page[1])]
    matrix = np.concatenate([page[0] for page in pages])
    target = np.concatenate([page[1] for page in pages])
    weight = np.concatenate([np.full(len(page[1]), 1.0 / len(page[1])) for page in pages])
    return fit_logistic(matrix, target, weight, iterations=MAX_ITERATIONS)


def _choose(
    examples: Sequence[Example],
    scores: Sequence[RowScores],
    models: Sequence[SegmentationModel],
    engines: Sequence[str],
) -> dict[str, float]:
    """Choose λ and thresholds by the mean ARI of pages, each with a model that never saw it."""
    parameters: dict[str, float] = {}
    pages = [
        (example, score, model)
        for example, score, model in zip(examples, scores, models, strict=True)
        if example.counted.any()
    ]
    for variant, values in LAMBDAS.items():
        if ENGINE_OF[variant] not in engines:
            continue
        evidence = [
            weigh(example.measures, model, variant, score) for example, score, model in pages
        ]
        found = [[minimise(build_energy(page, value)) for page in evidence] for value in values]
        parameters[ENGINE_OF[variant]] = values[_best([page[0] for page in pages], found)]
    for engine, learned in (("cclus", True), ("cclus-nl", False)):
        if engine not in engines:
            continue
        matrices = [
            pair_probabilities(example.tree, model.pairs, learned=learned)
            for example, _, model in pages
        ]
        found = [
            [cclus(matrix, threshold=value, trials=5)[unit] for matrix, unit in matrices]
            for value in THRESHOLDS
        ]
        parameters[engine] = THRESHOLDS[_best([page[0] for page in pages], found)]
    return parameters


def _best(examples: Sequence[Example], found: Sequence[Sequence[NDArray[np.int32]]]) -> int:
    """Return the position of the value with the best mean ARI; the first of equal ones."""
    means = [
        float(
            np.mean(
                [
                    adjusted_rand_index(page.gold[page.counted], labels[page.counted])
                    for page, labels in zip(examples, labellings, strict=True)
                ]
            )
        )
        for labellings in found
    ]
    return int(np.argmax(np.round(means, 9)))
