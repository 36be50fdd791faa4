"""What a crawl has its workers do; the analysis is loaded in them, not in the crawl."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import NotHtml
from websegment_scrapy.findings import PlainLook, Report  # see there
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.page.decode import OtherFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["is_told", "judge_again", "needs_browser", "plain_hashes", "report_on", "signs_of"]


def report_on(
    html: bytes | Captured,
    *,
    segments: bool = True,
    plain: bytes | None = None,
    plain_type: str | None = None,
    **options: Any,
) -> Report | OtherFormat:
    """Analyse a response.

    Parameters
    ----------
    html
        The document.
    segments
        Whether they are wanted.
    plain, plain_type
        The page's plain HTML and its content type, if it is to be told what that has of the page.
    options
        Those of `analysis.analyze`.
    """
    from websegment_scrapy.analysis import analyze

    try:
        report = analyze(html, segments=segments, **options).report(segments=segments)
    except NotHtml as error:
        return OtherFormat(error.kind, str(error))
    if plain is None:
        return report
    try:
        return replace(report, plain=_look_at(html, plain, plain_type, report.main_text))
    except NotHtml:
        return report


def _look_at(
    html: bytes | Captured, plain: bytes, plain_type: str | None, main_text: str
) -> PlainLook:
    """Say what plain HTML has of a page."""
    from websegment_scrapy.dedup.plain import FULLY, PlainHtml

    found = PlainHtml.read(plain, content_type=plain_type)
    hashed, share = found.hash_that_tells(main_text)
    more = False
    if isinstance(html, Captured):
        more = not PlainHtml.read(html.plain()).links <= found.links
    return PlainLook(plain_hash=hashed, told_fully=share >= FULLY, links_by_script=more)


def plain_hashes(body: bytes, content_type: str | None = None) -> tuple[bytes, ...]:
    """Return the hashes of plain HTML, one of which may be that of an earlier visit."""
    from websegment_scrapy.dedup.plain import PlainHtml

    try:
        return PlainHtml.read(body, content_type=content_type).hashes()
    except NotHtml:
        return ()


def signs_of(body: bytes, content_type: str | None = None) -> str | None:
    """Return the sign that plain HTML gives of how it is built; ``None``: it has no scripts."""
    from websegment_scrapy.page.by_script import read_signs

    signs = read_signs(body, content_type)
    return signs.sign if signs.scripts else None


def needs_browser(captured: Captured, plain: bytes, plain_type: str | None, url: str) -> bool:
    """Say whether a rendered page has text or links that its plain HTML has not."""
    from websegment_scrapy.dedup.plain import PlainHtml, has_more_links
    from websegment_scrapy.extraction import extract

    text = extract(captured, url=url).main_text
    found = PlainHtml.read(plain, content_type=plain_type)
    if has_more_links(PlainHtml.read(captured.plain()).links, found.links, url):
        return True
    return not is_told(text, found.text, plain, plain_type, url)


def is_told(text: str, found: list[str], plain: bytes, plain_type: str | None, url: str) -> bool:
    """Say whether plain HTML, in which those words were found, has a rendered page's main text.

    The runs of words in the HTML are torn where a design hides words between others or joins them;
    in the main text of the HTML alone they are not. The latter is looked for only if need be.
    """
    from websegment_scrapy.dedup.plain import tells_lines
    from websegment_scrapy.extraction import extract
    from websegment_scrapy.page.words import words

    if tells_lines(found, text):
        return True
    without = words(extract(plain, content_type=plain_type, url=url).main_text)
    return tells_lines([*without, *found], text)


def judge_again(
    dossiers: Sequence[tuple[bytes, Sequence[SiteVerdict | None], bytes | None]], signature: str
) -> list[tuple[str, Signature] | None]:
    """Judge pages of which only the dossier is kept: `analysis.judge_again`."""
    from websegment_scrapy import analysis

    return analysis.judge_again(dossiers, signature)
