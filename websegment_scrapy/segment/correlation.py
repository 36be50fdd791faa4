"""The engines ``cclus`` and ``cclus-nl``: correlation clustering (GCuts, section 4.1).

The objective is ``Σ_{apart} v_pq + Σ_{together} (1 − v_pq)`` over all pairs of leaves, where
``v_pq`` is the probability that the pair shares a segment. The pivot algorithm (Ailon, Charikar and
Newman, 2005) takes a random leaf and every leaf left with ``v_pq ≥ ϑ``, again and again; of several
trials the one with the lowest objective is kept. ``ϑ`` is ½ in the theory and is tuned as λ is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.segment.costs import uniform_probability
from websegment_scrapy.segment.features import page_features
from websegment_scrapy.segment.model import SegmentationModel, shipped_segmentation_model
from websegment_scrapy.segment.pair_features import PairMeasure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.model_files import Logistic
    from websegment_scrapy.page.skeleton import Skeleton
    from websegment_scrapy.page.tree import PageTree

__all__ = ["CorrelationClustering", "cclus", "pair_probabilities"]

TRIALS = 20
"""Of which the best is kept."""

SEED = 20_080_421

MAX_UNITS = 1200
"""All pairs of more leaves are too many: whole subtrees are then taken as one leaf."""

PAIRS_AT_ONCE = 100_000  # bounds the memory of their features


def cclus(
    together: NDArray[np.float64], *, threshold: float = 0.5, trials: int = TRIALS, seed: int = SEED
) -> NDArray[np.int32]:
    """Cluster by pivots and return the labels of the best trial."""
    count = len(together)
    rng = np.random.default_rng(seed)
    similar = together >= threshold
    best, lowest = np.zeros(count, dtype=np.int32), np.inf
    for _ in range(trials):
        labels = np.full(count, -1, dtype=np.int32)
        cluster = 0
        for pivot in rng.permutation(count).tolist():
            if labels[pivot] < 0:
                free = labels < 0
                labels[free & similar[pivot]] = cluster
                labels[pivot] = cluster
                cluster += 1
        if (cost := _cost(together, labels)) < lowest:
            best, lowest = labels, cost
    return best


def _cost(together: NDArray[np.float64], labels: NDArray[np.int32]) -> float:
    """Return the objective up to a constant: ``Σ_{together} (1 − 2·v_pq)``."""
    order = np.argsort(labels, kind="stable")
    bounds = np.flatnonzero(np.diff(labels[order])) + 1
    total = 0.0
    for members in np.split(order, bounds):
        inside = together[np.ix_(members, members)]
        total += len(members) * (len(members) - 1) - 2 * (inside.sum() - np.trace(inside))
    return float(total)


def pair_probabilities(
    tree: PageTree, model: Logistic, *, learned: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return ``v`` of all pairs of units, and the unit of each leaf.

    Units are the leaves; on pages with more than ``MAX_UNITS`` of them, the largest subtrees that
    are small enough, each described by its first leaf.
    """
    features = page_features(tree)
    unit, first = _units(features.skeleton)
    measure = PairMeasure(tree, features)
    one, two = np.triu_indices(len(first), 1)
    values = np.empty(len(one))
    for start in range(0, len(one), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        pairs = measure(first[one[part]], first[two[part]])
        values[part] = model.probability(pairs) if learned else uniform_probability(model, pairs)
    together = np.ones((len(first), len(first)))
    together[one, two] = together[two, one] = values
    return together, unit


def _units(skeleton: Skeleton) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the unit of each leaf and the first leaf of each unit."""
    count = skeleton.leaves
    limit = 1
    first = np.ones(count, dtype=bool)
    while first.sum() > MAX_UNITS:
        # Subtrees of up to ``limit`` leaves, none of them inside another, are one unit each.
        limit *= 2
        first = np.ones(count, dtype=bool)
        inner = skeleton.inner
        size = skeleton.high[:inner] - skeleton.low[:inner]
        for row in np.flatnonzero(size <= limit).tolist():
            first[skeleton.low[row] + 1 : skeleton.high[row]] = False
        if limit > 2 * count:
            first = np.arange(count) % (count // MAX_UNITS + 1) == 0
    unit = (np.cumsum(first) - 1).astype(np.int32)
    return unit, np.flatnonzero(first).astype(np.int32)


@dataclass(frozen=True, slots=True)
class CorrelationClustering:
    """Segments by correlation clustering.

    Parameters
    ----------
    name
        The engine's name.
    learned
        Whether ``v`` is learned; otherwise all features of a pair weigh the same.
    model
        A model; by default the one shipped for the page's kind of layout.
    threshold
        ``ϑ``; by default the model's.
    """

    name: str = "cclus"
    learned: bool = True
    model: SegmentationModel | None = None
    threshold: float | None = None

    @classmethod
    def not_learned(cls) -> CorrelationClustering:
        """CClus-NL."""
        return cls("cclus-nl", learned=False)

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        if len(tree.leaves) < 2:
            return np.zeros(len(tree.leaves), dtype=np.int32)
        model = self.model or shipped_segmentation_model(tree.layout)
        threshold = model.parameters[self.name] if self.threshold is None else self.threshold
        together, unit = pair_probabilities(tree, model.pairs, learned=self.learned)
        return cclus(together, threshold=threshold)[unit]
