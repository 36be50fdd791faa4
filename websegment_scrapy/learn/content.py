"""Training of the content model (``content/model.py``) from pages with their main texts.

Pages are dealt into folds by host, and the lexicon of a page is made from the other folds: trees
that learned from a lexicon in which the page itself was counted would trust it too much.

Every page is learned from twice: as it is, and with neither names nor semantic elements
(`plain_tree`), so that pages of other times and makers are judged by what they have; and a third
time with inserts set into it (`grafts`). Of a page on which people marked blocks (`marked`) only
these are learned from, twice, and they do not enter the lexicon, which counts whole pages.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from websegment_scrapy.content.expectation import Expectation
from websegment_scrapy.content.features import block_features
from websegment_scrapy.content.model import ContentModel
from websegment_scrapy.content.text import block_text
from websegment_scrapy.learn.alignment import aligned_shares
from websegment_scrapy.learn.boosting import Boosting, fit_trees
from websegment_scrapy.learn.calibration import calibrated, figures
from websegment_scrapy.learn.grafts import graft
from websegment_scrapy.learn.inserts import Scraps
from websegment_scrapy.learn.lexicon import WordCounts, count_words, make_lexicon
from websegment_scrapy.measure.metrics import words_of
from websegment_scrapy.measure.report import silent
from websegment_scrapy.page.build import build_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.content.features import BlockFeatures
    from websegment_scrapy.learn.marked import MarkedBlocks
    from websegment_scrapy.measure.datasets import ContentPage
    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.page.tree import PageTree

__all__ = ["ContentExample", "content_examples", "fold_of", "make_content_example", "train_content"]

SEED = 2007
FOLDS = 4
MAX_BLOCKS = 220
"""Blocks of one page that are learned from, drawn at random where there are more."""

PLAIN = 0.5
"""Share of the pages with inserts that have neither names nor semantic elements."""

SEMANTIC = frozenset(
    "nav menu header footer aside main article section figure figcaption details summary "
    "address dialog search hgroup".split()
)
"""Elements that say what they are for; a page without them has ``div`` in their place."""

BOOSTING = Boosting(
    iterations=220,
    leaves=16,
    learning_rate=0.1,
    features_per_split=0.25,
    samples_per_leaf=60,
    penalty=5.0,
)
"""What the shipped model was grown with; no search over these values is on record."""


@dataclass(frozen=True, slots=True, eq=False)
class ContentExample:
    """A page with what is main text in it.

    Attributes
    ----------
    host
        The site it is from.
    tree
        The page.
    shares
        The share of each block that is main text.
    counts
        What it says of words.
    is_article
        Whether it is an article, as far as is known.
    """

    host: str
    tree: PageTree
    shares: NDArray[np.float64]
    counts: WordCounts
    is_article: bool


class _Look(NamedTuple):
    """A page as it is learned from: its tree, the shares of its blocks, the fold of its host.

    ``known`` are the blocks that are learned from; without it, all of them.
    """

    tree: PageTree
    shares: NDArray[np.float64]
    fold: int
    known: NDArray[np.bool_] | None = None


def make_content_example(
    tree: PageTree, gold: Sequence[str], host: str, page_type: str = ""
) -> ContentExample | None:
    """Align a page's blocks with the words of its main text; ``None`` for a page without text."""
    text = block_text(tree)
    if not len(text):
        return None
    words: list[list[str]] = [[] for _ in range(len(text))]
    for token, block in zip(text.tokens, text.token_block.tolist(), strict=True):
        words[block].append(token)
    shares = aligned_shares(words, gold)
    counts = count_words(host, text, words, shares)
    return ContentExample(host, tree, shares, counts, page_type in ("", "article"))


def content_examples(
    pages: Sequence[ContentPage], progress: Progress = silent
) -> list[ContentExample | None]:
    """Make the examples of a set; pages without text have none.

    Line numbers beside code stay in them: marked main texts have them on some pages and not on
    others, and a model that saw them judges code on pages where they cannot be told.
    """
    return [
        make_content_example(
            build_tree(page.html, estimate_layout=False, line_numbers=True),
            words_of(page.main_text),
            urlsplit(page.url).hostname or page.id,
            page.page_type,
        )
        for page in progress(iter(pages), len(pages), "pages with their main texts")
    ]


def plain_tree(tree: PageTree) -> PageTree:
    """Return a page as if it were made of ``div`` elements without names."""
    tags = tree.tags if "div" in tree.tags else (*tree.tags, "div")
    plain = tags.index("div")
    number = np.array(
        [plain if name in SEMANTIC else own for own, name in enumerate(tags)], dtype=np.int32
    )
    return replace(tree, tags=tags, tag=number[tree.tag], names={})


def fold_of(host: str, folds: int) -> int:
    """Deal hosts into folds, the same in any process."""
    return zlib.crc32(host.encode()) % folds


