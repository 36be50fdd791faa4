"""A visit before it is decided: the rules, and everything that follows from a record alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store.record import canonical_url, clean, host_of, shorten, url_key

if TYPE_CHECKING:
    from websegment_scrapy.dedup.signature import Recipe, Signature
    from websegment_scrapy.store.record import PageRecord
    from websegment_scrapy.template.hashes import PageParts

__all__ = ["Rules", "VisitToDecide"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What decisions depend on besides the pages themselves."""

    recipe: Recipe
    similarity: float
    min_words: int
    recipe_id: int = 1
    """Number of recipe and similarity in the table ``recipes``."""
    secret: bytes = b""
    """By which the database draws the keys of signatures; empty: as anyone would."""

    def keys(self, signature: Signature) -> list[int]:
        """Return the keys by which a signature is found in this database."""
        return signature.keys(self.secret)


class VisitToDecide:
    """A record with everything that follows from it alone, computed before any lock is held."""

    __slots__ = (
        "crawl_id",
        "has_parts",
        "host",
        "key",
        "keys",
        "page_hash",
        "reason",
        "record",
        "url",
        "words",
    )

    def __init__(self, record: PageRecord, rules: Rules, crawl_id: int) -> None:
        signature = record.signature
        if signature is not None and signature.recipe != rules.recipe:
            raise StoreMismatch(
                f"the signature of {record.url} has the recipe {signature.recipe.to_json()}, but "
                f"the database has {rules.recipe.to_json()}: make it with that one"
            )
        self.record = record
        self.crawl_id = crawl_id
        self.url = canonical_url(record.url)
        self.key = url_key(self.url)
        self.host = host_of(self.url)
        self.words = record.words if signature is None else signature.words
        self.page_hash = None if record.error is not None else record.page_hash
        self.has_parts = (
            record.error is None and record.parts is not None and len(record.parts.hashes) > 0
        )
        self.keys: list[int] = []
        self.reason: tuple[DecisionKind, str] | None = None
        """Why the visit brought nothing to compare, if so."""
        if record.error is not None:
            self.reason = DecisionKind.FAILED, shorten(record.error)
        elif self.words < rules.min_words:
            few = f"{self.words} words, fewer than the {rules.min_words} of min_words"
            self.reason = DecisionKind.EMPTY, few
        elif signature is None:
            raise StoreError(
                f"the record of {self.url} has {self.words} words but no signature: give both"
            )
        else:
            self.keys = rules.keys(signature)

    @property
    def signature(self) -> Signature:
        """The signature of a visit that brought something to compare."""
        assert self.record.signature is not None
        return self.record.signature

    @property
    def parts(self) -> PageParts:
        """The parts of a visit that has some."""
        assert self.record.parts is not None
        return self.record.parts

    def repeats(self, content_hash: bytes | None, page_hash: bytes | None) -> bool:
        """Say whether a page with this content, and this text without its site, is unchanged.

        A visit that found too few words, only because its site's template is known by now, found
        the page unchanged as well.
        """
        if content_hash is None:
            return False
        if page_hash is not None and page_hash == self.page_hash:
            return True
        return self.reason is None and content_hash == self.signature.content_hash

    @property
    def seen_url(self) -> str | None:
        """The URL as it was fetched, when it differs from the canonical one."""
        seen = clean(self.record.url)
        return None if seen == self.url else seen

    def described(self) -> dict[str, Any]:
        """Return the columns that simply repeat the record."""
        record = self.record
        return {
            "title": shorten(record.title),
            "engine": clean(record.engine),
            "model": clean(record.model),
            "rendered": record.rendered,
            "render_error": None if record.render_error is None else shorten(record.render_error),
            "http_status": record.http_status,
            "crawl_id": self.crawl_id,
        }
