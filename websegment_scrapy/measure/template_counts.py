"""Words, anchor words and links within templates: found, labelled, and both (PageLevel, 6.1).

Precision is the fraction of words (links) found within templates that are labelled so, recall the
fraction of those labelled so that are found, both over all pages together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = [
    "KINDS",
    "Agreement",
    "LeafCounts",
    "accuracy",
    "agreement",
    "join_counts",
    "leaf_counts",
]

KINDS = ("text", "anchor_text", "links")
"""What is counted: all words, words in links, links."""


@dataclass(frozen=True, slots=True, eq=False)
class LeafCounts:
    """What each leaf counts for: words, words in links, and links, each at its first leaf."""

    text: NDArray[np.float64]
    anchor_text: NDArray[np.float64]
    links: NDArray[np.float64]

    def where(self, chosen: NDArray[np.bool_]) -> LeafCounts:
        """Return the counts of some leaves."""
        return LeafCounts(self.text[chosen], self.anchor_text[chosen], self.links[chosen])


@dataclass(frozen=True, slots=True)
class Agreement:
    """Amounts within templates: as found, as labelled, and in both."""

    found: float
    labelled: float
    both: float

    @property
    def precision(self) -> float:
        """Share of what was found that is labelled; 1 when nothing was found."""
        return self.both / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Share of what is labelled that was found; 1 when nothing is labelled."""
        return self.both / self.labelled if self.labelled else 1.0

    @property
    def f_measure(self) -> float:
        """Harmonic mean of both."""
        total = self.found + self.labelled
        return 2 * self.both / total if total else 1.0


def leaf_counts(tree: PageTree) -> LeafCounts:
    """Count words and links of a page's leaves."""
    leaves = tree.leaves
    text = np.array([len(words(tree.text_of(leaf))) for leaf in leaves.tolist()], dtype=np.float64)
    link = tree.link[leaves]
    _, first = np.unique(link, return_index=True)
    starts = np.zeros(len(leaves), dtype=bool)
    starts[first] = True
    linked = link >= 0
    return LeafCounts(text, text * linked, (starts & linked).astype(np.float64))


def join_counts(pages: Sequence[LeafCounts]) -> LeafCounts:
    """Join the counts of many pages."""
    return LeafCounts(*(np.concatenate([getattr(page, kind) for page in pages]) for kind in KINDS))


def agreement(
    counts: LeafCounts,
    labelled: NDArray[np.bool_],
    found: NDArray[np.bool_],
    kinds: Iterable[str] = KINDS,
) -> dict[str, Agreement]:
    """Compare leaves labelled as template with those found to be."""
    both = labelled & found
    return {
        kind: Agreement(
            *(float(getattr(counts, kind)[leaves].sum()) for leaves in (found, labelled, both))
        )
        for kind in kinds
    }


def accuracy(counts: LeafCounts, labelled: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    """Return the share of words in leaves of which the same is said."""
    total = float(counts.text.sum())
    return float(counts.text[labelled == found].sum()) / total if total else 1.0
