"""Training of the content model (``template/content.py``) from pages with their main texts.

Pages are dealt into folds by host. What a later step learns from is always said by models that
have not seen the page's host: the lexicon of a page leaves its fold out, and so do the first look
that the second one stacks on, and the second look whose choices the chooser compares.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from websegment_scrapy.evaluate.metrics import words_of
from websegment_scrapy.evaluate.report import silent
from websegment_scrapy.learn.alignment import aligned_shares
from websegment_scrapy.learn.boosting import Boosting, fit_trees
from websegment_scrapy.learn.lexicon import WordCounts, count_words, make_lexicon
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.template.block_features import block_features
from websegment_scrapy.template.block_smoothing import smooth_blocks
from websegment_scrapy.template.block_text import block_text
from websegment_scrapy.template.choice import LIMITS, choice_features
from websegment_scrapy.template.content import ContentModel, second_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.evaluate.datasets import ContentPage
    from websegment_scrapy.evaluate.report import Progress
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.block_features import BlockFeatures
    from websegment_scrapy.trees import Trees

__all__ = ["ContentExample", "content_examples", "fold_of", "make_content_example", "train_content"]

SEED = 2007
FOLDS = 4
MAX_BLOCKS = 400
"""Blocks of one page that are learned from, drawn at random where there are more."""

LOOK = Boosting(
    iterations=160,
    leaves=16,
    learning_rate=0.1,
    features_per_split=0.3,
    samples_per_leaf=40,
    penalty=2.0,
)
CHOOSER = Boosting(
    iterations=250,
    leaves=8,
    learning_rate=0.05,
    features_per_split=0.5,
    samples_per_leaf=30,
    penalty=5.0,
)


@dataclass(frozen=True, slots=True, eq=False)
class ContentExample:
    """A page with what is main text in it.

    Attributes
    ----------
    host
        The site it is from.
    tree
        The page.
    blocks
        The words of each block.
    shares
        The share of each block that is main text.
    gold
        How often each word occurs in the main text.
    counts
        What it says of words.
    """

    host: str
    tree: PageTree
    blocks: tuple[tuple[str, ...], ...]
    shares: NDArray[np.float64]
    gold: Counter[str]
    counts: WordCounts


def make_content_example(tree: PageTree, gold: Sequence[str], host: str) -> ContentExample | None:
    """Align a page's blocks with the words of its main text; ``None`` for a page without text."""
    text = block_text(tree)
    if not len(text):
        return None
    words: list[list[str]] = [[] for _ in range(len(text))]
    for token, block in zip(text.tokens, text.token_block.tolist(), strict=True):
        words[block].append(token)
    shares = aligned_shares(words, gold)
    blocks = tuple(tuple(block) for block in words)
    return ContentExample(
        host, tree, blocks, shares, Counter(gold), count_words(host, text, words, shares)
    )


def content_examples(
    pages: Sequence[ContentPage], progress: Progress = silent
) -> list[ContentExample | None]:
    """Make the examples of a set; pages without text have none."""
    return [
        make_content_example(
            build_tree(page.html, estimate_layout=False),
            words_of(page.main_text),
            urlsplit(page.url).hostname or page.id,
        )
        for page in progress(iter(pages), len(pages), "pages with their main texts")
    ]


def fold_of(host: str, folds: int) -> int:
    """Deal hosts into folds, the same in any process."""
    return zlib.crc32(host.encode()) % folds


def train_content(
    examples: Sequence[ContentExample],
    *,
    seed: int = SEED,
    progress: Progress = silent,
) -> ContentModel:
    """Train all parts of the model.

    Parameters
    ----------
    examples
        The pages.
    seed
        Of all random choices.
    progress
        Shows how far it is.
    """
    fold = np.array([fold_of(f"{seed} {example.host}", FOLDS) for example in examples])
    pages = _columns(examples, fold)
    learned = _Rows(examples, pages, seed)
    first = _out_of_fold(learned, [page.matrix for page in pages], fold, seed, progress)
    second_rows = [
        second_matrix(page, values) for page, values in zip(pages, first.values, strict=True)
    ]
    second = _out_of_fold(learned, second_rows, fold, seed, progress)
    choices, gains = [], []
    for example, page, values in zip(examples, pages, second.values, strict=True):
        probability = smooth_blocks(page, values)
        choices.append(choice_features(page, probability))
        gains.append(choice_gains(example, probability))
    chooser = fit_trees(np.concatenate(choices), np.concatenate(gains), seed=seed, boosting=CHOOSER)
    return ContentModel(
        features=pages[0].names,
        lexicon=make_lexicon(example.counts for example in examples),
        first=first.trees,
        second=second.trees,
        chooser=chooser,
        recipe=_recipe(examples, seed),
    )


