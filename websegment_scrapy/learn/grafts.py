"""Inserts of foreign text set into training pages: comments, teasers and notes on authors.

Pages with known main texts are few, and of our time: their comments come by a script, their teasers
are cards. Older news and blog pages carry both in full, below and beside the article, and a model
that never saw it takes them for more of the article. So pages are learned from once more, with such
inserts around them that are made of texts of other training pages. What is written there is
running text like any other; that it is not the page's own shows only in how it is arranged, which
is what is to be learned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.text_blocks import text_blocks
from websegment_scrapy.learn.inserts import InsertMaker
from websegment_scrapy.learn.splicing import spliced
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.subtrees import subtree_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.learn.inserts import Scraps
    from websegment_scrapy.page.tree import PageTree

__all__ = ["graft"]

LEAST_WORDS = 60
"""Words of main text from which inserts may be set into a page."""

MOST_OF_IT = 0.9
"""Share of the main text's words that its container must hold."""

_BESIDE_ARTICLES = (
    ("sidebar", 0.3, False),
    ("teasers", 0.25, False),
    ("note", 0.4, True),
    ("teasers", 0.5, True),
    ("comments", 0.7, True),
    ("teasers", 0.3, True),
    ("sidebar", 0.4, True),
)
"""What is set into articles, in which share of them, and whether after the main text."""

_BESIDE_OTHERS = (("sidebar", 0.5, False), ("sidebar", 0.7, True))
"""The same for lists, shops and forums, whose own content may look like teasers and comments."""

SHORTENED = 0.4
"""Share of the articles of which only the beginning is left."""

SHORT = (12, 160)
"""Words that are left of them."""

INSIDE, FURTHER_OUT = 0.25, 0.15
"""Shares of the inserts that go into the container of the main text, and behind the element around
it; the others follow it."""


def graft(
    tree: PageTree,
    shares: NDArray[np.float64],
    scraps: Scraps,
    rng: np.random.Generator,
    *,
    is_article: bool = True,
) -> tuple[PageTree, NDArray[np.float64]] | None:
    """Set inserts into a page; return it with the share of each block that is main text.

    Articles may also be shortened. ``None`` for a page with too little main text, or whose main
    text has no container of its own.
    """
    before = text_blocks(tree)
    own_share = np.zeros(len(tree))
    own_share[before.nodes] = shares[before.of_node]
    container = _container(tree, own_share)
    if container is None:
        return None
    if is_article and rng.random() < SHORTENED:
        tree, own_share = _shortened(tree, own_share, int(rng.integers(*SHORT)))
    maker = InsertMaker(scraps, rng)
    for kind, often, after in _BESIDE_ARTICLES if is_article else _BESIDE_OTHERS:
        if rng.random() >= often:
            continue
        insert = build_tree(f"<html><body>{maker.make(kind)}</body></html>", estimate_layout=False)
        body = next(node for node in range(len(insert)) if insert.tag_name(node) == "body")
        parent, position = _place(tree, container, after, rng.random())
        size = len(tree)
        tree = spliced(tree, insert, body, parent, position)
        own_share = np.insert(own_share, np.full(len(tree) - size, position), 0.0)
        if position <= container:
            container += len(tree) - size
    blocks = text_blocks(tree)
    return tree, own_share[blocks.begin]


def _shortened(
    tree: PageTree, share: NDArray[np.float64], words: int
) -> tuple[PageTree, NDArray[np.float64]]:
    """Leave the main text's first words, up to the end of a text node, and drop the others."""
    main = np.flatnonzero(share > 0.5)
    before = np.cumsum([0, *(len(tree.text_of(node).split()) for node in main.tolist())])[:-1]
    dropped = main[before >= words]
    text_end = tree.text_end.copy()
    text_end[dropped] = tree.text_start[dropped]
    share = share.copy()
    share[dropped] = 0.0
    return replace(tree, text_end=text_end), share


def _container(tree: PageTree, share: NDArray[np.float64]) -> int | None:
    """Return the smallest element around nearly all of the main text, if there is enough."""
    words = np.zeros(len(tree))
    for node in np.flatnonzero(share > 0.5).tolist():
        words[node] = len(tree.text_of(node).split())
    total = float(words.sum())
    if total < LEAST_WORDS:
        return None
    inside = subtree_sums(tree.end, words)
    enough = np.flatnonzero((inside >= MOST_OF_IT * total) & ~tree.is_text)
    found = int(enough[np.argmax(tree.depth[enough])])
    below_body = tree.depth[found] >= 2
    return found if below_body else None


def _place(tree: PageTree, container: int, after: bool, chance: float) -> tuple[int, int]:
    """Choose where an insert goes: its parent, and the index of its first node."""
    above = int(tree.parent[container])
    if not after:
        return above, container
    if chance < INSIDE:
        return container, int(tree.end[container])
    if chance < INSIDE + FURTHER_OUT and tree.depth[above] >= 2:
        return int(tree.parent[above]), int(tree.end[above])
    return above, int(tree.end[container])
