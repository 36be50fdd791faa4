"""Model files of the learned engines: JSON for people, ``.npz`` for numbers, never a pickle.

``NAME.json`` says the format's version, the layout the model is for, the names of its features and
the recipe that made it; ``NAME.npz`` holds the arrays. A file of another version or with other
features is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.page.features import FEATURES_VERSION, METRIC_FEATURES
from websegment_scrapy.page.pair_features import PAIR_FEATURES
from websegment_scrapy.segment.trees import Trees

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "MODEL_VERSION",
    "Layout",
    "Logistic",
    "Metric",
    "ModelError",
    "SegmentationModel",
    "shipped_model",
]

MODEL_VERSION = 1
FOLDER = "models"
DIGITS = 6
"""Significant digits of the numbers in a file: more are noise of the arithmetic."""

Layout = Literal["rendered", "static"]


class ModelError(WebsegmentError):
    """A model file is missing, broken or of another version."""


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """``A`` with the weights ``a²`` of the label's own coordinate and ``b²`` of the tree's.

    ``learn/metric.py`` says what they are.
    """

    transform: NDArray[np.float64]
    label_weight: float
    tree_weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """A logistic regression over pair features, standardised by ``mean`` and ``scale``."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    bias: float

    def probability(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability that each pair shares a segment."""
        odds = ((pairs - self.mean) / self.scale) @ self.weights + self.bias
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0))))


@dataclass(frozen=True, slots=True, eq=False)
class SegmentationModel:
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

    layout: Layout
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

    def save(self, folder: Path) -> list[Path]:
        """Write ``segmentation-LAYOUT.json`` and ``.npz``; the same model gives the same bytes."""
        arrays: dict[str, NDArray[Any]] = {
            **self.segment.to_arrays("segment"),
            **self.uniform.to_arrays("uniform"),
            "mean": self.mean,
            "scale": self.scale,
            "transform": self.metric.transform,
            "metric": np.array([self.metric.label_weight, self.metric.tree_weight]),
        }
        for name, part in (("adjacent", self.adjacent), ("pairs", self.pairs)):
            arrays[f"{name}_mean"], arrays[f"{name}_scale"] = part.mean, part.scale
            arrays[f"{name}_weights"] = part.weights
            arrays[f"{name}_bias"] = np.array(part.bias)
        description = {
            "format": "websegment segmentation model",
            "version": MODEL_VERSION,
            "features_version": FEATURES_VERSION,
            "layout": self.layout,
            "features": list(self.features),
            "metric_features": list(METRIC_FEATURES),
            "pair_features": list(PAIR_FEATURES),
            "parameters": self.parameters,
            "recipe": self.recipe,
        }
        folder.mkdir(parents=True, exist_ok=True)
        text = folder / f"segmentation-{self.layout}.json"
        text.write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n", "utf-8")
        numbers = folder / f"segmentation-{self.layout}.npz"
        stored: dict[str, Any] = {name: _short(array) for name, array in arrays.items()}
        np.savez_compressed(numbers, **stored)
        return [text, numbers]

    @classmethod
    def load(cls, folder: Path, layout: Layout) -> SegmentationModel:
        """Read a model; ``ModelError`` if it is not one that this version can use."""
        path = folder / f"segmentation-{layout}.json"
        try:
            description = json.loads(path.read_text("utf-8"))
            with np.load(path.with_suffix(".npz"), allow_pickle=False) as stored:
                arrays = dict(stored)
        except (OSError, ValueError) as error:
            raise ModelError(
                f"the model {str(path)!r} cannot be read ({error}): make it with "
                "'websegment train segmentation'"
            ) from None
        _check(path, description)
        try:
            return cls._from(description, arrays)
        except (KeyError, ValueError, TypeError) as error:
            raise ModelError(
                f"the model {str(path)!r} lacks {error}: make it again with "
                "'websegment train segmentation'"
            ) from None

    @classmethod
    def _from(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> SegmentationModel:
        label_weight, tree_weight = arrays["metric"].tolist()
        logistic = {
            name: Logistic(
                arrays[f"{name}_mean"].astype(np.float64),
                arrays[f"{name}_scale"].astype(np.float64),
                arrays[f"{name}_weights"].astype(np.float64),
                float(arrays[f"{name}_bias"]),
            )
            for name in ("adjacent", "pairs")
        }
        return cls(
            layout=description["layout"],
            features=tuple(description["features"]),
            segment=Trees.from_arrays(arrays, "segment"),
            uniform=Trees.from_arrays(arrays, "uniform"),
            mean=arrays["mean"].astype(np.float64),
            scale=arrays["scale"].astype(np.float64),
            metric=Metric(arrays["transform"].astype(np.float64), label_weight, tree_weight),
            adjacent=logistic["adjacent"],
            pairs=logistic["pairs"],
            parameters=dict(description["parameters"]),
            recipe=dict(description["recipe"]),
        )


@cache
def shipped_model(layout: Layout) -> SegmentationModel:
    """Return the model that comes with this package for pages of a layout."""
    with as_file(files("websegment_scrapy").joinpath(FOLDER)) as folder:
        return SegmentationModel.load(folder, layout)


def _check(path: Path, description: dict[str, Any]) -> None:
    for name, known in (
        ("version", MODEL_VERSION),
        ("features_version", FEATURES_VERSION),
        ("metric_features", list(METRIC_FEATURES)),
        ("pair_features", list(PAIR_FEATURES)),
    ):
        if description.get(name) != known:
            raise ModelError(
                f"the model {str(path)!r} has another {name} than this version of the package: "
                "make it again with 'websegment train segmentation'"
            )


def _short(array: NDArray[Any]) -> NDArray[Any]:
    """Round numbers to ``DIGITS`` digits and store them in half the space."""
    if array.dtype.kind != "f":
        return array
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.floor(np.log10(np.abs(np.where(array == 0, 1.0, array))))
        factor = 10.0 ** (DIGITS - 1 - place)
        rounded = np.where(np.isfinite(array), np.round(array * factor) / factor, array)
    return rounded.astype(np.float32)
