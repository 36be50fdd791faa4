"""PageLevel: the templateness of every node of a page, from the page alone.

Chakrabarti, Kumar and Punera: Page-level Template Detection via Isotonic Smoothing, WWW 2007.

**Basic** scores every node of at least ``MIN_AREA_PX`` by one of four logistic regressions, chosen
by the node's area (section 5.2). **Smooth** makes the scores monotone along the tree: a node is at
most as much of a template as each of its children (section 4), with the penalty
``γ(i) = 0.01·A/A_i`` for a new section (section 5.3). Smaller nodes are not scored but count with
their parent, which weighs ``k + 1``; they have its score.

A node's area is that of the box around its visible leaves, so that it is never larger than its
parent's, whatever floats or overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.model_files import (
    LayoutKind,
    LayoutModel,
    Logistic,
    ModelFormat,
    load_shipped,
)
from websegment_scrapy.template.isotonic import smooth
from websegment_scrapy.template.pagelevel_features import (
    FEATURES,
    FEATURES_VERSION,
    RowFeatures,
    measure_rows,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = [
    "AREA_CLASSES",
    "METHODS",
    "MIN_AREA_PX",
    "PENALTY",
    "PageLevelModel",
    "ScoredNodes",
    "Templateness",
    "scored_nodes",
    "shipped_pagelevel_model",
    "smooth_nodes",
    "templateness",
]

MIN_AREA_PX = 2000.0
"""Square pixels under which nodes are neither scored nor smoothed (section 5.3)."""

PENALTY = 0.01
"""``c`` of ``γ(i) = c·A/A_i`` (section 5.3)."""

AREA_CLASSES = 4
"""Logistic regressions, each for a quarter of the nodes by area (section 5.2)."""

METHODS = ("basic", "smooth")
"""The two scores, and the names of their thresholds."""

MODEL_VERSION = 1
FORMAT = ModelFormat(
    "templates",
    {"version": MODEL_VERSION, "features_version": FEATURES_VERSION, "features": list(FEATURES)},
)


@dataclass(frozen=True, slots=True, eq=False)
class PageLevelModel(LayoutModel):
    """Four logistic regressions by area.

    Attributes
    ----------
    layout
        The layout of the pages it was learned from.
    bounds
        Areas in square pixels at which the next regression begins.
    classes
        The regressions, for small areas first.
    thresholds
        Scores from which a node counts as template, of ``basic`` and ``smooth``.
    recipe
        How it was made.
    """

    form = FORMAT
    layout: LayoutKind
    bounds: tuple[float, ...]
    classes: tuple[Logistic, ...]
    thresholds: dict[str, float]
    recipe: dict[str, Any]

    def score(self, matrix: NDArray[np.float64], area: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the templateness of rows of features."""
        number = np.searchsorted(self.bounds, area, side="right")
        scores = np.empty(len(matrix))
        for position, model in enumerate(self.classes):
            rows = np.flatnonzero(number == position)
            if len(rows):
                scores[rows] = model.probability(matrix[rows])
        return scores

    def _contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays: dict[str, NDArray[Any]] = {"bounds": np.array(self.bounds)}
        for number, model in enumerate(self.classes):
            arrays |= model.to_arrays(f"class{number}")
        return {"thresholds": self.thresholds, "recipe": self.recipe}, arrays

    @classmethod
    def _from(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PageLevelModel:
        return cls(
            layout=description["layout"],
            bounds=tuple(arrays["bounds"].astype(np.float64).tolist()),
            classes=tuple(
                Logistic.from_arrays(arrays, f"class{number}") for number in range(AREA_CLASSES)
            ),
            thresholds={name: float(description["thresholds"][name]) for name in METHODS},
            recipe=dict(description["recipe"]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ScoredNodes:
    """The nodes of a page that are large enough to be scored, in document order.

    Attributes
    ----------
    nodes
        Their numbers in the tree; the root is always among them.
    parent
        Position of the nearest scored ancestor of each, -1 for the root.
    weight
        1 and the number of smaller nodes that count with each.
    owner
        For each node of the tree the position of itself or its nearest scored ancestor.
    row
        Each scored node's row of the features.
    area
        Its area in square pixels.
    page_area
        The area of the page.
    """

    nodes: NDArray[np.int32]
    parent: NDArray[np.int32]
    weight: NDArray[np.float64]
    owner: NDArray[np.int32]
    row: NDArray[np.int32]
    area: NDArray[np.float64]
    page_area: float


@dataclass(frozen=True, slots=True, eq=False)
class Templateness:
    """Templateness of every node of a page, 0 (content) to 1 (template).

    Attributes
    ----------
    basic
        The classifier's scores.
    smooth
        The smoothed scores; a node's is at most that of each of its children.
    sections
        For each node the node at which its section starts.
    """

    basic: NDArray[np.float64]
    smooth: NDArray[np.float64]
    sections: NDArray[np.int32]


@cache
def shipped_pagelevel_model(layout: LayoutKind) -> PageLevelModel:
    """Return the model that comes with this package for pages of a layout."""
    return load_shipped(PageLevelModel.load, layout)


def templateness(
    tree: PageTree, url: str = "", *, model: PageLevelModel | None = None
) -> Templateness:
    """Score all nodes of a page.

    Parameters
    ----------
    tree
        The page.
    url
        Its address, which tells links within the site from others.
    model
        A model; by default the one shipped for the page's kind of layout.
    """
    if not len(tree.leaves):
        nothing = np.ones(len(tree))
        return Templateness(nothing, nothing, np.zeros(len(tree), dtype=np.int32))
    features = measure_rows(tree, url)
    scored = scored_nodes(tree, features)
    used = shipped_pagelevel_model(tree.layout) if model is None else model
    scores = used.score(features.matrix[scored.row], scored.area)
    values, sections = smooth_nodes(scored, scores)
    return Templateness(
        basic=scores[scored.owner],
        smooth=values[scored.owner],
        sections=scored.nodes[sections[scored.owner]],
    )


def scored_nodes(tree: PageTree, features: RowFeatures) -> ScoredNodes:
    """Choose the nodes to score; those without a visible leaf count for nothing."""
    row = features.skeleton.row_of_node
    shown = row >= 0
    large = shown & (features.area[row] >= MIN_AREA_PX)
    large[0] = True
    nodes = np.flatnonzero(large).astype(np.int32)
    place = np.cumsum(large) - 1
    owner = np.where(large, place, -1).tolist()
    parents = tree.parent.tolist()
    for node in np.flatnonzero(~large).tolist():
        owner[node] = owner[parents[node]]
    owners = np.array(owner, dtype=np.int32)
    weight = np.bincount(owners[shown | large], minlength=len(nodes)).astype(np.float64)
    above = tree.parent[nodes]
    parent = np.where(above >= 0, owners[np.maximum(above, 0)], -1).astype(np.int32)
    rows = np.maximum(row[nodes], 0)
    return ScoredNodes(nodes, parent, weight, owners, rows, features.area[rows], features.page_area)


def smooth_nodes(
    scored: ScoredNodes, scores: NDArray[np.float64], penalty: float = PENALTY
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the smoothed scores and the sections of scored nodes, as positions among them."""
    gamma = penalty * scored.page_area / np.maximum(scored.area, 1.0)
    found = smooth(scores, scored.parent, scored.weight, gamma)
    return found.values, found.sections