def choice_gains(example: ContentExample, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the word F1 of each of the `LIMITS` on a page."""
    total = example.gold.total()
    gains = np.zeros(len(LIMITS))
    order = np.argsort(-probability, kind="stable")
    wanted = dict(example.gold)
    kept = common = done = 0
    for number in range(len(LIMITS) - 1, -1, -1):
        while done < len(order) and probability[order[done]] > LIMITS[number]:
            for word in example.blocks[order[done]]:
                kept += 1
                if wanted.get(word, 0) > 0:
                    wanted[word] -= 1
                    common += 1
            done += 1
        gains[number] = 2 * common / (kept + total) if kept + total else 1.0
    return gains


def _columns(examples: Sequence[ContentExample], fold: NDArray[np.int64]) -> list[BlockFeatures]:
    lexicons = [
        make_lexicon(
            example.counts for example, own in zip(examples, fold, strict=True) if own != number
        )
        for number in range(FOLDS)
    ]
    pages = []
    for example, own in zip(examples, fold.tolist(), strict=True):
        page = block_features(example.tree, lexicons[own])
        assert page is not None
        pages.append(page)
    return pages


class _Rows:
    """The blocks that are learned from: which, whether they are main text, what they weigh."""

    def __init__(
        self, examples: Sequence[ContentExample], pages: Sequence[BlockFeatures], seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        self.chosen, targets, weights = [], [], []
        for example, page in zip(examples, pages, strict=True):
            rows = np.arange(len(page))
            if len(rows) > MAX_BLOCKS:
                rows = np.sort(rng.choice(rows, MAX_BLOCKS, replace=False))
            self.chosen.append(rows)
            words = page.text.words
            # Between one for every block and one for every page.
            weight = np.sqrt((words + 1.0) / max(float(words.sum()), 1.0))
            weights.append(weight[rows] * (len(page) / len(rows)))
            targets.append(example.shares[rows] > 0.5)
        self.target = np.concatenate(targets)
        weight = np.concatenate(weights)
        self.weight = weight / weight.mean()
        self.page = np.repeat(np.arange(len(pages)), [len(rows) for rows in self.chosen])


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    trees: Trees
    values: list[NDArray[np.float64]]


def _out_of_fold(
    rows: _Rows,
    matrices: Sequence[NDArray[np.float32]],
    fold: NDArray[np.int64],
    seed: int,
    progress: Progress,
) -> _Look:
    """Fit one ensemble for each fold left out, to judge its pages, and one on all pages."""
    matrix = np.concatenate(
        [whole[chosen] for whole, chosen in zip(matrices, rows.chosen, strict=True)]
    )
    row_fold = fold[rows.page]
    values: list[NDArray[np.float64]] = [np.zeros(0)] * len(matrices)
    for number in progress(range(FOLDS), FOLDS, "folds of a look"):
        seen = row_fold != number
        trees = _fit(matrix[seen], rows.target[seen], rows.weight[seen], seed)
        for page in np.flatnonzero(fold == number).tolist():
            values[page] = trees.probability(matrices[page])
    return _Look(_fit(matrix, rows.target, rows.weight, seed), values)


def _fit(
    matrix: NDArray[np.float32],
    target: NDArray[np.bool_],
    weight: NDArray[np.float64],
    seed: int,
) -> Trees:
    return fit_trees(matrix, target, seed=seed, weight=weight, boosting=LOOK)


def _recipe(examples: Sequence[ContentExample], seed: int) -> dict[str, Any]:
    return {
        "pages": len(examples),
        "hosts": len({example.host for example in examples}),
        "blocks": sum(len(example.blocks) for example in examples),
        "folds": FOLDS,
        "seed": seed,
    }
