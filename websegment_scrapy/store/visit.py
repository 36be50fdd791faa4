"""A visit before it is decided: the rules, and everything that follows from a record alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.dedup.fingerprint import same_page
from websegment_scrapy.dedup.signature import Signature
from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store.record import canonical_url, clean, host_of, lock_of, shorten, url_key

if TYPE_CHECKING:
    from datetime import datetime

    from websegment_scrapy.dedup.signature import Recipe
    from websegment_scrapy.store.record import PageRecord
    from websegment_scrapy.store.statements import Row, SameDocument, StoredPage
    from websegment_scrapy.template.hashes import PageParts

__all__ = ["Rules", "VisitToDecide"]

NOTHING_KEPT = "not looked at, since it has not changed, but nothing is stored of it any more"
"""Why a page failed that was not looked at: it was forgotten meanwhile."""

ONLY_FIGURES = "only figures and dates are others"
"""How it is known that a page has not changed, if asked to see it that way."""


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
    keep_texts: int = 0
    """Main texts that are kept of each page."""
    changed_share: float = 0.0
    """Share of a page's text that must be another for the page to have changed."""
    ignore_figures: bool = False
    """Whether a page has not changed in which only figures and dates are others."""

    def keys(self, signature: Signature) -> list[int]:
        """Return the keys by which a signature is found in this database."""
        return signature.keys(self.secret)

    def signature(self, row: Any) -> Signature:
        """Read the signature of a row that has ``signature``, ``words`` and ``content_hash``."""
        return Signature.from_bytes(row.signature, self.recipe, row.words, row.content_hash)


class VisitToDecide:
    """A record with everything that follows from it alone, computed before any lock is held."""

    __slots__ = (
        "_rules",
        "_signature",
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
        self.page_hash = None if record.error is not None else record.page_hash
        self.has_parts = (
            record.error is None and record.parts is not None and len(record.parts.hashes) > 0
        )
        self._rules = rules
        self.take(record.words if signature is None else signature.words, signature)

    def restore(self) -> None:
        """Let the visit have found what its record says, after `take`."""
        signature = self.record.signature
        if self._signature is not signature:
            self.take(self.record.words if signature is None else signature.words, signature)

    def take(self, words: int, signature: Signature | None) -> None:
        """Let the visit have found this content."""
        self.words = words
        self.keys: list[int] = []
        self.reason: tuple[DecisionKind, str] | None = None
        """Why the visit brought nothing to compare, if so."""
        self._signature = signature
        least = self._rules.min_words
        if self.record.error is not None:
            self.reason = DecisionKind.FAILED, shorten(self.record.error)
        elif self.record.unchanged is not None:
            self.reason = DecisionKind.FAILED, NOTHING_KEPT
        elif words < least:
            few = f"{words} words, fewer than the {least} of min_words"
            self.reason = DecisionKind.EMPTY, few
        elif signature is None:
            raise StoreError(
                f"the record of {self.url} has {words} words but no signature: give both"
            )
        else:
            self.keys = self._rules.keys(signature)

    def take_from(self, same: SameDocument) -> None:
        """Let the visit have found the content of a page that has the same bytes."""
        if same.signature is None:
            if same.words < self._rules.min_words:
                self.take(same.words, None)
            return
        self.take(same.words, self._rules.signature(same))

    @property
    def locks(self) -> list[int]:
        """What the visit is alone with while it is decided: its URL, its document, its keys."""
        names = [self.key, self.record.document_hash]
        return [*(lock_of(name) for name in names if name), *self.keys]

    @property
    def signature(self) -> Signature:
        """The signature of a visit that brought something to compare."""
        assert self._signature is not None
        return self._signature

    @property
    def parts(self) -> PageParts:
        """The parts of a visit that has some."""
        assert self.record.parts is not None
        return self.record.parts

    def repeats(self, page: StoredPage) -> bool:
        """Say whether the visit found a stored page unchanged, however it is judged by now.

        Its main text is the same, or would be if nothing were known of its site, or its blocks are
        (`dedup.fingerprint`).
        """
        if page.content_hash is None or self.record.error is not None:
            return False
        return self._repeats_words(page) or self.left_alone(page) is not None

    def left_alone(self, page: StoredPage) -> str | None:
        """Say why the stored page stays exactly as it is, if it does: only that it was seen counts.

        It was not looked at, or what is new on it is not asked for. That must not replace what is
        stored, or a text that changes little by little would never be found changed.
        """
        if page.content_hash is None or self.record.unchanged is not None:
            return None if page.content_hash is None else self.record.unchanged
        if not self._rules.ignore_figures or self.reason is not None:
            return None
        steady = page.steady_hash is not None and page.steady_hash == self.record.steady_hash
        return ONLY_FIGURES if steady and not self._repeats_words(page) else None

    def _repeats_words(self, page: StoredPage) -> bool:
        return (
            self.has_content_of(page.content_hash)
            or (page.page_hash is not None and page.page_hash == self.page_hash)
            or same_page(page.fingerprint, self.record.fingerprint)
        )

    def has_content_of(self, content_hash: bytes | None) -> bool:
        """Say whether the visit found these words."""
        return self.reason is None and content_hash == self.signature.content_hash

    def stays(self, page: StoredPage) -> bool:
        """Say whether an unchanged page keeps the content that it has.

        It does when the visit found the same, or saw the page in another way (rendered or not):
        what is hidden is known to one of them only. Otherwise the page is judged in another way by
        now, because more is known of its site, and the last judgement counts.
        """
        return (
            self.has_content_of(page.content_hash)
            or self.record.rendered != page.rendered
            or self.left_alone(page) is not None
        )

    def hashes(self, page: StoredPage | None = None) -> Row:
        """Return the columns by which the page is known again; a page that stays keeps its own."""
        record = self.record
        if page is None:
            return {
                "page_hash": self.page_hash,
                "document_hash": record.document_hash,
                "fingerprint": record.fingerprint,
                "steady_hash": record.steady_hash,
            }
        return {
            "page_hash": self.page_hash or page.page_hash,
            "document_hash": record.document_hash or page.document_hash,
            "fingerprint": page.fingerprint or record.fingerprint,
            "steady_hash": record.steady_hash or page.steady_hash,
        }

    def founded(self, now: datetime) -> Row:
        """Return the columns of a new page that never change."""
        seen = clean(self.record.url)
        return {
            "url": self.url,
            "seen_url": None if seen == self.url else seen,
            "url_key": self.key,
            "host": self.host,
            "first_seen": now,
        }

    def described(self) -> Row:
        """Return the columns that simply repeat the record."""
        record = self.record
        return {
            "title": shorten(record.title),
            "engine": clean(record.engine),
            "model": clean(record.model),
            "page_type": None if record.page_type is None else clean(record.page_type),
            "page_type_probability": record.page_type_probability,
            "main_text_score": record.main_text_score,
            "rendered": record.rendered,
            "render_error": None if record.render_error is None else shorten(record.render_error),
            "render_reason": None
            if record.render_reason is None
            else shorten(record.render_reason),
            "http_status": record.http_status,
            "crawl_id": self.crawl_id,
        }

    def noted(
        self,
        page_id: int,
        now: datetime,
        kind: DecisionKind,
        similarity: float | None = None,
        duplicate_of_id: int | None = None,
        reason: str | None = None,
    ) -> Row:
        """Return the visit's own row."""
        return {
            "page_id": page_id,
            "seen_at": now,
            "crawl_id": self.crawl_id,
            "decision": str(kind),
            "similarity": similarity,
            "duplicate_of_id": duplicate_of_id,
            "reason": reason,
        }
