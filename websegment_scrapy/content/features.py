"""The columns by which a page's text blocks are judged.

Its own text (`text`), its place in the document (`place`), and here its neighbours and
the page as a whole. None of them needs a layout, so pages that were not rendered are judged as
well as rendered ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.place import FLAGS, HALF, PROSE, BlockPlace, place_columns
from websegment_scrapy.content.text import MONEY, BlockText, Columns, block_text, text_columns
from websegment_scrapy.page.subtrees import running_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.lexicon import Lexicon
    from websegment_scrapy.page.tree import PageTree

__all__ = ["FEATURES_VERSION", "BlockFeatures", "block_features"]

FEATURES_VERSION = 2
"""Raised whenever a column changes its meaning: models name the version they were made with."""

NEAR = (
    "words", "link_share", "lexicon", "sentences", "in_p", "in_heading", "in_anchor", "name_sum",
    "upper_share", "in_item", "shown", "named_mean",
)  # fmt: skip
FAR = NEAR[:4]
"""Columns that are also looked at two blocks away, and three."""

WINDOWS = (5, 15)  # blocks to each side that are summed up
_TYPE = re.compile(r'"@type"\s*:\s*"(\w+)"')
KINDS: dict[str, frozenset[str]] = {
    "article": frozenset({"article", "newsarticle", "blogposting", "techarticle", "report"}),
    "product": frozenset({"product", "productgroup", "offer", "aggregateoffer"}),
    "forum": frozenset({"discussionforumposting", "qapage", "question", "comment", "answer"}),
    "list": frozenset({"itemlist", "collectionpage", "listitem", "searchresultspage"}),
    "breadcrumb": frozenset({"breadcrumblist"}),
    "business": frozenset({"organization", "localbusiness", "service", "faqpage", "webpage"}),
}
"""What a page says of itself in the terms of schema.org (JSON-LD)."""

SCRIPT_CHARACTERS = 2_000_000
"""Characters of scripts that are searched for such terms."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockFeatures:
    """A page's blocks with their columns.

    Attributes
    ----------
    text, place
        What the columns were made from.
    names, matrix
        Names of the columns, and one row for each block; a column lies together in memory.
    """

    text: BlockText
    place: BlockPlace
    names: tuple[str, ...]
    matrix: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def unlinked(self) -> NDArray[np.bool_]:
        """Whether each block is not half links."""
        return self.column("link_share") < HALF

    def column(self, name: str) -> NDArray[np.float32]:
        """Return one column."""
        return self.matrix[:, self.names.index(name)]


def block_features(tree: PageTree, lexicon: Lexicon) -> BlockFeatures | None:
    """Measure the blocks of a page; ``None`` when it has no text."""
    text = block_text(tree)
    if not len(text):
        return None
    columns = text_columns(text, lexicon)
    place, flags = place_columns(columns, text, lexicon)
    _position(columns, text)
    _neighbours(columns, text)
    _page(columns, text, flags)
    matrix = np.empty((len(columns), len(text)), dtype=np.float32)
    for number, values in enumerate(columns.values()):
        matrix[number] = values
    return BlockFeatures(text, place, tuple(columns), matrix.T)


def _position(columns: Columns, text: BlockText) -> None:
    count, words = len(text), text.words
    total, before = max(float(words.sum()), 1.0), np.cumsum(words) - words
    index = np.arange(count, dtype=np.float64)
    columns["before"] = before / total
    columns["index"] = index / count
    columns["order"], columns["order_end"] = index, count - index
    columns["words_before"], columns["words_after"] = before, total - before - words
    columns["share"] = words / total


def _neighbours(columns: Columns, text: BlockText) -> None:
    count, words = len(text), text.words
    around = np.full((len(NEAR), count + 6), -1.0)
    around[:, 3:-3] = [columns[name] for name in NEAR]
    for offset in (-3, -2, -1, 1, 2, 3):
        near = around[:, 3 + offset : 3 + offset + count]
        for name, values in zip(NEAR if abs(offset) < 3 else FAR, near, strict=False):
            columns[f"{name}{offset:+d}"] = values
    index = np.arange(count)
    sums = {
        "words": running_sums(words),
        "linked": running_sums(text.linked),
        "prose": running_sums(np.where(words >= PROSE, words, 0.0)),
        "lexicon": running_sums(columns["lexicon_sum"]),
    }
    for width in WINDOWS:
        low, high = np.maximum(index - width, 0), np.minimum(index + width + 1, count)
        for name, run in sums.items():
            columns[f"w{width}_{name}"] = run[high] - run[low]
        some = np.maximum(columns[f"w{width}_words"], 1.0)
        columns[f"w{width}_link_share"] = columns.pop(f"w{width}_linked") / some
        columns[f"w{width}_mean"] = columns[f"w{width}_words"] / (high - low)


def _page(columns: Columns, text: BlockText, flags: NDArray[np.int64]) -> None:
    words, tree = text.words, text.tree
    total = max(float(words.sum()), 1.0)
    prose = (words >= PROSE) & (columns["link_share"] < HALF)
    scripts = "".join(tree.scripts)[:SCRIPT_CHARACTERS]
    kinds = {kind.lower() for kind in _TYPE.findall(scripts)}
    position = {flag: number for number, flag in enumerate(FLAGS)}

    def tags(flag: str) -> float:
        return float((flags >> position[flag] & 1).sum())

    values = {
        "words": total,
        "blocks": float(len(text)),
        "link_share": text.linked.sum() / total,
        "prose": words[prose].sum() / total,
        "max": words.max(),
        "money": text.counts[MONEY].sum(),
        "p": columns["in_p"] @ words / total,
        "hidden": words[~text.shown].sum() / total,
        "in_article": columns["in_article"] @ words / total,
        "in_main": columns["in_main"] @ words / total,
        "path": columns["named_words"].max() / total,
        "path_prose": (columns["named_words"] * columns["named_prose"]).max() / total,
        "articles": tags("article"),
        "items": tags("item"),
        "told": columns["of_told"].max(),
        "og_article": float("article" in tree.head.og_type),
        "og_product": float("product" in tree.head.og_type),
    } | {f"is_{name}": float(not terms.isdisjoint(kinds)) for name, terms in KINDS.items()}
    for name, value in values.items():
        columns[f"page_{name}"] = np.full(len(text), value)
