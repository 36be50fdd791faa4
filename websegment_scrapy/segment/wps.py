"""The engines ``wps-margin`` and ``wps-slack``: structured prediction (WPS, SIGIR 2014).

The page's candidate boundaries (``wps_graph.py``) are labelled all at once: the labelling of the
greatest score that keeps to the dependencies (``closure.py``), by weights that a structured SVM has
learned (``learn/wps.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.segment.boundary_features import boundary_features
from websegment_scrapy.segment.closure import maximum_closure
from websegment_scrapy.segment.features import page_features
from websegment_scrapy.segment.wps_graph import build_wps_graph
from websegment_scrapy.segment.wps_model import WpsModel, shipped_wps_model
from websegment_scrapy.segment.wps_partition import Partition, partition_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["StructuredPrediction"]


@dataclass(frozen=True, slots=True)
class StructuredPrediction:
    """Segments by the best labelling of the candidate boundaries.

    Parameters
    ----------
    name
        The engine's name, which is also that of its weights.
    model
        A model; by default the one shipped for the page's kind of layout.
    """

    name: str = "wps-margin"
    model: WpsModel | None = None

    @classmethod
    def slack(cls) -> StructuredPrediction:
        """WPS-Slack: learned for the informative segment."""
        return cls("wps-slack")

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        return self.partition(tree).labels

    def partition(self, tree: PageTree) -> Partition:
        """Return the segments and the groups that they were cut out of."""
        features = page_features(tree)
        graph = build_wps_graph(features.skeleton, features.boxes)
        chosen = np.zeros(graph.boundaries, dtype=bool)
        if graph.boundaries:
            model = self.model or shipped_wps_model(tree.layout)
            scores = model.weights[self.name].scores(boundary_features(graph, features))
            chosen = maximum_closure(scores, graph.edges)
        return partition_of(graph, features.skeleton, chosen)
