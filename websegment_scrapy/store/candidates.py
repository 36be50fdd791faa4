"""What a content repeats: the pages that it is compared with, and the rule by which one is chosen.

A page with exactly the same words is the best match. Otherwise pages with a key in common are
verified on their signatures (`clusters.best_match`). Where a key is crowded, and the earliest of
its pages gave no match, pages count by how many keys they have in common: what is similar has
several, while a page that was written to crowd one key has that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from websegment_scrapy.store import clusters
from websegment_scrapy.store.clusters import Match, best_match
from websegment_scrapy.store.models import Page
from websegment_scrapy.store.statements import NO_PAGE, Statements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.statements import Ahead, Candidate
    from websegment_scrapy.store.visit import Rules

__all__ = ["Candidates", "find_match"]

_TWIN = (
    select(Page.id, Page.url, Page.cluster_id)
    .where(
        Page.content_hash == bindparam("content_hash"),
        Page.recipe_id == bindparam("recipe_id"),
        Page.id != bindparam("own_id"),
        Page.cluster_id != bindparam("leaving"),
    )
    .order_by(Page.id)
    .limit(1)
)


class Candidates:
    """Finds what contents repeat, among pages that were read and those of a batch itself.

    Neither the page `own_id` counts nor those of the cluster `leaving`. ``crowded_keys`` counts how
    often a key had more pages than are compared.
    """

    def __init__(
        self, statements: Statements, rules: Rules, own_id: int = NO_PAGE, leaving: int = NO_PAGE
    ) -> None:
        self.statements = statements
        self.rules = rules
        self.own_id = own_id
        self.leaving = leaving
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
        self.take_sharing(ahead.sharing)
        self._pages = {page.id: page for page in ahead.candidates}

    def take_sharing(self, sharing: Iterable[tuple[int, int]]) -> None:
        """Take keys with the earliest pages that have them."""
        for key, page_id in sharing:
            self._holders.setdefault(key, []).append(page_id)

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

    def match(self, signature: Signature, keys: Sequence[int]) -> Match | None:
        """Find what a content repeats among the pages that were taken and added."""
        twin = self._twins.get(signature.content_hash)
        if twin is not None:
            return Match(twin.id, twin.url, 1.0, twin.cluster_id)
        limit = clusters.MAX_PAGES_PER_KEY
        ids: set[int] = set()
        crowded = 0
        for key in keys:
            holders = self._holders.get(key)
            if holders is not None:
                crowded += len(holders) >= limit
                ids.update(holders[:limit])
        self.crowded_keys += crowded
        match = self._best(signature, ids)
        # Not for a page whose cluster is being left: then a text may get a second representative.
        if match is None and crowded and not self.leaving:
            shared = self.statements.most_shared(
                keys, clusters.MAX_IDS_PER_KEY, clusters.MAX_VERIFIED
            )
            self.fetch(shared)
            match = self._best(signature, {*shared, *self._added})
        return match

    def fetch(self, ids: Collection[int]) -> list[Candidate]:
        """Return pages of the recipe by their ids, of this batch or from the database."""
        missing = set(ids) - self._pages.keys()
        if missing:
            self._pages |= {page.id: page for page in self.statements.candidates(missing)}
        return [self._pages[page_id] for page_id in ids if page_id in self._pages]

    def _best(self, signature: Signature, ids: set[int]) -> Match | None:
        # A key of another recipe may be the same by chance.
        known = [self._pages[page_id] for page_id in sorted(ids & self._pages.keys())]
        pages = [
            page for page in known if page.id != self.own_id and page.cluster_id != self.leaving
        ]
        return best_match(signature, pages, self.rules.similarity, self._signature, self.fetch)

    def _signature(self, page: Candidate) -> Signature:
        made = self._signatures.get(page.id)
        if made is None:
            made = self._signatures[page.id] = self.rules.signature(page)
        return made


def find_match(
    connection: Connection, signature: Signature, rules: Rules, own_id: int, leaving: int = NO_PAGE
) -> Match | None:
    """Find what a content repeats among all pages but `own_id` and those of the cluster `leaving`.

    The rule is that of `Candidates.match`.
    """
    wanted = {"content_hash": signature.content_hash, "recipe_id": rules.recipe_id}
    twin = connection.execute(_TWIN, {**wanted, "own_id": own_id, "leaving": leaving}).first()
    if twin is not None:
        return Match(twin.id, twin.url, 1.0, twin.cluster_id)
    statements = Statements.of(connection, rules.recipe_id)
    keys = rules.keys(signature)
    sharing = list(statements.sharing(keys, clusters.MAX_PAGES_PER_KEY))
    if not sharing:
        return None
    candidates = Candidates(statements, rules, own_id, leaving)
    candidates.take_sharing(sharing)
    candidates.fetch({page_id for _, page_id in sharing})
    return candidates.match(signature, keys)
