"""The way of a page through the pure core, in one call: ``analyze``.

HTML → ``PageTree`` → templates → segments → main text → signature. Nothing here knows of Scrapy,
browsers or databases; ``pool.py`` runs the same function in processes of limited time and memory.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from websegment_scrapy.config import Config
from websegment_scrapy.dedup.fingerprint import fingerprint_of
from websegment_scrapy.dedup.signature import RECIPES, hash_words, sign_words
from websegment_scrapy.dedup.steady import steady_hash_of
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.findings import Findings, Report
from websegment_scrapy.judging import LARGEST, judge_page, model_name, read_document
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.page.words import words, words_by_node
from websegment_scrapy.page_types.model import shipped_type_model
from websegment_scrapy.page_types.terms import page_terms
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.template.hashes import describe_parts
from websegment_scrapy.template.repeated import outline_of
from websegment_scrapy.text.dossier import Dossier, dossier_of
from websegment_scrapy.text.main_text import kept_text, page_words, told_text
from websegment_scrapy.text.title import page_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from websegment_scrapy.content.page_templates import PageTemplates
    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.hierarchy import Group
    from websegment_scrapy.segment.segments import Segment
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["Analysis", "AnalyzedPage", "analyze", "judge_again"]

DEFAULT = Config()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Analysis(Findings):
    """What is known of a page: small enough to travel between processes.

    Attributes
    ----------
    segments
        All segments, in document order.
    groups
        The groups that the segments were cut out of, the page first; none where the engine knows
        no hierarchy.
    """

    segments: tuple[Segment, ...]
    groups: tuple[Group, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the page and its segments (see the documentation)."""
        return {
            "url": self.url,
            "engine": self.engine,
            "title": self.title,
            "rendered": self.rendered,
            "main_text": self.main_text,
            "main_text_score": self.main_text_score,
            "page_type": self.page_type,
            "page_type_probability": self.page_type_probability,
            "segments": self._segments(),
            "groups": [
                {"id": group.id, "parent": group.parent, "cut": group.cut, "box": list(group.box)}
                for group in self.groups
            ],
        }

    def _segments(self) -> list[dict[str, Any]]:
        return [segment.to_dict() for segment in self.segments]

    def report(self, *, segments: bool = True) -> Report:
        """Return what a crawl is told of the page, with its segments only if they are wanted."""
        known = {field.name: getattr(self, field.name) for field in fields(Findings)}
        return Report(**known, segments=json.dumps(self._segments()) if segments else "")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnalyzedPage(Analysis):
    """An analysis together with the tree it was made from, and each leaf's segment."""

    tree: PageTree
    labels: NDArray[np.int32]
    templates: PageTemplates | None

    def summary(self) -> Analysis:
        """Return the analysis without the tree."""
        return Analysis(**{field.name: getattr(self, field.name) for field in fields(Analysis)})

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the page, its segments and its leaves."""
        tree = self.tree
        scores = [None] * len(tree.leaves)
        if self.templates is not None:
            scores = self.templates.of_leaves(tree).round(3).tolist()
        leaves = [
            {
                "xpath": xpath,
                "kind": tree.leaf_kind(node),
                "segment": int(label),
                "templateness": score,
                "box": [round(float(number)) for number in tree.box[node]],
                "text": tree.text_of(node),
                "attributes": {name: tree.attribute(name, node) for name in tree.attributes},
            }
            for node, xpath, label, score in zip(
                tree.leaves.tolist(),
                tree.xpaths(tree.leaves.tolist()),
                self.labels.tolist(),
                scores,
                strict=True,
            )
        ]
        return {**super(AnalyzedPage, self).to_dict(), "leaves": leaves}


def analyze(
    html: str | bytes | Captured,
    *,
    url: str = "",
    content_type: str | None = None,
    encoding: str | None = None,
    engine: str = DEFAULT.engine,
    main_text: str = DEFAULT.main_text,
    signature: str = DEFAULT.signature,
    segments: bool = True,
    attributes: Sequence[str] = (),
    site: SiteVerdict | None = None,
    parts: bool = False,
) -> AnalyzedPage:
    """Analyse one page.

    Parameters
    ----------
    html
        The document; bytes are decoded as Scrapy does it. A `Captured` one was rendered and
        carries its layout.
    url
        Where it is from.
    content_type, encoding
        What is known of the encoding of bytes: the HTTP header, an encoding that wins over it.
    engine
        Name of the segmentation engine.
    main_text
        ``"learned"``, ``"pagelevel"`` or ``"largest"``: how the main text is found.
    signature
        ``"minhash"`` or ``"shingles"``.
    segments
        Whether they are wanted; where they are not, no engine is asked for the sake of them.
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
    segmenter = get_engine(engine) if segments or main_text == LARGEST else None
    document = read_document(html, content_type=content_type, encoding=encoding)
    page = judge_page(
        document,
        main_text=main_text,
        url=url,
        segmenter=segmenter,
        attributes=attributes,
        site=site,
        parts=parts,
    )
    tree, templates = page.tree, page.templates
    node_words = page.words or words_by_node(tree)
    dossier = None
    if page.hashed is None:
        text = alone = kept_text(tree, templates)
        told = told_text(tree)
    else:
        dossier = dossier_of(tree, templates, outline_of(tree, page.hashed))
        text, alone = dossier.text(site), dossier.text(None)
        told = dossier.told
    text_words = words(text)
    alone_words = text_words if alone == text else words(alone)
    found = sign_words(text_words, RECIPES[signature])
    kind = None
    if templates.kept.any() or told:
        terms = page_terms(tree, node_words, templates.kept, url)
        kind = shipped_type_model().classify(terms)
    return AnalyzedPage(
        url=url,
        title=page_title(tree, page.reader),
        engine=segmenter.name if segmenter else "",
        model=model_name(main_text, engine, tree.layout),
        rendered=tree.layout == "rendered",
        main_text=text,
        words=found.words,
        page_words=page_words(tree, node_words) + (0 if len(templates.main) else found.words),
        segments=page.segments,
        groups=page.groups,
        signature=found,
        page_hash=found.content_hash if alone == text else hash_words(alone_words),
        fingerprint=fingerprint_of(tree, templates.main, told, node_words).to_bytes(),
        parts=describe_parts(tree, page.hashed) if parts else None,
        dossier=dossier.to_bytes() if parts and dossier is not None else None,
        document_hash=document_hash(html),
        page_type=kind.name if kind else None,
        page_type_probability=kind.probability if kind else None,
        main_text_score=templates.score,
        steady_hash=steady_hash_of(alone_words),
        tree=tree,
        labels=page.labels,
        templates=None if main_text == LARGEST else templates,
    )


