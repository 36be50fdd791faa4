"""The pages that the new pages of a batch are compared with: what was read, and the batch's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.dedup.signature import Signature
from websegment_scrapy.store import clusters
from websegment_scrapy.store.clusters import Match, best_match

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from websegment_scrapy.store.statements import Ahead, Candidate, Statements
    from websegment_scrapy.store.visit import Rules, VisitToDecide

__all__ = ["Candidates"]


class Candidates:
    """Finds what a page repeats; the rules are those of `clusters.find_match`.

    ``crowded_keys`` counts how often a key had more pages than are compared.
    """

    def __init__(self, statements: Statements, rules: Rules) -> None:
        self.statements = statements
        self.rules = rules
        self.crowded_keys = 0
        self.forget()

    def forget(self) -> None:
        """Forget what was read and added."""
        self._twins: dict[bytes, Candidate] = {}
        self._holders: dict[int, list[int]] = {}
        self._pages: dict[int, Candidate] = {}
        self._signatures: dict[int, Signature] = {}
        self._added: list[int] = []

    def take(self, ahead: Ahead) -> None:
        """Take what was read for the whole batch."""
        self._twins = {twin.content_hash: twin for twin in ahead.twins}
        for key, page_id in ahead.sharing:
            self._holders.setdefault(key, []).append(page_id)
        self._pages = {page.id: page for page in ahead.candidates}

    def take_twin(self, content_hash: bytes, page_id: int) -> None:
        """Look for a content's twin in one page more."""
        if content_hash not in self._twins:
            self._twins |= {page.content_hash: page for page in self.fetch((page_id,))}

    def add(self, page: Candidate, signature: Signature, keys: Sequence[int]) -> None:
        """Add a page of the batch, which is not in the database yet."""
        self._added.append(page.id)
        self._pages[page.id] = page
        self._signatures[page.id] = signature
        self._twins.setdefault(signature.content_hash, page)
        for key in keys:
            self._holders.setdefault(key, []).append(page.id)

    def match(self, visit: VisitToDecide) -> Match | None:
        """Find what a new page repeats."""
        twin = self._twins.get(visit.signature.content_hash)
        if twin is not None:
            return Match(twin.id, twin.url, 1.0, twin.cluster_id)
        limit = clusters.MAX_PAGES_PER_KEY
        ids: set[int] = set()
        crowded = 0
        for key in visit.keys:
            holders = self._holders.get(key)
            if holders is not None:
                crowded += len(holders) >= limit
                ids.update(holders[:limit])
        self.crowded_keys += crowded
        # A key of another recipe may be the same by chance.
        match = self._best(visit, ids & self._pages.keys())
        if match is None and crowded:
            shared = self.statements.most_shared(
                visit.keys, clusters.MAX_IDS_PER_KEY, clusters.MAX_VERIFIED
            )
            self.fetch(shared)
            match = self._best(visit, {*shared, *self._added} & self._pages.keys())
        return match

    def fetch(self, ids: Collection[int]) -> list[Candidate]:
        """Return pages of the recipe by their ids, of this batch or from the database."""
        missing = set(ids) - self._pages.keys()
        if missing:
            self._pages |= {page.id: page for page in self.statements.candidates(missing)}
        return [self._pages[page_id] for page_id in ids if page_id in self._pages]

    def _best(self, visit: VisitToDecide, ids: Collection[int]) -> Match | None:
        pages = [self._pages[page_id] for page_id in sorted(ids)]
        threshold = self.rules.similarity
        return best_match(visit.signature, pages, threshold, self._signature, self.fetch)

    def _signature(self, page: Candidate) -> Signature:
        made = self._signatures.get(page.id)
        if made is None:
            made = Signature.from_bytes(
                page.signature, self.rules.recipe, page.words, page.content_hash
            )
            self._signatures[page.id] = made
        return made