def train_content(
    examples: Sequence[ContentExample],
    *,
    marked: Sequence[MarkedBlocks] = (),
    seed: int = SEED,
    boosting: Boosting = BOOSTING,
    threads: int | None = 1,
    calibrate: bool = True,
    progress: Progress = silent,
) -> ContentModel:
    """Train all parts of the model.

    Parameters
    ----------
    examples
        The pages.
    marked
        Pages of which some blocks are known: what people marked. Without any the model is the same,
        byte for byte, as if there were no marks.
    seed
        Of all random choices.
    boosting
        How the trees are grown.
    threads
        That grow them. More than one add in another order, which changes the last digits; ``None``
        takes all cores.
    calibrate
        Whether to measure what F1 is to be expected of its choices, which takes half as long again.
    progress
        Shows how far it is.
    """
    from threadpoolctl import threadpool_limits

    fold = [fold_of(f"{seed} {example.host}", FOLDS) for example in examples]
    looks = _looks(examples, fold, seed) + _marked_looks(marked, seed)
    pages = _columns(examples, fold, looks, progress)
    rows = _Rows(looks, pages, seed)
    with threadpool_limits(threads):
        trees = fit_trees(
            rows.matrix, rows.target, seed=seed, weight=rows.weight, boosting=boosting
        )
    model = ContentModel(
        features=pages[0].names,
        lexicon=make_lexicon(example.counts for example in examples),
        trees=trees,
        expectation=Expectation.uncalibrated(),
        recipe=_recipe(examples, marked, seed),
    )
    if not calibrate:
        return model
    unseen, others = _halves(examples, seed)
    if not unseen or not others:
        return model
    judge = train_content(
        others, seed=seed, boosting=boosting, threads=threads, calibrate=False, progress=progress
    )
    found = figures(judge, ((page.tree, page.shares) for page in unseen))
    return replace(model, expectation=calibrated(found))


def _halves(
    examples: Sequence[ContentExample], seed: int
) -> tuple[list[ContentExample], list[ContentExample]]:
    """Deal the pages into two parts by their hosts."""
    parts: tuple[list[ContentExample], list[ContentExample]] = ([], [])
    for example in examples:
        parts[fold_of(f"calibration {seed} {example.host}", 2)].append(example)
    return parts


def _looks(examples: Sequence[ContentExample], fold: Sequence[int], seed: int) -> list[_Look]:
    """Return all pages as they are, then all of them plain, then with inserts."""
    looks = [
        _Look(example.tree, example.shares, own)
        for example, own in zip(examples, fold, strict=True)
    ]
    looks += [_Look(plain_tree(look.tree), look.shares, look.fold) for look in looks]
    for number in range(FOLDS):
        inside = [index for index, own in enumerate(fold) if own == number]
        articles, others = (
            [looks[index][:2] for index in inside if examples[index].is_article is wanted]
            for wanted in (True, False)
        )
        scraps = Scraps.of(articles, others)
        for index in inside if scraps else ():
            page = examples[index]
            rng = np.random.default_rng((seed, index))
            made = graft(page.tree, page.shares, scraps, rng, is_article=page.is_article)
            if made is not None:
                tree, shares = made
                looks.append(
                    _Look(plain_tree(tree) if rng.random() < PLAIN else tree, shares, number)
                )
    return looks


def _marked_looks(marked: Sequence[MarkedBlocks], seed: int) -> list[_Look]:
    """Return pages with marked blocks as they are, then all of them plain."""
    looks = [
        _Look(page.tree, page.shares, fold_of(f"{seed} {page.host}", FOLDS), page.known)
        for page in marked
    ]
    return looks + [look._replace(tree=plain_tree(look.tree)) for look in looks]


def _columns(
    examples: Sequence[ContentExample],
    fold: Sequence[int],
    looks: Sequence[_Look],
    progress: Progress,
) -> list[BlockFeatures]:
    """Measure all looks, each with the lexicon of the other folds."""
    lexicons = [
        make_lexicon(
            example.counts for example, own in zip(examples, fold, strict=True) if own != number
        )
        for number in range(FOLDS)
    ]
    pages = []
    for look in progress(iter(looks), len(looks), "pages measured"):
        page = block_features(look.tree, lexicons[look.fold])
        assert page is not None
        pages.append(page)
    return pages


class _Rows:
    """The blocks that are learned from: their columns, whether main text, what they weigh."""

    def __init__(self, looks: Sequence[_Look], pages: Sequence[BlockFeatures], seed: int) -> None:
        rng = np.random.default_rng(seed)
        matrices, targets, weights = [], [], []
        for look, page in zip(looks, pages, strict=True):
            assert len(page) == len(look.shares)
            rows = np.arange(len(page)) if look.known is None else np.flatnonzero(look.known)
            number = len(rows)
            if len(rows) > MAX_BLOCKS:
                rows = np.sort(rng.choice(rows, MAX_BLOCKS, replace=False))
            words = page.text.words
            # Between "every block counts the same" and "every page counts the same".
            weight = np.sqrt((words + 1.0) / max(float(words.sum()), 1.0))
            matrices.append(page.matrix[rows])
            weights.append(weight[rows] * (number / len(rows)))
            targets.append(look.shares[rows] > 0.5)
        self.matrix, self.target = np.concatenate(matrices), np.concatenate(targets)
        weight = np.concatenate(weights)
        self.weight = weight / weight.mean()


def _recipe(
    examples: Sequence[ContentExample], marked: Sequence[MarkedBlocks], seed: int
) -> dict[str, Any]:
    marks = {"marked_blocks": sum(int(page.known.sum()) for page in marked)} if marked else {}
    return {
        "pages": len(examples),
        "hosts": len({example.host for example in examples}),
        "blocks": sum(len(example.shares) for example in examples),
        "folds": FOLDS,
        "seed": seed,
        **marks,
    }
