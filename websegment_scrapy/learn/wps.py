"""Training of the WPS engines: a structured SVM over the boundaries of labelled pages (section 6).

**WPS-Margin**: the loss of a labelling is the number of boundaries that it has wrong (Hamming), and
the margin is rescaled by it. The most violated labelling is a closure again, with 1 more where the
gold label is N and 1 less where it is Y.

**WPS-Slack**: the loss is the share of proper informative boundaries that are wrong, and the slack
is rescaled by it (``informative_loss.py``). Pages without an informative segment do not take part,
as in the paper's experiment with all types of pages but the index pages (section 7, table 4). Few
pages are left, and their loss says nothing about most boundaries. So the weights are not the
smallest but those nearest to the weights that WPS-Margin learns from the same pages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.learn.informative_loss import (
    InformativeBoundaries,
    informative_boundaries,
    most_violated_informative,
)
from websegment_scrapy.learn.regression import spread_of
from websegment_scrapy.learn.structured_svm import Plane, Solution, fit_structured_svm
from websegment_scrapy.learn.wps_gold import gold_boundaries
from websegment_scrapy.model_files import LayoutKind, ModelError
from websegment_scrapy.segment.boundary_features import boundary_features, boundary_names
from websegment_scrapy.segment.closure import maximum_closure
from websegment_scrapy.segment.wps_graph import WpsGraph, build_wps_graph
from websegment_scrapy.segment.wps_model import BoundaryWeights, WpsModel
from websegment_scrapy.segment.wps_partition import partition_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.learn.examples import Example

__all__ = ["ENGINES", "WpsExample", "train_wps", "wps_example"]

ENGINES = ("wps-margin", "wps-slack")
MIN_PAGES = 8
"""As few pages as the other learned engines are trained on."""

MARGIN_TRADE_OFF = 50.0
"""``C`` of WPS-Margin: from 30 to 300 the ARI of 66 pages, 5-fold, was between 0.66 and 0.68."""

SLACK_TRADE_OFF = 0.003
"""``C`` of WPS-Slack, around the weights of WPS-Margin; chosen likewise."""

PRECISION = 0.02
"""Gap, as a share of the objective, at which a training ends."""


@dataclass(frozen=True, slots=True, eq=False)
class WpsExample:
    """A labelled page as WPS sees it: its graph, features, gold labels, informative boundaries."""

    graph: WpsGraph
    matrix: NDArray[np.float64]
    gold: NDArray[np.bool_]
    informative: InformativeBoundaries | None


def wps_example(example: Example) -> WpsExample:
    """Build the graph of a labelled page and its gold labelling."""
    features = example.measures.features
    skeleton = features.skeleton
    graph = build_wps_graph(skeleton, features.boxes)
    gold = gold_boundaries(graph, skeleton, example.gold)
    informative = None
    own = example.gold == example.informative
    if example.informative >= 0 and own.any():
        partition = partition_of(graph, skeleton, gold)
        most = int(np.bincount(partition.labels[own]).argmax())
        run = int(partition.first[most]), int(partition.count[most])
        informative = informative_boundaries(graph, run)
    return WpsExample(graph, boundary_features(graph, features), gold, informative)


def train_wps(
    examples: Sequence[Example], layout: LayoutKind, *, engines: Sequence[str] = ENGINES
) -> WpsModel:
    """Learn a model from labelled pages; the same pages give the same model.

    Parameters
    ----------
    examples
        Labelled pages.
    layout
        Their kind of layout.
    engines
        Engines whose weights are learned; the model serves no other.
    """
    from threadpoolctl import threadpool_limits

    pages = [page for page in map(wps_example, examples) if page.graph.boundaries]
    if len(pages) < MIN_PAGES:
        raise ModelError(
            f"{len(pages)} labelled pages with a boundary are too few to learn from: give at least "
            f"{MIN_PAGES}, or measure the shipped models with --folds 0"
        )
    fitters = {"wps-margin": _margin, "wps-slack": _slack}
    with threadpool_limits(1):  # sums in another order would change the last digits
        fitted = {name: fitters[name](pages) for name in engines}
    return WpsModel(
        layout=layout,
        features=boundary_names(examples[0].measures.features.names),
        weights={name: weights for name, (weights, _) in fitted.items()},
        reports={name: _report(solution) for name, (_, solution) in fitted.items()},
        recipe=_recipe(examples, pages),
    )


Fitted = tuple[BoundaryWeights, Solution]


def _margin(pages: Sequence[WpsExample]) -> Fitted:
    """Learn the weights of WPS-Margin; the loss is counted per boundary of all pages."""
    mean, scale = spread_of(np.concatenate([page.matrix for page in pages]))
    zero = BoundaryWeights(mean, scale, np.zeros(len(mean) + 1))
    standard = [(page, zero.standard(page.matrix)) for page in pages]
    total = sum(len(page.gold) for page in pages)

    def most_violated(weights: NDArray[np.float64]) -> Plane:
        gradient, offset = np.zeros(len(weights)), 0.0
        for page, matrix in standard:
            augmented = matrix @ weights + np.where(page.gold, -1.0, 1.0)
            found = maximum_closure(augmented, page.graph.edges)
            gradient += (page.gold.astype(np.float64) - found) @ matrix
            offset += float((page.gold != found).sum())
        return Plane(gradient / total, offset / total)

    found = fit_structured_svm(
        most_violated, len(zero.weights), trade_off=MARGIN_TRADE_OFF, precision=PRECISION
    )
    return replace(zero, weights=found.weights), found


def _slack(pages: Sequence[WpsExample]) -> Fitted:
    """Learn the weights of WPS-Slack: ``w = w₀ + u`` with the least ``u``.

    ``(w₀ + u)·g ≥ d − ξ`` is ``u·g ≥ (d − w₀·g) − ξ``. Where too few pages have an informative
    segment, the weights are those of WPS-Margin.
    """
    own = [page for page in pages if page.informative is not None]
    if len(own) < MIN_PAGES:
        return _margin(pages)
    start, _ = _margin(own)
    standard = [(page, start.standard(page.matrix)) for page in own]

    def most_violated(change: NDArray[np.float64]) -> Plane:
        gradient, offset = np.zeros(len(change)), 0.0
        for page, matrix in standard:
            found, loss = most_violated_informative(
                page.graph, page.gold, page.informative, matrix @ (start.weights + change)
            )
            gradient += loss * ((page.gold.astype(np.float64) - found) @ matrix)
            offset += loss
        return Plane(gradient / len(own), (offset - float(start.weights @ gradient)) / len(own))

    found = fit_structured_svm(
        most_violated, len(start.weights), trade_off=SLACK_TRADE_OFF, precision=PRECISION
    )
    return replace(start, weights=start.weights + found.weights), found


def _report(solution: Solution) -> dict[str, float]:
    """Return how a training ended, in numbers short enough to be the same everywhere."""
    return {
        "planes": solution.planes,
        "slack": round(solution.slack, 4),
        "objective": round(solution.objective, 4),
        "duality_gap": round(solution.gap, 4),
    }


def _recipe(examples: Sequence[Example], pages: Sequence[WpsExample]) -> dict[str, Any]:
    import scipy

    return {
        "pages": len(examples),
        "informative": sum(page.informative is not None for page in pages),
        "boundaries": sum(page.graph.boundaries for page in pages),
        "margin_trade_off": MARGIN_TRADE_OFF,
        "slack_trade_off": SLACK_TRADE_OFF,
        "precision": PRECISION,
        "scipy": scipy.__version__,
        "numpy": np.__version__,
    }
