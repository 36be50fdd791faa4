"""What elements are called by ``class`` and ``id``, and what that says of the text in them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.lexicon import CACHED_NAME, CACHED_NAMES, name_words

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
    known = {text: number for number, text in enumerate(dict.fromkeys(names.values()), 1)}
    number = np.zeros(size, dtype=np.uint64)
    at = np.fromiter(names, np.int64, len(names))
    number[at] = np.fromiter(map(known.__getitem__, names.values()), np.uint64, len(names))
    # What has no name has the scores of the first row.
    scores = [(0.0, 0.0, 0.0, 0)]
    for text in known:
        score = _name_score if len(text) <= CACHED_NAME else _name_score.__wrapped__
        scores.append(score(lexicon, text))
    total, least, greatest, called = zip(*scores, strict=True)
    return (
        np.array(total)[number],
        np.minimum(least, 0.0)[number],
        np.maximum(greatest, 0.0)[number],
        number,
        np.array(called, dtype=np.int64)[number],
    )


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
