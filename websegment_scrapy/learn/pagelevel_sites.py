"""Crawled sites to training examples: all pages are counted, some are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.learn.pagelevel import (
    TemplateExample,
    count_site,
    make_template_example,
    sample_pages,
)
from websegment_scrapy.measure.sites import local_copy
from websegment_scrapy.page.build import build_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.measure.documents import Documents
    from websegment_scrapy.measure.sites import CrawledSite
    from websegment_scrapy.model_files import LayoutKind
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["PAGES_PER_SITE", "site_examples"]

PAGES_PER_SITE: dict[LayoutKind, int] = {"static": 20, "rendered": 2}
"""Pages of each site that are learned from, at random; every site weighs the same anyway."""


def site_examples(
    site: CrawledSite,
    layouts: Sequence[LayoutKind],
    documents: Documents,
    known: SiteVerdict | None = None,
) -> tuple[dict[LayoutKind, list[TemplateExample]], dict[str, str]]:
    """Label pages of a site by what all its pages repeat.

    Parameters
    ----------
    site
        The site; with fewer than five different pages it says nothing and gives no examples.
    layouts
        Kinds of layout to measure.
    documents
        Renders pages, if ``layouts`` has ``"rendered"``.
    known
        What a crawl found the site to repeat, instead of counting these pages.

    Returns
    -------
    tuple
        The examples by layout, and why pages could not be used, by their names.
    """
    trees: dict[int, PageTree] = {}
    errors: dict[str, str] = {}
    for number, page in enumerate(site.pages):
        try:
            trees[number] = build_tree(page.path.read_bytes())
        except (AnalysisError, OSError) as error:
            errors[page.name] = str(error)
    examples: dict[LayoutKind, list[TemplateExample]] = {layout: [] for layout in layouts}
    verdict = known or count_site(trees.values())
    if verdict is None:
        return examples, errors
    for layout in layouts:
        for number in sample_pages(len(site.pages), PAGES_PER_SITE[layout]):
            if number not in trees:
                continue
            tree = trees[number]
            if layout == "rendered":
                try:
                    with local_copy(site, site.pages[number]) as page:
                        tree = build_tree(documents.read(page))
                except AnalysisError as error:
                    errors[site.pages[number].name] = str(error)
                    continue
            example = make_template_example(site.name, site.family, tree, verdict)
            if example is not None:
                examples[layout].append(example)
    return examples, errors
