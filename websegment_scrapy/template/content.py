"""Our own templateness: boosted trees over text blocks in two looks, smoothed, and a choice.

A first ensemble judges every block by itself and its surroundings (`block_features`), a second one
knows in addition what the first says of the blocks around (`block_context`); the probabilities are
smoothed over the DOM (`block_smoothing`), and `choice` says how many of the likely blocks are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.model_files import ModelFormat, load_shipped, read_model, write_model
from websegment_scrapy.template.block_context import context_columns
from websegment_scrapy.template.block_features import (
    FEATURES_VERSION,
    BlockFeatures,
    block_features,
)
from websegment_scrapy.template.block_smoothing import smooth_blocks
from websegment_scrapy.template.choice import LIMITS, choice_features
from websegment_scrapy.template.lexicon import Lexicon
from websegment_scrapy.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from websegment_scrapy.model_files import Layout
    from websegment_scrapy.page.tree import PageTree

__all__ = ["ContentModel", "Judgement", "second_matrix", "shipped_content_model"]

MODEL_VERSION = 1
FORMAT = ModelFormat("content", {"version": MODEL_VERSION, "features_version": FEATURES_VERSION})


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What is thought of a page's blocks.

    Attributes
    ----------
    page
        The blocks and their columns.
    first, probability
        That each block is main text: at first look, and in the end.
    kept
        Whether it is taken as main text.
    limit
        The probability above which blocks are kept.
    """

    page: BlockFeatures
    first: NDArray[np.float64]
    probability: NDArray[np.float64]
    kept: NDArray[np.bool_]
    limit: float


@dataclass(frozen=True, slots=True, eq=False)
class ContentModel:
    """What was learned about main texts.

    Attributes
    ----------
    features
        Names of the columns of the first look.
    lexicon
        Words of blocks and of names of elements.
    first, second
        Trees of the two looks.
    chooser
        Trees that estimate the F1 of a choice.
    recipe
        How it was made.
    """

    features: tuple[str, ...]
    lexicon: Lexicon
    first: Trees
    second: Trees
    chooser: Trees
    recipe: Mapping[str, Any]

    def judge(self, tree: PageTree) -> Judgement | None:
        """Judge the blocks of a page; ``None`` when it has no text."""
        page = block_features(tree, self.lexicon)
        if page is None:
            return None
        first = self.first.probability(page.matrix)
        raw = self.second.probability(second_matrix(page, first))
        probability = smooth_blocks(page, raw)
        gain = self.chooser.log_odds(choice_features(page, probability))
        limit = float(LIMITS[int(np.argmax(gain))])
        return Judgement(page, first, probability, probability > limit, limit)

    def save(self, folder: Path) -> list[Path]:
        """Write the model's files; the same model gives the same bytes."""
        return write_model(
            folder,
            FORMAT,
            "any",
            {
                "recipe": dict(self.recipe),
                "features": list(self.features),
                "short": dict(self.lexicon.short),
                "long": dict(self.lexicon.long),
                "names": dict(self.lexicon.names),
            },
            {
                **self.first.to_arrays("first"),
                **self.second.to_arrays("second"),
                **self.chooser.to_arrays("chooser"),
            },
        )

    @classmethod
    def load(cls, folder: Path, layout: Layout = "any") -> ContentModel:
        """Read a model's files."""
        return read_model(folder, FORMAT, layout, cls._make)

    @classmethod
    def _make(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ContentModel:
        return cls(
            features=tuple(description["features"]),
            lexicon=Lexicon(description["short"], description["long"], description["names"]),
            first=Trees.from_arrays(arrays, "first"),
            second=Trees.from_arrays(arrays, "second"),
            chooser=Trees.from_arrays(arrays, "chooser"),
            recipe=description["recipe"],
        )


def second_matrix(page: BlockFeatures, first: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the columns of the second look: those of the first, and what it said."""
    context = context_columns(page, first)
    matrix = np.empty((len(page), page.matrix.shape[1] + len(context)), dtype=np.float32)
    matrix[:, : page.matrix.shape[1]] = page.matrix
    for number, values in enumerate(context.values(), start=page.matrix.shape[1]):
        matrix[:, number] = values
    return matrix


@cache
def shipped_content_model() -> ContentModel:
    """Load the model that comes with this package."""
    return load_shipped(ContentModel.load, "any")
