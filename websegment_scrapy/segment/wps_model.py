"""The model of the WPS engines: weights of the boundaries' features, for each kind of layout.

Every feature has a weight for the label Y and one for N (section 4). Only their difference decides,
and the weights of least norm are opposite, so one weight is kept: ``f_b = w · φ(b)`` is by how much
Y is better than N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.model_files import LayoutKind, LayoutModel, ModelFormat, load_shipped
from websegment_scrapy.segment.boundary_features import BOUNDARIES_VERSION
from websegment_scrapy.segment.features import FEATURES_VERSION

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WPS_VERSION", "BoundaryWeights", "WpsModel", "shipped_wps_model"]

WPS_VERSION = 1
ARRAYS = ("mean", "scale", "weights")
FORMAT = ModelFormat(
    "wps",
    {
        "version": WPS_VERSION,
        "features_version": FEATURES_VERSION,
        "boundaries_version": BOUNDARIES_VERSION,
    },
    "segmentation",
)


@dataclass(frozen=True, slots=True, eq=False)
class BoundaryWeights:
    """Weights of standardised features, and last that of a constant 1."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]

    def scores(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``f_b`` of boundaries by their features."""
        return np.asarray(self.standard(matrix) @ self.weights)

    def standard(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the weights are multiplied with."""
        return np.hstack(((matrix - self.mean) / self.scale, np.ones((len(matrix), 1))))


@dataclass(frozen=True, slots=True, eq=False)
class WpsModel(LayoutModel):
    """What was learned for one kind of layout.

    Attributes
    ----------
    layout
        The layout of the pages it was learned from.
    features
        Names of the features of a boundary.
    weights
        Those of each engine.
    reports
        Of each engine how its training ended.
    recipe
        How it was made.
    """

    form = FORMAT
    layout: LayoutKind
    features: tuple[str, ...]
    weights: dict[str, BoundaryWeights]
    reports: dict[str, dict[str, float]]
    recipe: dict[str, Any]

    def _contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {
            f"{engine}_{name}": array
            for engine, own in self.weights.items()
            for name, array in zip(ARRAYS, (own.mean, own.scale, own.weights), strict=True)
        }
        description = {
            "features": list(self.features),
            "engines": self.reports,
            "recipe": self.recipe,
        }
        return description, arrays

    @classmethod
    def _from(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> WpsModel:
        return cls(
            layout=description["layout"],
            features=tuple(description["features"]),
            weights={
                engine: BoundaryWeights(
                    *(arrays[f"{engine}_{name}"].astype(np.float64) for name in ARRAYS)
                )
                for engine in description["engines"]
            },
            reports=dict(description["engines"]),
            recipe=dict(description["recipe"]),
        )


@cache
def shipped_wps_model(layout: LayoutKind) -> WpsModel:
    """Return the model that comes with this package for pages of a layout."""
    return load_shipped(WpsModel.load, layout)
