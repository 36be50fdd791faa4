"""The model of the learned engines, one for each kind of layout (``model_files.py``)."""

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
from websegment_scrapy.segment.features import FEATURES_VERSION, METRIC_FEATURES
from websegment_scrapy.segment.pair_features import PAIR_FEATURES
from websegment_scrapy.trees import Trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MODEL_VERSION", "Metric", "SegmentationModel", "shipped_segmentation_model"]

MODEL_VERSION = 1
FORMAT = ModelFormat(
    "segmentation",
    {
        "version": MODEL_VERSION,
        "features_version": FEATURES_VERSION,
        "metric_features": list(METRIC_FEATURES),
        "pair_features": list(PAIR_FEATURES),
    },
)


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """``A`` with the weights ``a²`` of the label's own coordinate and ``b²`` of the tree's.

    ``learn/metric.py`` says what they are.
    """

    transform: NDArray[np.float64]
    label_weight: float
    tree_weight: float


@dataclass(frozen=True, slots=True, eq=False)
class SegmentationModel(LayoutModel):
    """What was learned for one kind of layout.

    Attributes
    ----------
    layout
        The layout of the pages it was learned from.
    features
        Columns of the node features that the trees use.
    segment, uniform
        Trees for "this row is a segment's node" and "all leaves below this row share a segment".
    mean, scale
        Standardisation of the metric's columns.
    metric
        ``A`` and its companions.
    adjacent, pairs
        ``V`` of neighbouring leaves (GCuts) and of any two leaves (CClus).
    parameters
        λ or threshold of each engine.
    recipe
        How it was made.
    """

    form = FORMAT
    layout: LayoutKind
    features: tuple[str, ...]
    segment: Trees
    uniform: Trees
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    metric: Metric
    adjacent: Logistic
    pairs: Logistic
    parameters: dict[str, float]
    recipe: dict[str, Any]

    def _contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays: dict[str, NDArray[Any]] = {
            **self.segment.to_arrays("segment"),
            **self.uniform.to_arrays("uniform"),
            "mean": self.mean,
            "scale": self.scale,
            "transform": self.metric.transform,
            "metric": np.array([self.metric.label_weight, self.metric.tree_weight]),
            **self.adjacent.to_arrays("adjacent"),
            **self.pairs.to_arrays("pairs"),
        }
        description = {
            "features": list(self.features),
            "parameters": self.parameters,
            "recipe": self.recipe,
        }
        return description, arrays

    @classmethod
    def _from(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> SegmentationModel:
        label_weight, tree_weight = arrays["metric"].tolist()
        return cls(
            layout=description["layout"],
            features=tuple(description["features"]),
            segment=Trees.from_arrays(arrays, "segment"),
            uniform=Trees.from_arrays(arrays, "uniform"),
            mean=arrays["mean"].astype(np.float64),
            scale=arrays["scale"].astype(np.float64),
            metric=Metric(arrays["transform"].astype(np.float64), label_weight, tree_weight),
            adjacent=Logistic.from_arrays(arrays, "adjacent"),
            pairs=Logistic.from_arrays(arrays, "pairs"),
            parameters=dict(description["parameters"]),
            recipe=dict(description["recipe"]),
        )


@cache
def shipped_segmentation_model(layout: LayoutKind) -> SegmentationModel:
    """Return the model that comes with this package for pages of a layout."""
    return load_shipped(SegmentationModel.load, layout)
