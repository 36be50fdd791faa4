"""Which pages of a collection are connected by similarity.

Pages that have a key in common are candidates, and every candidate is verified on the full
signatures, as in the store. Only components are asked for, so a pair whose pages are connected
already is not compared; pages with equal signatures are compared once. Of a key that more than
`MAX_PAGES_PER_KEY` texts have, all are compared with the first that many of them, and that is
counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.store.clusters import MAX_PAGES_PER_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from websegment_scrapy.batch.sketches import Sketches

__all__ = ["Components", "components"]

PAIRS = 2**18
"""Pairs that are held at once."""


class Components:
    """Labels of pages: connected ones have the same, the number of the first of them.

    Attributes
    ----------
    labels
        One for each page.
    verified
        Pairs that were compared.
    crowded_keys
        Keys of which not all pairs were.
    """

    def __init__(
        self, sketches: Sketches, threshold: float, among: NDArray[np.bool_] | None = None
    ) -> None:
        self._sketches = sketches
        self._threshold = threshold
        self.verified = 0
        self.crowded_keys = 0
        self.labels = np.arange(sketches.count, dtype=np.int64)
        self.first = self._equal()
        self.labels = self.first.copy()
        self._asked = self.first == np.arange(sketches.count)
        if among is not None:
            self._asked &= np.isin(self.first, self.first[among])

    def _equal(self) -> NDArray[np.int64]:
        """Return for each page the first that has an equal signature."""
        wholes = self._sketches.wholes()
        order = np.argsort(wholes, kind="stable")
        _, starts = _groups(wholes[order])
        sizes = np.diff(np.append(starts, len(order)))
        first = np.empty(len(order), dtype=np.int64)
        first[order] = np.repeat(order[starts], sizes) if len(order) else order
        # Two signatures may have one number by chance: those are asked for.
        others = np.flatnonzero(first != np.arange(len(first)))
        alike = self._sketches.similar(others, first[others]) == 1.0
        first[others[~alike]] = others[~alike]
        return first

    def join(self, keys: NDArray[np.uint64], owners: NDArray[np.int64] | None) -> None:
        """Connect pages that have one of these keys in common and are similar."""
        if owners is None:
            owners = np.flatnonzero(self._asked)
            keys = keys[owners]
        else:
            distinct = self._asked[owners]
            keys, owners = keys[distinct], owners[distinct]
        order = np.argsort(keys, kind="stable")
        ones: list[NDArray[np.int64]] = []
        others: list[NDArray[np.int64]] = []
        waiting = 0
        for one, other in self._pairs(owners[order], keys[order]):
            apart = self.labels[one] != self.labels[other]
            ones.append(one[apart])
            others.append(other[apart])
            waiting += int(apart.sum())
            if waiting >= PAIRS:
                self._verify(np.concatenate(ones), np.concatenate(others))
                ones, others, waiting = [], [], 0
        if waiting:
            self._verify(np.concatenate(ones), np.concatenate(others))

    def _pairs(
        self, owners: NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the pairs of pages that have a key in common, keys of as many pages together."""
        _, starts = _groups(keys)
        sizes = np.diff(np.append(starts, len(keys)))
        for size in np.unique(sizes[sizes > 1]).tolist():
            members = starts[sizes == size]
            if size > MAX_PAGES_PER_KEY:
                self.crowded_keys += len(members)
            # Owners stand in ascending order within a key: the first ones are the leaders.
            for leader in range(min(size - 1, MAX_PAGES_PER_KEY)):
                width = size - leader - 1
                step = max(PAIRS // width, 1)
                for begin in range(0, len(members), step):
                    some = members[begin : begin + step]
                    one = np.repeat(owners[some + leader], width)
                    other = owners[(some[:, None] + np.arange(leader + 1, size)).ravel()]
                    yield one, other

    def _verify(self, ones: NDArray[np.int64], others: NDArray[np.int64]) -> None:
        """Compare pairs, and let those that are similar be connected."""
        self.verified += len(ones)
        near = self._sketches.similar(ones, others) >= self._threshold
        if near.any():
            self._connect(self.labels[ones[near]], self.labels[others[near]])

    def _connect(self, ones: NDArray[np.int64], others: NDArray[np.int64]) -> None:
        """Join components by their labels: of each only what is named here has to be looked at."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        names, places = np.unique(np.concatenate((ones, others)), return_inverse=True)
        places = places.reshape(2, -1)
        graph = coo_array((np.ones(len(ones), dtype=bool), tuple(places)), shape=(len(names),) * 2)
        count, found = connected_components(graph, directed=False)
        least = np.full(count, len(self.labels), dtype=np.int64)
        np.minimum.at(least, found, names)
        become = np.arange(len(self.labels), dtype=np.int64)
        become[names] = least[found]
        self.labels = become[self.labels]


def components(
    sketches: Sketches, threshold: float, among: NDArray[np.bool_] | None = None
) -> Components:
    """Return which pages are connected by similarity; only some are compared if that is asked."""
    found = Components(sketches, threshold, among)
    for keys, owners in sketches.passes():
        found.join(keys, owners)
    return found


def _groups(ordered: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct values of an ordered array, and where each begins."""
    if not len(ordered):
        return ordered, np.empty(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[starts], starts