def judge_again(
    dossiers: Sequence[tuple[bytes, Sequence[SiteVerdict | None], bytes | None]], signature: str
) -> list[tuple[str, Signature] | None]:
    """Judge pages of which only the dossier is kept, each by what is known of its site.

    Parameters
    ----------
    dossiers
        ``Analysis.dossier`` of each page with the verdict on its site, or with several where sites
        have the same page, which has the longest of the texts then; and the ``content_hash`` that
        it has, if any.
    signature
        ``"minhash"`` or ``"shingles"``.

    Returns
    -------
    list
        Main text and signature of each; ``None`` for one that stays as it is, as most do, and for
        one that another version has written.
    """
    found: list[tuple[str, Signature] | None] = []
    for data, sites, known in dossiers:
        try:
            dossier = Dossier.from_bytes(data)
        except AnalysisError:
            found.append(None)
            continue
        texts = {dossier.text(site) for site in sites}
        split = [(text, words(text)) for text in texts]
        if len(texts) == 1 and hash_words(split[0][1]) == known:
            found.append(None)
            continue
        signed = [(text, sign_words(own, RECIPES[signature])) for text, own in split]
        found.append(max(signed, key=lambda each: (each[1].words, each[1].content_hash)))
    return found


def document_hash(html: str | bytes | Captured) -> bytes:
    """Return 16 bytes that are equal for documents of the same bytes, however they are seen."""
    if isinstance(html, Captured):
        html = html.plain()
    data = html if isinstance(html, bytes) else html.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=16).digest()
