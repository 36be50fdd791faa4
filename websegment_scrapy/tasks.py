"""What a crawl has its workers do; the analysis is loaded in them, not in the crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import NotHtml
from websegment_scrapy.findings import Report  # noqa: TC001 - see there
from websegment_scrapy.page.decode import OtherFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.page.capture import Captured
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["judge_again", "report_on"]


def report_on(
    html: bytes | Captured, *, segments: bool = True, **options: Any
) -> Report | OtherFormat:
    """Analyse a response.

    Parameters
    ----------
    html
        The document.
    segments
        Whether they are wanted.
    options
        Those of `analysis.analyze`.
    """
    from websegment_scrapy.analysis import analyze

    try:
        return analyze(html, segments=segments, **options).report(segments=segments)
    except NotHtml as error:
        return OtherFormat(error.kind, str(error))


def judge_again(
    dossiers: Sequence[tuple[bytes, Sequence[SiteVerdict | None], bytes | None]], signature: str
) -> list[tuple[str, Signature] | None]:
    """Judge pages of which only the dossier is kept: `analysis.judge_again`."""
    from websegment_scrapy import analysis

    return analysis.judge_again(dossiers, signature)
