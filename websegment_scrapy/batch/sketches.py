"""The signatures of a whole collection, on disk, as arrays: their keys, and how similar two are.

The numbers are those of `dedup.signature`, which takes one page at a time; here are millions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from websegment_scrapy.dedup.signature import Recipe

__all__ = ["Sketches"]

CHUNK = 2**16
"""Pairs compared, and pages read, at once: 32 MiB of signatures on either side."""

_FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)
"""Odd numbers that mix the four words of a band (of splitmix64 and its kin)."""


class Sketches:
    """The signatures of pages that are numbered from 0.

    Parameters
    ----------
    path
        A file that is made here.
    recipe
        How the signatures were made.
    count
        How many there are.
    """

    def __init__(self, path: Path, recipe: Recipe, count: int) -> None:
        self.recipe = recipe
        self.count = count
        self._is_minhash = recipe.kind == "minhash"
        kind = np.uint32 if self._is_minhash else np.uint64
        self._sizes = np.full(count, recipe.size, dtype=np.uint8)
        self._values: NDArray[Any] = np.empty((0, recipe.size), dtype=kind)
        if count:
            self._values = np.memmap(path, dtype=kind, mode="w+", shape=(count, recipe.size))

    def put(self, numbers: NDArray[np.int64], signatures: list[bytes]) -> None:
        """Take the signatures of the pages of some numbers."""
        kind = self._values.dtype.newbyteorder("<")
        if self._is_minhash:
            read = np.frombuffer(b"".join(signatures), dtype=kind)
            self._values[numbers] = read.reshape(len(signatures), -1)
            return
        for place, data in zip(numbers.tolist(), signatures, strict=True):
            values = np.frombuffer(data, dtype=kind)
            self._sizes[place] = len(values)
            self._values[place, : len(values)] = values
            self._values[place, len(values) :] = 0

    def passes(self) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64] | None]]:
        """Yield the keys of all pages, a band at a time, and whose they are where not of each one.

        Pages have a key of a band in common when they have its values in common. The numbers are
        others than those of `Signature.keys`, which take a hash of their own for each page and
        band: what counts is which are equal.
        """
        if self._is_minhash:
            for band in range(self.recipe.bands):
                yield self._band(band), None
            return
        size = self.recipe.size
        for part in range(size):
            keys: list[NDArray[np.uint64]] = []
            owners: list[NDArray[np.int64]] = []
            for start in range(0, self.count, CHUNK):
                values = np.asarray(self._values[start : start + CHUNK])
                there = np.arange(size) < self._sizes[start : start + CHUNK, None]
                rows, columns = np.nonzero(there & (values % np.uint64(size) == part))
                keys.append(values[rows, columns])
                owners.append(rows + start)
            if keys:
                yield np.concatenate(keys), np.concatenate(owners)

    def _band(self, band: int) -> NDArray[np.uint64]:
        rows = self.recipe.rows
        keys = np.empty(self.count, dtype=np.uint64)
        for start in range(0, self.count, CHUNK):
            piece = self._values[start : start + CHUNK, band * rows : (band + 1) * rows]
            words = np.ascontiguousarray(piece).view(np.uint64)
            mixed = np.zeros(len(words), dtype=np.uint64)
            for column in range(words.shape[1]):
                mixed = (mixed ^ words[:, column]) * np.uint64(_FACTORS[column % len(_FACTORS)])
                mixed ^= mixed >> np.uint64(29)
            keys[start : start + CHUNK] = mixed
        return keys

    def wholes(self) -> NDArray[np.uint64]:
        """Return a number for each signature: equal ones have the same."""
        found = np.empty(self.count, dtype=np.uint64)
        for start in range(0, self.count, CHUNK):
            words = np.asarray(self._values[start : start + CHUNK]).view(np.uint64)
            mixed = self._sizes[start : start + CHUNK].astype(np.uint64)
            for column in range(words.shape[1]):
                mixed = (mixed ^ words[:, column]) * np.uint64(_FACTORS[column % len(_FACTORS)])
                mixed ^= mixed >> np.uint64(29)
            found[start : start + CHUNK] = mixed
        return found

    def similar(self, ones: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how similar pages are, pair by pair."""
        found = np.empty(len(ones))
        for start in range(0, len(ones), CHUNK):
            piece = slice(start, start + CHUNK)
            one, other = self._values[ones[piece]], self._values[others[piece]]
            if self._is_minhash:
                found[piece] = (one == other).mean(axis=1)
                continue
            sizes = self._sizes[ones[piece]].astype(int), self._sizes[others[piece]].astype(int)
            columns = np.arange(self.recipe.size)
            there = (columns < sizes[0][:, None])[:, :, None] & (columns < sizes[1][:, None])[
                :, None
            ]
            common = ((one[:, :, None] == other[:, None, :]) & there).sum(axis=(1, 2))
            found[piece] = common / np.maximum(np.minimum(*sizes), 1)
        return found

    def similar_to(self, one: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how similar one page is to others."""
        if not self._is_minhash:
            return self.similar(np.full(len(others), one), others)
        found = np.empty(len(others))
        own = np.asarray(self._values[one])
        for start in range(0, len(others), CHUNK):
            found[start : start + CHUNK] = (
                self._values[others[start : start + CHUNK]] == own
            ).mean(axis=1)
        return found
