"""What elements are called by ``class`` and ``id``, and what that says of the text in them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.lexicon import name_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.lexicon import Lexicon
    from websegment_scrapy.page.tree import PageTree

__all__ = ["CALLED", "CALLED_BIT", "name_scores"]

CALLED: dict[str, frozenset[str]] = {
    "comments": frozenset(
        "comment comments commentlist commenting respond responses disqus trackback trackbacks "
        "pingback replies".split()
    ),
    "forum": frozenset(
        "forum forums thread threads topic topics discussion discussions question questions answer "
        "answers phpbb vbulletin discourse".split()
    ),
    "sidebar": frozenset("sidebar sidebars related widget widgets recommended popular".split()),
}
"""Names of elements that mean one thing on some pages and another on others: what is called a
comment is the content of a forum, and not of an article."""

CALLED_BIT = {name: 1 << number for number, name in enumerate(CALLED)}

_BITS = {word: CALLED_BIT[name] for name, words in CALLED.items() for word in words}

CACHED_NAME, CACHED_NAMES = 200, 4096
"""Characters of an element's names up to which their scores are remembered, and how many are: the
pages of a site have the same ones."""


def name_scores(
    tree: PageTree, lexicon: Lexicon
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.uint64],
    NDArray[np.int64],
]:
    """Return of each element the sum, least and greatest score of its names, and more.

    The number of its names, equal where they are, and what it is `CALLED`.
    """
    size, names = len(tree), tree.names
    known: dict[str, tuple[float, float, float, int, int]] = {}
    rows = []
    for text in names.values():
        found = known.get(text)
        if found is None:
            score = _name_score if len(text) <= CACHED_NAME else _name_score.__wrapped__
            sums = score(lexicon, text)
            found = known[text] = (*sums[:3], len(known) + 1, sums[3])
        rows.append(found)
    at = np.fromiter(names, np.int64, len(names))
    columns = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    filled = []
    for values, kind in zip(columns, (float, float, float, np.uint64, np.int64), strict=True):
        array = np.zeros(size, dtype=kind)
        array[at] = values
        filled.append(array)
    total, least, greatest, number, called = filled
    return total, np.minimum(least, 0.0), np.maximum(greatest, 0.0), number, called


@lru_cache(CACHED_NAMES)
def _name_score(lexicon: Lexicon, text: str) -> tuple[float, float, float, int]:
    """Return sum, least and greatest score of an element's names, and what it is `CALLED`."""
    words, table = name_words(text), lexicon.names
    if not words:
        return 0.0, 0.0, 0.0, 0
    scores = [table.get(word, 0.0) for word in words]
    called = 0
    for word in words:
        if word in _BITS:
            called |= _BITS[word]
    return sum(scores), min(scores), max(scores), called
