"""The short way of a page: HTML to its main text, without segments and signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from websegment_scrapy.analysis import DEFAULT, analyze, read_document
from websegment_scrapy.extract.main_text import kept_text, largest_segment
from websegment_scrapy.extract.markdown import markdown_text
from websegment_scrapy.extract.title import page_title
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.words import words
from websegment_scrapy.template.page_templates import page_templates

if TYPE_CHECKING:
    from websegment_scrapy.page.capture import Captured
    from websegment_scrapy.template.content import ContentModel
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["Extraction", "extract"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """A page's title and main text, and how many words it has."""

    url: str
    title: str
    main_text: str

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
    if main_text == "largest":
        page = analyze(
            html,
            url=url,
            content_type=content_type,
            encoding=encoding,
            engine=engine,
            main_text=main_text,
            site=site,
        )
        text = page.main_text
        if markdown:
            text = markdown_text(page.tree, largest_segment(page.tree, page.segments, site))
        return Extraction(url=url, title=page.title, main_text=text)
    document = read_document(html, content_type=content_type, encoding=encoding)
    tree = build_tree(document, estimate_layout=main_text == "pagelevel")
    templates = page_templates(tree, main_text, url=url, site=site, model=model)
    if markdown and len(templates.main):
        text = markdown_text(tree, templates)
    else:
        text = kept_text(tree, templates)
    return Extraction(url=url, title=page_title(tree), main_text=text)
