"""A page and a model to the costs of the energy: what ``D``, ``V`` and ``M`` are made of.

``D_p(α)`` is the squared distance of the metric (``learn/metric.py``) between a leaf or inner row
and the row α that gives the label. A label can be carried by the leaves below its row only: labels
elsewhere in the tree cost infinitely much. ``V_pq`` is the probability that two neighbouring leaves
share a segment. An invisible row costs ``M_u = λ Σ_children V_qu`` with
``V_qu = −log P(the leaves below u are in several segments)``.

The paper's variants (section 5.1): **GCuts-NP** gives the edges between parents and children no
weight, neither in ``M_u`` nor on the way along the tree; **GCuts-NL** learns nothing: Euclidean
distance of the standardised features, every edge of the tree and every feature of a pair the same
weight, inner rows as the only labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from websegment_scrapy.page.subtrees import path_sums
from websegment_scrapy.segment.energy import Energy, domain_sizes, make_energy
from websegment_scrapy.segment.features import METRIC_FEATURES, PageFeatures, page_features
from websegment_scrapy.segment.neighbours import visual_neighbours
from websegment_scrapy.segment.pair_features import PAIR_APART, PairMeasure
from websegment_scrapy.trees import logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.model_files import Logistic
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.model import Metric, SegmentationModel

__all__ = [
    "Evidence",
    "Measures",
    "RowScores",
    "Variant",
    "build_energy",
    "measure_page",
    "row_scores",
    "uniform_probability",
    "weigh",
]

FLOOR = 1e-3
"""Probabilities are not trusted beyond this."""

MAX_ENTRIES = 1_000_000
"""Pairs of leaf and label that are priced: the least likely labels are left out beyond them."""

Variant = Literal["full", "np", "nl"]


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """A page's features, its neighbouring leaves and their features."""

    features: PageFeatures
    pairs: NDArray[np.int32]
    pair_matrix: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RowScores:
    """``−log P`` of every row: it is a segment, it is none; of inner rows: they are mixed."""

    segment: NDArray[np.float64]
    crossing: NDArray[np.float64]
    mixed: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the energy of a page is made of.

    Attributes
    ----------
    features
        The page's features and skeleton.
    coordinates
        ``A φ`` of every row.
    label
        ``a²·c_α`` of every row as a label.
    path
        ``b²·t`` from the topmost row down to each row, itself included.
    mixed
        ``V_qu`` of the children of every inner row.
    pairs, together
        Neighbouring leaves and their ``V_pq``.
    leaf_labels
        Whether a leaf can be a label of its own.
    """

    features: PageFeatures
    coordinates: NDArray[np.float64]
    label: NDArray[np.float64]
    path: NDArray[np.float64]
    mixed: NDArray[np.float64]
    pairs: NDArray[np.int32]
    together: NDArray[np.float64]
    leaf_labels: bool


def measure_page(tree: PageTree) -> Measures:
    """Measure the rows of a page and the pairs of neighbouring leaves."""
    features = page_features(tree)
    pairs = visual_neighbours(features.leaf.boxes)
    matrix = PairMeasure(tree, features)(pairs[:, 0], pairs[:, 1])
    return Measures(features, pairs, matrix)


def row_scores(segment: NDArray[np.float64], uniform: NDArray[np.float64]) -> RowScores:
    """Turn the trees' log odds of all rows and of the inner rows into costs."""
    return RowScores(_minus_log(segment), _minus_log(-segment), _minus_log(-uniform))


