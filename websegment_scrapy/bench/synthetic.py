"""Pages made from a seed: any page can be made without the ones before it, so millions are cheap.

Of ten pages seven are new and three repeat an earlier one, with up to six of the 128 values of its
signature replaced (similarity 0.95 to 1; none replaced: the same text). Hosts have from one to very
many pages, as on the web.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.dedup.signature import RECIPES, Signature
from websegment_scrapy.store.record import PageRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RECIPE", "SyntheticPages"]

RECIPE = RECIPES["minhash"]
REPEATED = 0.3
MOST_REPLACED = 6
_HALF = RECIPE.size // 2


@dataclass(frozen=True, slots=True)
class SyntheticPages:
    """An endless list of pages; page 0 comes first."""

    seed: int = 1

    def records(self, start: int, stop: int) -> list[PageRecord]:
        """Return pages as a crawl would hand them to the store."""
        _, values, hashes = self.signatures(start, stop)
        hosts = self.hosts(start, stop)
        return [
            PageRecord(
                url=self.url(number, host),
                title=f"Page {number} about the number {number % 977}",
                signature=Signature(RECIPE, value, self.words(number), content_hash),
                engine="justrules",
                http_status=200,
                crawl=f"bench {number // 100_000}",
            )
            for number, host, value, content_hash in zip(
                range(start, stop), hosts, values, hashes, strict=True
            )
        ]

    def signatures(
        self, start: int, stop: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], list[bytes]]:
        """Return for each page the page that it repeats (or itself), its values and its hash."""
        numbers = np.arange(start, stop, dtype=np.int64)
        roots = self.roots(numbers)
        values = self.original_values(roots)
        replaced = np.where(
            roots == numbers, 0, self._draw(numbers, 3) % np.uint64(MOST_REPLACED + 1)
        ).astype(np.int64)
        for row in np.flatnonzero(replaced):
            chooser = np.random.default_rng((self.seed, int(numbers[row])))
            where = chooser.choice(RECIPE.size, int(replaced[row]), replace=False)
            values[row, where] = chooser.integers(0, 2**32, len(where), dtype=np.uint32)
        hashes = [blake2b(row.tobytes(), digest_size=16).digest() for row in values]
        return roots, values, hashes

    def roots(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first page of each page's cluster."""
        roots = numbers.copy()
        while True:
            share = self._draw(roots, 1).astype(np.float64) / 2.0**64
            repeats = np.flatnonzero((share < REPEATED) & (roots > 0))
            if not len(repeats):
                return roots
            earlier = self._draw(roots[repeats], 2) % roots[repeats].astype(np.uint64)
            roots[repeats] = earlier.astype(np.int64)

    def hosts(self, start: int, stop: int) -> list[str]:
        """Return the hosts of pages: the n-th host has about 1/n of the pages of the first."""
        shares = self._draw(np.arange(start, stop), 4).astype(np.float64) / 2.0**64
        return [f"www.site{number:05d}.example" for number in (20_000**shares).astype(int).tolist()]

    @staticmethod
    def url(number: int, host: str) -> str:
        """Return the URL of a page."""
        return f"https://{host}/articles/{number % 12 + 1:02d}/story-{number}.html"

    def url_of(self, number: int) -> str:
        """Return the URL of one page."""
        return self.url(number, self.hosts(number, number + 1)[0])

    @staticmethod
    def words(number: int) -> int:
        """Return the number of words of a page."""
        return 100 + number % 900

    def original_values(self, roots: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the signature values of pages that repeat nothing."""
        places = np.arange(_HALF, dtype=np.uint64)
        base = roots.astype(np.uint64)[:, None] * np.uint64(_HALF) + places
        return _mix(base + np.uint64(self.seed << 40)).view(np.uint32).reshape(len(roots), -1)

    def _draw(self, numbers: NDArray[np.int64], purpose: int) -> NDArray[np.uint64]:
        salt = np.uint64((self.seed << 48) + (purpose << 56))
        return _mix(numbers.astype(np.uint64) + salt)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Turn counters into random numbers (splitmix64, Steele, Lea and Flood 2014)."""
    state = (state + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
