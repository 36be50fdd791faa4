"""Our own templateness: boosted trees over text blocks, smoothed over the DOM, and a choice.

An ensemble judges every block by its text, its place and what is around it (`features`); the
probabilities are smoothed over the DOM (`smoothing`), what stands around the main text's element is
left out (`container`), and `choice` says how many of the likely blocks are kept. What an author
wrote between them belongs to them (`completion`), the next articles (`following`) and a second copy
(`twice`) do not, and `expectation` says how good all that is likely to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from websegment_scrapy.content.choice import (
    choose,
    without_comments,
    without_hidden,
    without_repetitions,
)
from websegment_scrapy.content.completion import completed
from websegment_scrapy.content.container import without_surroundings
from websegment_scrapy.content.expectation import Expectation, promised
from websegment_scrapy.content.features import FEATURES_VERSION, BlockFeatures, block_features
from websegment_scrapy.content.following import without_following
from websegment_scrapy.content.lexicon import Lexicon
from websegment_scrapy.content.smoothing import smooth_blocks
from websegment_scrapy.content.twice import without_copy
from websegment_scrapy.model_files import (
    ModelError,
    ModelFormat,
    load_shipped,
    read_model,
    write_model,
)
from websegment_scrapy.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from websegment_scrapy.model_files import LayoutKind
    from websegment_scrapy.page.tree import PageTree

__all__ = ["RULES", "ContentModel", "Judgement", "shipped_content_model"]

MODEL_VERSION = 2
RULES = {
    "hidden": without_hidden,
    "repetition": without_repetitions,
    "comments": without_comments,
    "surroundings": without_surroundings,
}
"""What is made of the probabilities before the choice, in this order."""

FORMAT = ModelFormat("content", {"version": MODEL_VERSION, "features_version": FEATURES_VERSION})


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What is thought of a page's blocks.

    Attributes
    ----------
    page
        The blocks and their columns.
    probability
        That each block is main text.
    kept
        Whether it is taken as main text.
    ruled_out
        For each of `RULES` the blocks whose probability it set to 0.
    score
        The F1 to expect of what is kept; ``None`` where that is nothing.
    """

    page: BlockFeatures
    probability: NDArray[np.float64]
    kept: NDArray[np.bool_]
    ruled_out: Mapping[str, NDArray[np.bool_]]
    score: float | None


@dataclass(frozen=True, slots=True, eq=False)
class ContentModel:
    """What was learned about main texts.

    Attributes
    ----------
    features
        Names of the columns.
    lexicon
        Words of blocks and of names of elements.
    trees
        They judge a block by its columns.
    expectation
        What F1 to expect of a choice.
    recipe
        How it was made.
    """

    features: tuple[str, ...]
    lexicon: Lexicon
    trees: Trees
    expectation: Expectation
    recipe: Mapping[str, Any]

    def judge(self, tree: PageTree) -> Judgement | None:
        """Judge the blocks of a page by the page alone; ``None`` when it has no text.

        Raises
        ------
        ModelError
            If the model was made for other columns.
        """
        page = block_features(tree, self.lexicon)
        if page is None:
            return None
        if page.names != self.features:
            raise ModelError(
                "the content model was made for other columns than this version of the package "
                "measures: make it again with 'websegment train content'"
            )
        alone = probability = smooth_blocks(page, self.trees.probability(page.matrix))
        ruled_out = {}
        for name, rule in RULES.items():
            before, probability = probability, rule(page, probability)
            ruled_out[name] = (probability == 0.0) & (before > 0.0)
        kept = completed(page, choose(page, probability), alone, probability)
        kept = without_copy(page.text, without_following(page, kept))
        promise = promised(page.text.words, probability, kept)
        score = self.expectation.score(promise) if kept.any() else None
        return Judgement(page, probability, kept, ruled_out, score)

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
            self.trees.to_arrays("trees") | self.expectation.to_arrays(),
        )

    @classmethod
    def load(cls, folder: Path, layout: LayoutKind = "any") -> ContentModel:
        """Read a model's files."""
        return read_model(folder, FORMAT, layout, cls._make)

    @classmethod
    def _make(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ContentModel:
        return cls(
            features=tuple(description["features"]),
            lexicon=Lexicon(description["short"], description["long"], description["names"]),
            trees=Trees.from_arrays(arrays, "trees"),
            expectation=Expectation.from_arrays(arrays),
            recipe=description["recipe"],
        )


@cache
def shipped_content_model() -> ContentModel:
    """Load the model that comes with this package."""
    return load_shipped(ContentModel.load, "any")
