"""The short way of a page: HTML to its main text, without segments and signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from websegment_scrapy.config import Config
from websegment_scrapy.judging import LARGEST, judge_page, read_document
from websegment_scrapy.page.words import words
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.text.main_text import kept_text
from websegment_scrapy.text.markdown import markdown_text
from websegment_scrapy.text.title import page_title

if TYPE_CHECKING:
    from websegment_scrapy.content.model import ContentModel
    from websegment_scrapy.page.capture import Captured
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["Extraction", "extract"]

DEFAULT = Config()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """A page's title and main text, how good that is expected to be, and how many words it has."""

    url: str
    title: str
    main_text: str
    main_text_score: float | None = None

    @property
    def words(self) -> int:
        """The number of words of the main text."""
        return len(words(self.main_text))


def extract(
    html: str | bytes | Captured,
    *,
    url: str = "",
    content_type: str | None = None,
    encoding: str | None = None,
    engine: str = DEFAULT.engine,
    main_text: str = DEFAULT.main_text,
    markdown: bool = False,
    site: SiteVerdict | None = None,
    model: ContentModel | None = None,
) -> Extraction:
    """Extract the main text of one page; it is the same as that of `analyze`.

    Parameters
    ----------
    html, url, content_type, encoding, engine, main_text, site
        As for `analyze`; the engine matters only for ``main_text="largest"``.
    markdown
        Whether headings, lists, tables, code and quotes are marked as Markdown.
    model
        A model of ``"learned"`` instead of the shipped one.
    """
    segmenter = get_engine(engine) if main_text == LARGEST else None
    page = judge_page(
        read_document(html, content_type=content_type, encoding=encoding),
        main_text=main_text,
        url=url,
        segmenter=segmenter,
        site=site,
        model=model,
    )
    if markdown and len(page.templates.main):
        text = markdown_text(page.tree, page.templates)
    else:
        text = kept_text(page.tree, page.templates)
    return Extraction(
        url=url,
        title=page_title(page.tree, page.reader),
        main_text=text,
        main_text_score=page.templates.score,
    )
