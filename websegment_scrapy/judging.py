"""The way of a page through the core, as far as is wanted: HTML → tree → segments → templates.

`analyze` and `extract` both begin with it; what differs is only what they want to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.page_templates import PageTemplates, page_templates
from websegment_scrapy.model_files import shipped_name
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.page.decode import decode, refuse_other_formats
from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.words import words_by_node
from websegment_scrapy.segment.hierarchy import Group, partition_page, with_groups
from websegment_scrapy.segment.informative import mark_informative
from websegment_scrapy.segment.registry import MODEL_OF
from websegment_scrapy.segment.segments import Segment, describe_segments
from websegment_scrapy.template.hashes import HashedNodes, hash_nodes
from websegment_scrapy.text.main_text import assign_roles, largest_segment, roles_by_templateness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.content.model import ContentModel
    from websegment_scrapy.model_files import LayoutKind
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.base import Segmenter
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["LARGEST", "JudgedPage", "judge_page", "model_name", "read_document"]

LARGEST = "largest"
"""The method of finding the main text that needs segments: the papers' rule."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPage:
    """A page and what of it is template.

    Attributes
    ----------
    tree, templates
        The page, and which of its text is main text.
    hashed
        The hashes of its nodes, if they were needed.
    labels, segments, groups, words, reader
        The segment of each leaf, all segments, the groups that they were cut out of, the words of
        each text node, and what reads leaves; empty when nobody segmented it.
    """

    tree: PageTree
    templates: PageTemplates
    hashed: HashedNodes | None
    labels: NDArray[np.int32]
    segments: tuple[Segment, ...]
    groups: tuple[Group, ...]
    words: dict[int, Sequence[str]]
    reader: Reader | None


def judge_page(
    document: str | Captured,
    *,
    main_text: str,
    url: str = "",
    segmenter: Segmenter | None = None,
    attributes: Sequence[str] = (),
    site: SiteVerdict | None = None,
    parts: bool = False,
    model: ContentModel | None = None,
) -> JudgedPage:
    """Lead a page as far as its templates; with a segmenter through its segments as well.

    Parameters
    ----------
    document, main_text, url, attributes, site, parts
        As for `analyze`.
    segmenter
        What segments the page; `LARGEST` needs one.
    model
        As for `extract`.
    """
    needs_layout = segmenter is not None or main_text == "pagelevel"
    tree = build_tree(document, attributes=attributes, estimate_layout=needs_layout)
    hashed = hash_nodes(tree) if parts or site is not None else None
    labels = np.zeros(0, dtype=np.int32)
    words: dict[int, Sequence[str]] = {}
    segments: tuple[Segment, ...] = ()
    groups: tuple[Group, ...] = ()
    reader = None
    if segmenter is not None:
        labels, partition = partition_page(tree, segmenter)
        words, reader = words_by_node(tree), Reader(tree)
        segments = mark_informative(describe_segments(tree, labels, words, reader))
        segments, groups = with_groups(tree, segments, partition)
    if main_text == LARGEST:
        segments = assign_roles(segments)
        templates = largest_segment(tree, segments, site, hashed)
    else:
        templates = page_templates(tree, main_text, url=url, site=site, hashed=hashed, model=model)
        segments = roles_by_templateness(tree, segments, templates)
    return JudgedPage(tree, templates, hashed, labels, segments, groups, words, reader)


def model_name(main_text: str, engine: str, layout: LayoutKind) -> str:
    """Return which model of this package finds a main text; empty: none does, or another one.

    Parameters
    ----------
    main_text, engine
        As for `analyze`.
    layout
        The page's kind of layout.
    """
    if main_text == "learned":
        return shipped_name("content", "any")
    if main_text == "pagelevel" or engine == "pagelevel":
        return shipped_name("templates", layout)
    return shipped_name(MODEL_OF[engine], layout) if engine in MODEL_OF else ""


def read_document(
    html: str | bytes | Captured, *, content_type: str | None, encoding: str | None
) -> str | Captured:
    """Decode a document and refuse what is none."""
    if isinstance(html, Captured):
        return html
    if isinstance(html, bytes):
        html = decode(html, content_type=content_type, encoding=encoding)
    refuse_other_formats(html, content_type)
    return html
