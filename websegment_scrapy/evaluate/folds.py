"""Cross-validation of the learned engines: no page is segmented by a model that has seen it.

Every labelled page is of another site, so folds of pages are folds of sites. The metric, ``V``, the
trees, λ and the thresholds are all chosen on the pages of the other folds
(``learn/segmentation.py``), and so are the weights of WPS (``learn/wps.py``) and the trees of
``auto`` (``learn/auto.py``).
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.evaluate.segmentation import (
    WSID,
    CurvePoint,
    GoldTask,
    PageLabels,
    block_numbers,
    label_page,
)
from websegment_scrapy.measure.metrics import adjusted_rand_index, normalised_mutual_information
from websegment_scrapy.measure.report import silent
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.segment.correlation import cclus, pair_probabilities
from websegment_scrapy.segment.costs import build_energy, weigh
from websegment_scrapy.segment.expansion import minimise
from websegment_scrapy.segment.registry import MODEL_OF, with_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.learn.examples import Example
    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.segment.auto_model import AutoModel
    from websegment_scrapy.segment.base import Segmenter
    from websegment_scrapy.segment.model import SegmentationModel
    from websegment_scrapy.segment.wps_model import WpsModel

__all__ = ["CURVES", "cross_validate", "labelled_example", "plain_views"]

SEED = 1

CURVES: dict[str, tuple[float, ...]] = {
    "gcuts": (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    "cclus": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
}
"""Values of λ and of the threshold that the curves are drawn over (GCuts, figure 3)."""

Curve = dict[str, dict[float, list[tuple[float, float]]]]


@dataclass(frozen=True, slots=True)
class FoldTask:
    """Pages to train on and pages to segment; what a process gets."""

    train: dict[str, GoldTask]
    test: dict[str, GoldTask]
    curves: bool


def labelled_example(name: str, task: GoldTask) -> Example:
    """Prepare a labelled page for training."""
    from websegment_scrapy.learn.examples import make_example

    tree = build_tree(task.html, attributes=(WSID,))
    number = block_numbers(task.blocks)
    labelled = np.full(len(tree), -1, dtype=np.int32)
    for node, block in tree.attributes[WSID].items():
        labelled[node] = number.get(block, -1)
    types = {number[block]: kind for block, kind in task.types.items()}
    return make_example(name, tree, labelled, types)


def plain_views(tasks: Mapping[str, GoldTask]) -> list[Example]:
    """Prepare rendered pages once more, as they are without their layout; none for other pages."""
    views = [
        labelled_example(name, replace(task, html=task.html.plain(), rendered=False))
        for name, task in tasks.items()
        if isinstance(task.html, Captured)
    ]
    return [view for view in views if len(view.gold) > 1 and (view.gold >= 0).any()]


def cross_validate(
    tasks: Mapping[str, GoldTask],
    *,
    folds: int,
    workers: int = 1,
    curves: bool = False,
    progress: Progress = silent,
) -> tuple[dict[str, PageLabels], dict[str, list[CurvePoint]]]:
    """Segment every page with models trained on the other folds.

    Returns the labels by page, and the curves of the engines in ``CURVES`` if they were asked for.
    """
    from websegment_scrapy.learn.segmentation import deal

    names = sorted(tasks)
    fold = deal(len(names), min(folds, len(names)), SEED)
    rounds = []
    for held_out in range(int(fold.max()) + 1):
        test = {
            name: tasks[name] for name, mine in zip(names, fold, strict=True) if mine == held_out
        }
        rest = {name: task for name, task in tasks.items() if name not in test}
        rounds.append(FoldTask(rest, test, curves))
    labels: dict[str, PageLabels] = {}
    collected: Curve = {}
    with ProcessPoolExecutor(max(workers, 1), mp_context=get_context("spawn")) as executor:
        results = executor.map(run_fold, rounds)
        for found, curve in progress(results, len(rounds), "folds"):
            labels.update(found)
            for engine, points in curve.items():
                for value, pages in points.items():
                    collected.setdefault(engine, {}).setdefault(value, []).extend(pages)
    return labels, {
        engine: [
            CurvePoint(value, *(float(mean) for mean in np.mean(pages, axis=0)))
            for value, pages in sorted(points.items())
        ]
        for engine, points in collected.items()
    }


def run_fold(task: FoldTask) -> tuple[dict[str, PageLabels], Curve]:
    """Train on one side and segment the other; runs in a process of its own."""
    examples = [labelled_example(name, page) for name, page in task.train.items()]
    examples = [example for example in examples if len(example.gold) > 1]
    engines = sorted({name for page in task.test.values() for name in page.engines})
    model, others = _trained(task.train, examples, engines)

    def engine_of(name: str) -> Segmenter:
        return with_model(name, others.get(MODEL_OF[name], model))

    labels = {name: label_page(page, engine_of) for name, page in task.test.items()}
    curve: Curve = {}
    if task.curves and model is not None:
        for engine in engines:
            if engine in CURVES:
                curve[engine] = {value: [] for value in CURVES[engine]}
                for name, page in task.test.items():
                    for value, scores in _vary(engine, model, name, page).items():
                        curve[engine][value].append(scores)
    return labels, curve


def _trained(
    tasks: Mapping[str, GoldTask],
    examples: Sequence[Example],
    engines: Sequence[str],
) -> tuple[SegmentationModel | None, dict[str, AutoModel | WpsModel]]:
    """Train the models that engines need; those of WPS and of ``auto`` are by their kind."""
    from websegment_scrapy.learn.auto import train_auto
    from websegment_scrapy.learn.segmentation import train
    from websegment_scrapy.learn.wps import train_wps

    layout = examples[0].tree.layout
    by_kind: dict[str, list[str]] = {}
    for name in engines:
        by_kind.setdefault(MODEL_OF[name], []).append(name)
    others: dict[str, AutoModel | WpsModel] = {}
    if "wps" in by_kind:
        others["wps"] = train_wps(examples, layout, engines=by_kind["wps"])
    if "auto" in by_kind:
        others["auto"] = train_auto(examples, layout, views=plain_views(tasks))
    cuts = by_kind.get("segmentation")
    return train(examples, layout, engines=cuts) if cuts else None, others


def _vary(
    engine: str, model: SegmentationModel, name: str, page: GoldTask
) -> dict[float, tuple[float, float]]:
    """Measure one page over the values of λ or of the threshold."""
    example = labelled_example(name, page)
    counted = example.counted if page.leaves == "text" else example.gold >= 0
    gold = example.gold[counted]
    found: dict[float, NDArray[np.int32]] = {}
    if engine == "gcuts":
        evidence = weigh(example.measures, model, "full")
        for value in CURVES[engine]:
            found[value] = minimise(build_energy(evidence, value))
    else:
        together, unit = pair_probabilities(example.tree, model.pairs)
        for value in CURVES[engine]:
            found[value] = cclus(together, threshold=value)[unit]
    return {
        value: (
            adjusted_rand_index(gold, labels[counted]),
            normalised_mutual_information(gold, labels[counted]),
        )
        for value, labels in found.items()
    }
