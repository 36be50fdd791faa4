"""Clusters of near-duplicates that are bounded: each has a representative, which all resemble."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.dedup.signature import similarities

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.dedup.signature import Signature

__all__ = ["homes", "repeated", "stars"]


def stars(signatures: Sequence[Signature], threshold: float) -> list[int]:
    """Return for each signature the position of its representative.

    In their order, a signature that is not similar to a representative before it (at least
    `threshold`) is one; all others belong to the most similar one, of equals to the first. So
    every signature is similar to its representative, and no two representatives are similar: they
    are a maximal independent set of the graph of near-duplicates (a connected component, which may
    join unrelated texts by steps, has several).

    Each representative costs one comparison with all that follow it.
    """
    best = np.zeros(len(signatures), dtype=np.float64)
    chosen = np.arange(len(signatures))
    for position, signature in enumerate(signatures):
        if best[position] >= threshold:
            continue
        chosen[position] = position
        found = similarities(signature, signatures[position + 1 :])
        nearer = np.flatnonzero((found >= threshold) & (found > best[position + 1 :]))
        nearer += position + 1
        best[nearer] = found[nearer - position - 1]
        chosen[nearer] = position
    return [int(position) for position in chosen]


def homes(
    count: int, similar: Callable[[int], NDArray[np.float64]], threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each of `count` pages in their order the place of its representative.

    Representatives are those of `stars`. All others belong to the most similar one of them, also to
    one that comes after them, of equals to the first: this is for pages that are all there.

    Parameters
    ----------
    count
        Pages.
    similar
        Returns how similar one page is to all.
    threshold
        From which similarity on two pages are near-duplicates.

    Returns
    -------
    home, similarity
        The place of each page's representative, and how similar they are.
    """
    best = np.zeros(count)
    home = np.arange(count)
    chosen = np.zeros(count, dtype=bool)
    for place in range(count):
        if best[place] >= threshold:
            continue
        chosen[place] = True
        row = similar(place)
        nearer = row > best
        best[nearer] = row[nearer]
        home[nearer] = place
    home[chosen] = np.flatnonzero(chosen)
    best[chosen] = 1.0
    return home, best


def repeated(
    place: int,
    home: NDArray[np.int64],
    similar: NDArray[np.float64],
    same_words: NDArray[np.bool_],
    threshold: float,
) -> int:
    """Return the place of the page that one repeats: its representative, or one before it.

    Of these it is one with the same words, else the most similar one, and of equals the first.

    Parameters
    ----------
    place
        A page that is no representative.
    home
        Of all pages (`homes`).
    similar, same_words
        How similar the page is to each, and whether they have the same words.
    threshold
        From which similarity on two pages are near-duplicates.
    """
    first = int(home[place])
    before = np.flatnonzero((home[:place] == first) & (similar[:place] >= threshold))
    others = [int(each) for each in before if each != first]
    return min(
        [first, *others], key=lambda each: (not bool(same_words[each]), -similar[each], each)
    )
