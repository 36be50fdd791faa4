"""The model of the engine ``auto``, one for each kind of layout (``model_files.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from websegment_scrapy.model_files import (
    LayoutKind,
    ModelFormat,
    load_shipped,
    read_model,
    write_model,
)
from websegment_scrapy.segment.features import FEATURES_VERSION
from websegment_scrapy.trees import Trees

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["AUTO_VERSION", "AutoModel", "shipped_auto_model"]

AUTO_VERSION = 1
FORMAT = ModelFormat(
    "auto", {"version": AUTO_VERSION, "features_version": FEATURES_VERSION}, "segmentation"
)


@dataclass(frozen=True, slots=True, eq=False)
class AutoModel:
    """What was learned for one kind of layout.

    Attributes
    ----------
    layout
        The layout of the pages that it is for.
    features
        Columns of the feature matrix that the trees use.
    segment
        Trees for "this row is a segment's".
    together
        Trees for "two leaves that part at this inner row are in one segment".
    recipe
        How it was made.
    """

    layout: LayoutKind
    features: tuple[str, ...]
    segment: Trees
    together: Trees
    recipe: dict[str, Any]

    def save(self, folder: Path) -> list[Path]:
        """Write ``auto-LAYOUT.json`` and ``.npz``; the same model gives the same bytes."""
        arrays: dict[str, NDArray[Any]] = {
            **self.segment.to_arrays("segment"),
            **self.together.to_arrays("together"),
        }
        description = {"features": list(self.features), "recipe": self.recipe}
        return write_model(folder, FORMAT, self.layout, description, arrays)

    @classmethod
    def load(cls, folder: Path, layout: LayoutKind) -> AutoModel:
        """Read a model; ``ModelError`` if it is not one that this version can use."""
        return read_model(folder, FORMAT, layout, cls._from)

    @classmethod
    def _from(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> AutoModel:
        return cls(
            layout=description["layout"],
            features=tuple(description["features"]),
            segment=Trees.from_arrays(arrays, "segment"),
            together=Trees.from_arrays(arrays, "together"),
            recipe=dict(description["recipe"]),
        )

    def log_odds(
        self, matrix: NDArray[np.float64], inner: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log odds of all rows to be segments', and of the inner ones to be whole."""
        return self.segment.log_odds(matrix), self.together.log_odds(matrix[:inner])


@cache
def shipped_auto_model(layout: LayoutKind) -> AutoModel:
    """Return the model that comes with this package for pages of a layout."""
    return load_shipped(AutoModel.load, layout)
