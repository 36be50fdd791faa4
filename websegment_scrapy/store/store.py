"""The store: one call decides a visit and writes it down, so that the decision outlives the run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.decide import Rules, decide
from websegment_scrapy.store.locks import ClusterLock, LockTooWeak
from websegment_scrapy.store.schema import prepare

if TYPE_CHECKING:
    from types import TracebackType

    from websegment_scrapy.dedup.decision import Decision
    from websegment_scrapy.dedup.signature import Recipe
    from websegment_scrapy.store.record import PageRecord

__all__ = ["Store"]


class Store:
    """An open dedup database that pages are written to; made by `Store.open`.

    It may be used from any thread; decisions of one store are made one after the other. Any number
    of stores in any number of processes may write to the same database.
    """

    def __init__(self, database: Database, rules: Rules) -> None:
        self.database = database
        self.rules = rules
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        url: str,
        *,
        recipe: Recipe,
        similarity: float | None = None,
        min_words: int = 15,
    ) -> Store:
        """Open a database, and make it when it is new.

        Parameters
        ----------
        url
            SQLAlchemy URL: ``sqlite:///FILE`` or ``postgresql://USER:PASSWORD@HOST/DATABASE``.
        recipe
            How the signatures are made. A database keeps the recipe and the similarity that it was
            made with and refuses others (`StoreMismatch`).
        similarity
            Similarity from which pages are near-duplicates; ``None``: the recipe's own.
        min_words
            Pages with fewer words are ``empty``.
        """
        if similarity is None:
            similarity = recipe.default_similarity
        if not 0 < similarity <= 1:
            raise StoreError(f"similarity is {similarity!r}: accepted is above 0, up to 1")
        if min_words < 1:
            raise StoreError(f"min_words is {min_words!r}: accepted is 1 and above")
        database = Database.open(url, create=True)
        try:
            prepare(database, recipe, float(similarity))
        except BaseException:
            database.close()
            raise
        return cls(database, Rules(recipe, float(similarity), min_words))

    def decide(self, record: PageRecord) -> Decision:
        """Decide one visit and write it down, in one transaction."""
        signature = record.signature
        if signature is not None and signature.recipe != self.rules.recipe:
            raise StoreMismatch(
                f"the signature of {record.url} has the recipe {signature.recipe.to_json()}, but "
                f"{self.database.name} has {self.rules.recipe.to_json()}: make it with that one"
            )
        strength = ClusterLock.NONE
        with self._lock:
            while True:
                try:
                    with self.database.write() as connection:
                        return decide(connection, record, self.rules, strength)
                except LockTooWeak as weak:
                    strength = weak.needed
                except ValueError as error:
                    raise StoreError(
                        f"{self.database.name}: {error}: a row is damaged; "
                        "run websegment dedup check"
                    ) from error

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