def weigh(
    measures: Measures, model: SegmentationModel, variant: Variant, scores: RowScores | None = None
) -> Evidence:
    """Ask a model what it makes of a page.

    Parameters
    ----------
    measures
        The page.
    model
        The model.
    variant
        ``"full"``, ``"np"`` or ``"nl"``.
    scores
        Scores of the rows from elsewhere, instead of the model's own trees.
    """
    features, skeleton = measures.features, measures.features.skeleton
    standard = (features.columns(METRIC_FEATURES) - model.mean) / model.scale
    if variant == "nl":
        ones = np.ones(len(skeleton.low))
        return Evidence(
            features=features,
            coordinates=standard / np.sqrt(standard.shape[1]),
            label=np.zeros(len(ones)),
            path=path_sums(skeleton.parent, ones),
            mixed=ones[: skeleton.inner],
            pairs=measures.pairs,
            together=uniform_probability(model.adjacent, measures.pair_matrix),
            leaf_labels=False,
        )
    if scores is None:
        matrix = features.columns(model.features)
        scores = row_scores(
            model.segment.log_odds(matrix), model.uniform.log_odds(matrix[: skeleton.inner])
        )
    metric: Metric = model.metric
    tree_weight = 0.0 if variant == "np" else 1.0
    return Evidence(
        features=features,
        coordinates=standard @ metric.transform.T,
        label=metric.label_weight * scores.segment,
        path=tree_weight * metric.tree_weight * path_sums(skeleton.parent, scores.crossing),
        mixed=tree_weight * scores.mixed,
        pairs=measures.pairs,
        together=model.adjacent.probability(measures.pair_matrix),
        leaf_labels=True,
    )


def uniform_probability(model: Logistic, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``V`` of the variants without learning: all features of the pair weigh the same."""
    signs = np.array(PAIR_APART, dtype=np.float64)
    odds = -((pairs - model.mean) / model.scale) @ signs / np.sqrt(np.abs(signs).sum())
    return logistic(odds)


def build_energy(evidence: Evidence, weight: float) -> Energy:
    """Price all labels of a page; ``weight`` is λ."""
    skeleton = evidence.features.skeleton
    inner = skeleton.inner
    domain = _labels(evidence)
    leaf_sizes, node_sizes = domain_sizes(skeleton, domain)
    leaves = inner + _inside(skeleton.low[domain], leaf_sizes)
    rows = _inside(domain, node_sizes)
    children = np.bincount(skeleton.parent[skeleton.parent >= 0], minlength=inner)[:inner]
    return make_energy(
        skeleton,
        domain,
        _distances(evidence, leaves, np.repeat(domain, leaf_sizes)),
        _distances(evidence, rows, np.repeat(domain, node_sizes)),
        weight * children * evidence.mixed,
        evidence.pairs,
        weight * evidence.together,
    )


def _labels(evidence: Evidence) -> NDArray[np.int32]:
    """Return the rows whose labels are priced: all, or the likeliest on enormous pages.

    The topmost row is always among them, so that every leaf has a label.
    """
    skeleton = evidence.features.skeleton
    inner = skeleton.inner
    rows = np.arange(len(skeleton.low) if evidence.leaf_labels else inner, dtype=np.int32)
    sizes = (skeleton.high - skeleton.low).astype(np.int64)
    if sizes[rows].sum() <= MAX_ENTRIES:
        return rows
    cost = evidence.label[:inner].copy()
    cost[0] = -np.inf
    likely = np.lexsort((sizes[:inner], cost))
    affordable = np.cumsum(sizes[likely]) <= MAX_ENTRIES
    return np.sort(np.concatenate((likely[affordable], rows[inner:]))).astype(np.int32)


def _inside(first: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``first[k], first[k] + 1, …`` (``sizes[k]`` numbers) for all ``k``, joined."""
    starts = np.cumsum(sizes) - sizes
    return np.repeat(first - starts, sizes) + np.arange(int(sizes.sum()))


def _distances(
    evidence: Evidence, rows: NDArray[np.int64], labels: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return ``d²(row, label)`` of rows below the labels' rows or equal to them."""
    difference = evidence.coordinates[rows] - evidence.coordinates[labels]
    squared = np.einsum("ij,ij->i", difference, difference)
    return np.asarray(
        squared + evidence.label[labels] + evidence.path[rows] - evidence.path[labels]
    )


def _minus_log(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``−log P`` of log odds, ``P`` not under ``FLOOR``."""
    return -np.log(FLOOR + (1 - FLOOR) / (1.0 + np.exp(-np.clip(log_odds, -30, 30))))
