"""The way of a page through the pure core, in one call: ``analyze``.

HTML → ``PageTree`` → segments → main text → signature. Nothing here knows of Scrapy, browsers or
databases; ``pool.py`` runs the same function in processes of limited time and memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.config import Config
from websegment_scrapy.dedup.signature import RECIPES, Signature, signature_of
from websegment_scrapy.extract.main_text import assign_roles
from websegment_scrapy.extract.title import page_title
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.decode import decode, refuse_other_formats
from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.words import words
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.segment.segments import Segment, describe_segments, relabel
from websegment_scrapy.template.hashes import describe_parts, hash_nodes
from websegment_scrapy.template.sitelevel import template_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.hashes import PageParts
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["Analysis", "AnalyzedPage", "analyze"]

DEFAULT_ENGINE = Config().engine


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Analysis:
    """What is known of a page: small enough to travel between processes.

    Attributes
    ----------
    url, title
        Where it is and what it is called.
    engine
        The engine that segmented it.
    rendered
        Whether the layout is a browser's; otherwise it is estimated from the HTML.
    main_text
        The text of the main segment; empty when there is none.
    words, page_words
        Words of the main text and of the whole page.
    segments
        All segments, in document order.
    signature
        Min-hash signature of the main text.
    page_hash
        16 bytes that are equal for pages whose main text has the same words when their site's
        verdict is left aside: what a page says does not change because its site becomes known.
    parts
        What the page adds to its site's counts, when that was asked for.
    """

    url: str
    title: str
    engine: str
    rendered: bool
    main_text: str
    words: int
    page_words: int
    segments: tuple[Segment, ...]
    signature: Signature
    page_hash: bytes = b""
    parts: PageParts | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the page and its segments (see the documentation)."""
        return {
            "url": self.url,
            "engine": self.engine,
            "title": self.title,
            "rendered": self.rendered,
            "main_text": self.main_text,
            "segments": [
                {
                    "id": segment.id,
                    "role": segment.role,
                    "templateness": segment.templateness,
                    "xpaths": list(segment.xpaths),
                    "box": list(segment.box),
                    "words": segment.words,
                    "links": segment.links,
                    "text": segment.text,
                }
                for segment in self.segments
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnalyzedPage(Analysis):
    """An analysis together with the tree it was made from, and each leaf's segment."""

    tree: PageTree
    labels: NDArray[np.int32]

    def summary(self) -> Analysis:
        """Return the analysis without the tree."""
        return Analysis(**{field.name: getattr(self, field.name) for field in fields(Analysis)})

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the page, its segments and its leaves."""
        tree = self.tree
        leaves = [
            {
                "xpath": tree.xpath(node),
                "kind": tree.leaf_kind(node),
                "segment": int(label),
                "templateness": self.segments[label].templateness,
                "box": [round(float(number)) for number in tree.box[node]],
                "text": tree.text_of(node),
                "attributes": {name: tree.attribute(name, node) for name in tree.attributes},
            }
            for node, label in zip(tree.leaves.tolist(), self.labels.tolist(), strict=True)
        ]
        return {**super(AnalyzedPage, self).to_dict(), "leaves": leaves}


def analyze(
    html: str | bytes,
    *,
    url: str = "",
    content_type: str | None = None,
    encoding: str | None = None,
    engine: str = DEFAULT_ENGINE,
    signature: str = "minhash",
    attributes: Sequence[str] = (),
    site: SiteVerdict | None = None,
    parts: bool = False,
) -> AnalyzedPage:
    """Analyse one page.

    Parameters
    ----------
    html
        The document; bytes are decoded as Scrapy does it. A document that was rendered with
        this package carries its layout.
    url
        Where it is from; only passed on.
    content_type, encoding
        What is known of the encoding of bytes: the HTTP header, an encoding that wins over it.
    engine
        Name of the segmentation engine.
    signature
        ``"minhash"`` or ``"shingles"``.
    attributes
        HTML attributes to report with each leaf.
    site
        What the page's site repeats, if that is known.
    parts
        Whether to find what the page adds to its site's counts (``Analysis.parts``).

    Raises
    ------
    NotHtml
        If it is something else than a page.
    UnknownEngine
        If there is no engine of that name.
    """
    segmenter = get_engine(engine)
    if isinstance(html, bytes):
        html = decode(html, content_type=content_type, encoding=encoding)
    refuse_other_formats(html)
    tree = build_tree(html, attributes=attributes)
    labels = relabel(np.asarray(segmenter.segment(tree), dtype=np.int32))
    segments = assign_roles(describe_segments(tree, labels))
    main = next((segment for segment in segments if segment.role == "main"), None)
    main_text = main.text if main else ""
    found = signature_of(main_text, RECIPES[signature])
    page_hash = found.content_hash
    hashed = hash_nodes(tree) if parts or site is not None else None
    if site is not None and main is not None:
        own = (labels == main.id) & ~template_nodes(tree, site, hashed)[tree.leaves]
        main_text = Reader(tree).text(tree.leaves[own])
        found = signature_of(main_text, RECIPES[signature])
    return AnalyzedPage(
        url=url,
        title=page_title(tree),
        engine=segmenter.name,
        rendered=tree.layout == "rendered",
        main_text=main_text,
        words=len(words(main_text)),
        page_words=sum(segment.words for segment in segments),
        segments=segments,
        signature=found,
        page_hash=page_hash,
        parts=describe_parts(tree, hashed) if parts else None,
        tree=tree,
        labels=labels,
    )
