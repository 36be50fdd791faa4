"""What it helps to know a site: boilerplate that a page alone keeps, before and after.

Nobody marked main texts on these pages, but a text that a site repeats is not what a page is for.
Of each site every second page is counted (SiteLevel), and the others are judged, by the page alone
and with the verdict. A text of a judged page is **repeated** when `SHARE` of the site's judged
pages have it too: those were not counted, so the verdict is measured on pages it has not seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.content.page_templates import page_templates
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.measure.report import silent, text_table
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.template.sitelevel import SiteCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.measure.sites import CrawledSite
    from websegment_scrapy.page.tree import PageTree

__all__ = ["SiteHelp", "evaluate_site_help"]

SHARE = 0.1
"""SiteLevel's own threshold (PageLevel paper, section 5.1)."""

MIN_PAGES = 8
"""Least pages of a site that are counted, and that are judged (``WEBSEGMENT_SITE_MIN_PAGES``)."""


@dataclass(frozen=True, slots=True)
class SiteHelp:
    """Words of the main texts of all judged pages.

    Attributes
    ----------
    sites, pages
        Sites with enough pages, and pages that were judged.
    words_alone, repeated_alone
        Words of the main texts by the page alone, and those of repeated texts among them.
    words_known, repeated_known
        The same once the site is known.
    wrongly_removed
        Words that the verdict removed although no other judged page has their text.
    """

    sites: int
    pages: int
    words_alone: int
    repeated_alone: int
    words_known: int
    repeated_known: int
    wrongly_removed: int

    def table(self) -> str:
        """Write the result for people."""
        rows = [
            ["page alone", str(self.words_alone), _share(self.repeated_alone, self.words_alone)],
            ["site known", str(self.words_known), _share(self.repeated_known, self.words_known)],
        ]
        removed = self.words_alone - self.words_known
        return "\n".join(
            [
                f"{self.sites} sites, {self.pages} pages that were not counted",
                text_table(["main text", "words", "repeated"], rows),
                f"Of the {removed} words less, {self.wrongly_removed} are on one page only.",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def evaluate_site_help(sites: Sequence[CrawledSite], progress: Progress = silent) -> SiteHelp:
    """Judge every second page of each site alone and with what the others repeat."""
    found = [
        counts
        for site in progress(iter(sites), len(sites), "sites")
        if (counts := _site(site)) is not None
    ]
    total = [sum(counts) for counts in zip(*found, strict=True)]
    return SiteHelp(len(found), *(total or [0] * 6))


def _site(site: CrawledSite) -> tuple[int, ...] | None:
    trees = []
    for page in site.pages:
        try:
            trees.append(build_tree(page.path.read_bytes()))
        except (AnalysisError, OSError):
            continue
    counter = SiteCounter()
    for tree in trees[::2]:
        counter.add(tree)
    verdict = counter.verdict(min_pages=MIN_PAGES)
    judged = trees[1::2]
    if verdict is None or len(judged) < MIN_PAGES:
        return None
    judgements = [page_templates(tree, site=verdict) for tree in judged]
    texts = [_texts(tree, each.nodes) for tree, each in zip(judged, judgements, strict=True)]
    on_pages = Counter(text for own in texts for text in set(own))
    needed = max(2, SHARE * len(judged))
    counts = np.zeros(5, dtype=np.int64)
    for templates, own in zip(judgements, texts, strict=True):
        words = np.array([len(text.split()) for text in own], dtype=np.int64)
        seen = np.array([on_pages[text] for text in own], dtype=np.int64)
        repeated = seen >= needed
        alone, known = templates.kept, templates.main_text
        counts += [
            words[alone].sum(),
            words[alone & repeated].sum(),
            words[known].sum(),
            words[known & repeated].sum(),
            words[alone & ~known & (seen == 1)].sum(),
        ]
    return len(judged), *counts.tolist()


def _texts(tree: PageTree, nodes: NDArray[np.int64]) -> list[str]:
    return [" ".join(tree.text_of(node).lower().split()) for node in nodes.tolist()]


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(whole, 1):.1f} %)"
