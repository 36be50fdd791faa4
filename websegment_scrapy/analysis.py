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
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.segment.segments import Segment, describe_segments, relabel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

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
    return AnalyzedPage(
        url=url,
        title=page_title(tree),
        engine=segmenter.name,
        rendered=tree.layout == "rendered",
        main_text=main_text,
        words=main.words if main else 0,
        page_words=sum(segment.words for segment in segments),
        segments=segments,
        signature=signature_of(main_text, RECIPES[signature]),
        tree=tree,
        labels=labels,
    )
