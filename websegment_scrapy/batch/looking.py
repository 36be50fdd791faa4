"""What a worker tells a batch of a page: texts, numbers and bytes, as they are written.

Most of what a report holds would be made into objects on this side of the pipe only to be taken
apart again; a page has hundreds of parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from websegment_scrapy.page.decode import OtherFormat
from websegment_scrapy.tasks import judge_again, report_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["SEPARATOR", "Looked", "Signed", "look", "sign_again"]

SEPARATOR = "\n"
"""Between the samples of a page's parts, which have one line each."""


@dataclass(frozen=True, slots=True)
class Signed:
    """The columns that say what a page's text is."""

    main_text: str
    words: int
    content_hash: bytes
    signature: bytes
    keys: list[int]

    @classmethod
    def of(cls, text: str, signature: Signature) -> Signed:
        """Take a signature apart."""
        return cls(
            text,
            signature.words,
            signature.content_hash,
            signature.to_bytes(),
            signature.keys(),
        )


@dataclass(frozen=True, slots=True)
class Looked:
    """The columns of a page (`rows.ANALYSED`) that its analysis fills, and its text's."""

    signed: Signed
    columns: dict[str, Any]


def look(body: bytes, **options: Any) -> Looked | OtherFormat:
    """Analyse a page (`tasks.report_on`)."""
    report = report_on(body, **options)
    if isinstance(report, OtherFormat):
        return report
    columns: dict[str, Any] = {
        "title": report.title,
        "page_type": report.page_type,
        "page_type_probability": report.page_type_probability,
        "engine": report.engine,
        "model": report.model,
        "page_words": report.page_words,
        "page_hash": report.page_hash,
        "document_hash": report.document_hash,
        "steady_hash": report.steady_hash,
        "fingerprint": report.fingerprint,
        "dossier": report.dossier,
        "segments": report.segments if options["segments"] else None,
    }
    if report.parts is not None:
        columns["parts"] = report.parts.hashes
        columns["samples"] = SEPARATOR.join(report.parts.samples)
    return Looked(Signed.of(report.main_text, report.signature), columns)


def sign_again(
    dossiers: Sequence[tuple[bytes, Sequence[SiteVerdict | None], bytes | None]], signature: str
) -> list[Signed | None]:
    """Judge pages by what is known of their sites (`tasks.judge_again`)."""
    return [
        None if answer is None else Signed.of(*answer)
        for answer in judge_again(dossiers, signature)
    ]
