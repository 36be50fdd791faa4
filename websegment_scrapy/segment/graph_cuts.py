"""The engines ``gcuts``, ``gcuts-np`` and ``gcuts-nl`` (Chakrabarti, Kumar and Punera, 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.segment.costs import Variant, build_energy, measure_page, weigh
from websegment_scrapy.segment.expansion import minimise
from websegment_scrapy.segment.model import SegmentationModel, shipped_segmentation_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.energy import Energy, Terms

__all__ = ["GraphCuts", "Solution"]


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A labelling with its energy.

    ``nodes`` gives, for each leaf, the node of the tree whose label it carries.
    """

    labels: NDArray[np.int32]
    nodes: NDArray[np.int32]
    weight: float
    terms: Terms


@dataclass(frozen=True, slots=True)
class GraphCuts:
    """Segments by the least energy that α-expansion finds.

    Parameters
    ----------
    name
        The engine's name.
    variant
        ``"full"``; ``"np"`` without edges between parents and children; ``"nl"`` without learning.
    model
        A model; by default the one shipped for the page's kind of layout.
    weight
        λ; by default the model's.
    """

    name: str = "gcuts"
    variant: Variant = "full"
    model: SegmentationModel | None = None
    weight: float | None = None

    @classmethod
    def no_parents(cls) -> GraphCuts:
        """GCuts-NP."""
        return cls("gcuts-np", "np")

    @classmethod
    def not_learned(cls) -> GraphCuts:
        """GCuts-NL."""
        return cls("gcuts-nl", "nl")

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        if len(tree.leaves) < 2:
            return np.zeros(len(tree.leaves), dtype=np.int32)
        energy, _ = self._energy(tree)
        return energy.domain[minimise(energy)]

    def solve(self, tree: PageTree) -> Solution:
        """Segment a page of two leaves or more and tell the energy and its terms."""
        energy, weight = self._energy(tree)
        found = minimise(energy)
        rows = energy.domain[found]
        return Solution(rows, energy.skeleton.top[rows], weight, energy.terms(found))

    def _energy(self, tree: PageTree) -> tuple[Energy, float]:
        model = self.model or shipped_segmentation_model(tree.layout)
        weight = model.parameters[self.name] if self.weight is None else self.weight
        return build_energy(weigh(measure_page(tree), model, self.variant), weight), weight
