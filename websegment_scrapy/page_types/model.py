"""The functional type of a page: a linear model over the terms in their positions.

TF-ISF of each term (WPS paper, page classification): TF is how often it stands in its position of
the page, ISF the inverted segment frequency, here of the position over the pages that were learned
from: ``(1 + log TF) · log(N / n)``. The terms of the text, of the markup, and of what the page says
of itself (`terms.GROUPS`) are vectors of the same length, and so are all pages. A linear SVM for
each type against the rest gives its margin, a sigmoid for each type makes it a probability (Platt,
1999), and the probabilities of all types are made to sum up to 1. The type is the likeliest one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.model_files import (
    ModelFormat,
    load_shipped,
    read_model,
    write_model,
)
from websegment_scrapy.page_types.terms import GROUPS, TERMS_VERSION
from websegment_scrapy.trees import logistic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from websegment_scrapy.model_files import LayoutKind
    from websegment_scrapy.page_types.terms import PageTerms

__all__ = ["PageType", "PageTypeModel", "shipped_type_model"]

MODEL_VERSION = 1
DIGITS = 3
"""Of the probabilities that are told: more say nothing."""

_NONE: Counter[str] = Counter()

FORMAT = ModelFormat("types", {"version": MODEL_VERSION, "terms_version": TERMS_VERSION})


@dataclass(frozen=True, slots=True)
class PageType:
    """The most probable type of a page, and its probability."""

    name: str
    probability: float


@dataclass(frozen=True, slots=True, eq=False)
class PageTypeModel:
    """What was learned about types of pages.

    Attributes
    ----------
    types
        Their names.
    columns
        The column of each term, by position.
    rarity
        ISF of each column.
    weights, bias
        Of each column and type, and of each type: the SVMs.
    slope, offset
        The sigmoids.
    recipe
        How it was made.
    """

    types: tuple[str, ...]
    columns: Mapping[str, Mapping[str, int]]
    rarity: NDArray[np.float64]
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    slope: NDArray[np.float64]
    offset: NDArray[np.float64]
    recipe: Mapping[str, Any]

    def margins(self, terms: PageTerms) -> NDArray[np.float64]:
        """Return the margin of each type."""
        found: list[int] = []
        counts: list[int] = []
        groups: list[int] = []
        for position, known in self.columns.items():
            there = terms.get(position, _NONE)
            common = there.keys() & known.keys()
            found += [known[term] for term in common]
            counts += [there[term] for term in common]
            groups += [GROUPS.get(position, 0)] * len(common)
        if not found:
            return self.bias
        # In the order of the columns: sums of the same numbers are the same in any process.
        order = np.argsort(found)
        columns = np.array(found)[order]
        vector = 1.0 + np.log(np.array(counts, dtype=np.float64)[order])
        vector *= self.rarity[columns]
        lengths = np.sqrt(np.bincount(np.array(groups)[order], vector * vector))
        vector /= (lengths * np.sqrt(np.count_nonzero(lengths)))[np.array(groups)[order]] + 1e-12
        margins: NDArray[np.float64] = vector @ self.weights[columns] + self.bias
        return margins

    def probabilities(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each type; of several pages row by row."""
        scores = np.maximum(logistic(margins * self.slope + self.offset), 1e-12)
        return np.asarray(scores / scores.sum(axis=-1, keepdims=True))

    def classify(self, terms: PageTerms) -> PageType:
        """Return the type of a page; of equally probable ones the first."""
        probability = self.probabilities(self.margins(terms))
        best = int(probability.argmax())
        return PageType(self.types[best], round(float(probability[best]), DIGITS))

    def save(self, folder: Path) -> list[Path]:
        """Write the model's files; the same model gives the same bytes."""
        return write_model(
            folder,
            FORMAT,
            "any",
            {
                "recipe": dict(self.recipe),
                "types": list(self.types),
                "terms": {position: list(known) for position, known in self.columns.items()},
            },
            {
                "rarity": self.rarity,
                "weights": self.weights,
                "bias": self.bias,
                "slope": self.slope,
                "offset": self.offset,
            },
        )

    @classmethod
    def load(cls, folder: Path, layout: LayoutKind = "any") -> PageTypeModel:
        """Read a model's files."""
        return read_model(folder, FORMAT, layout, cls._make)

    @classmethod
    def _make(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PageTypeModel:
        numbers = {name: array.astype(np.float64) for name, array in arrays.items()}
        columns: dict[str, dict[str, int]] = {}
        first = 0
        for position, terms in description["terms"].items():
            columns[position] = {term: first + own for own, term in enumerate(terms)}
            first += len(terms)
        return cls(
            types=tuple(description["types"]),
            columns=columns,
            rarity=numbers["rarity"],
            weights=numbers["weights"],
            bias=numbers["bias"],
            slope=numbers["slope"],
            offset=numbers["offset"],
            recipe=description["recipe"],
        )


@cache
def shipped_type_model() -> PageTypeModel:
    """Load the model that comes with this package."""
    return load_shipped(PageTypeModel.load, "any")
