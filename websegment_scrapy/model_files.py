"""Files of learned models: JSON for people, ``.npz`` for numbers, never a pickle.

``NAME-LAYOUT.json`` says the format's version, the layout the model is for, the names of its
features and the recipe that made it; ``NAME-LAYOUT.npz`` holds the arrays. The same model gives
the same bytes; a file of another version or with other features is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np

from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.trees import logistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Self

    from numpy.typing import NDArray

__all__ = [
    "LayoutKind",
    "LayoutModel",
    "Logistic",
    "ModelError",
    "ModelFormat",
    "load_shipped",
    "read_model",
    "shipped_name",
    "write_model",
]

FOLDER = "models"
DIGITS = 6
"""Significant digits of the numbers in a file: more are noise of the arithmetic."""

LayoutKind = Literal["rendered", "static", "any"]
"""Pages that a model is for: with a browser's layout, with an estimate of it, or either."""

Model = TypeVar("Model")


class ModelError(WebsegmentError):
    """A model file is missing, broken or of another version."""


@dataclass(frozen=True, slots=True)
class ModelFormat:
    """What all files of a kind of model have in common.

    Attributes
    ----------
    name
        Of the files, and of the command ``websegment train NAME`` that makes them.
    fixed
        Entries of the JSON file that must be this version's own: versions, names of features.
    command
        What is trained instead of NAME, where one command makes several kinds of models.
    """

    name: str
    fixed: Mapping[str, Any]
    command: str = ""

    @property
    def training(self) -> str:
        """The command that makes the files."""
        return f"'websegment train {self.command or self.name}'"


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """A logistic regression over features, standardised by ``mean`` and ``scale``."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    bias: float

    def probability(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each row."""
        return logistic(((rows - self.mean) / self.scale) @ self.weights + self.bias)

    def to_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays that a file keeps, by name."""
        return {
            f"{name}_mean": self.mean,
            f"{name}_scale": self.scale,
            f"{name}_weights": self.weights,
            f"{name}_bias": np.array(self.bias),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Logistic:
        """Make it from a file's arrays."""
        return cls(
            arrays[f"{name}_mean"].astype(np.float64),
            arrays[f"{name}_scale"].astype(np.float64),
            arrays[f"{name}_weights"].astype(np.float64),
            float(arrays[f"{name}_bias"]),
        )


def write_model(
    folder: Path,
    form: ModelFormat,
    layout: LayoutKind,
    description: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> list[Path]:
    """Write ``NAME-LAYOUT.json`` and ``.npz``; the same model gives the same bytes."""
    whole = {
        "format": f"websegment {form.name} model",
        **form.fixed,
        "layout": layout,
        **description,
    }
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{form.name}-{layout}.json"
    text.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")
    numbers = text.with_suffix(".npz")
    stored: dict[str, Any] = {name: _short(array) for name, array in arrays.items()}
    np.savez_compressed(numbers, **stored)
    return [text, numbers]


def read_model(
    folder: Path,
    form: ModelFormat,
    layout: LayoutKind,
    make: Callable[[dict[str, Any], dict[str, NDArray[Any]]], Model],
) -> Model:
    """Read a model; ``ModelError`` if it is not one that this version can use.

    ``make`` gets the JSON file's entries and the arrays.
    """
    path = folder / f"{form.name}-{layout}.json"
    again = f"make it again with {form.training}"
    try:
        description = json.loads(path.read_text("utf-8"))
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as stored:
            arrays = dict(stored)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the model {str(path)!r} cannot be read ({error}): make it with {form.training}"
        ) from None
    for name, known in form.fixed.items():
        if description.get(name) != known:
            raise ModelError(
                f"the model {str(path)!r} has another {name} than this version of the package: "
                f"{again}"
            )
    try:
        return make(description, arrays)
    except (KeyError, ValueError, TypeError) as error:
        raise ModelError(f"the model {str(path)!r} lacks {error}: {again}") from None


class LayoutModel:
    """A model of the pages of one layout that has files: what is the same of all kinds.

    A kind says its ``form``, what its files hold (``_contents``) and how it is made of it
    (``_from``).
    """

    __slots__ = ()

    form: ClassVar[ModelFormat]
    layout: LayoutKind

    def _contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        raise NotImplementedError

    @classmethod
    def _from(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        raise NotImplementedError

    def save(self, folder: Path) -> list[Path]:
        """Write ``NAME-LAYOUT.json`` and ``.npz``; the same model gives the same bytes."""
        return write_model(folder, self.form, self.layout, *self._contents())

    @classmethod
    def load(cls, folder: Path, layout: LayoutKind) -> Self:
        """Read a model; ``ModelError`` if it is not one that this version can use."""
        return read_model(folder, cls.form, layout, cls._from)


def load_shipped(load: Callable[[Path, LayoutKind], Model], layout: LayoutKind) -> Model:
    """Load the model that comes with this package for pages of a layout."""
    with as_file(files("websegment_scrapy").joinpath(FOLDER)) as folder:
        return load(folder, layout)


@cache
def shipped_name(kind: str, layout: LayoutKind) -> str:
    """Return what a model of this package is called where it is said which model made a text.

    Its kind, its layout and 8 digits that are other ones for another model: ``content-any-1f…``.
    """
    name = f"{kind}-{layout}"
    found = blake2b(digest_size=4)
    for ending in (".json", ".npz"):
        found.update(files("websegment_scrapy").joinpath(FOLDER, name + ending).read_bytes())
    return f"{name}-{found.hexdigest()}"


def _short(array: NDArray[Any]) -> NDArray[Any]:
    """Round numbers to ``DIGITS`` digits and store them in half the space."""
    if array.dtype.kind != "f":
        return array
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.floor(np.log10(np.abs(np.where(array == 0, 1.0, array))))
        factor = 10.0 ** (DIGITS - 1 - place)
        rounded = np.where(np.isfinite(array), np.round(array * factor) / factor, array)
    return rounded.astype(np.float32)
