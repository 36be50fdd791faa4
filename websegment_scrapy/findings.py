"""What is known of a page, in a form that costs little to make, to send and to read.

A crawl has to know these names, and needs nothing of the analysis itself, which is the workers'.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

# Workers answer with classes that are loaded already (`frames`), hence not for types only.
from websegment_scrapy.dedup.signature import Signature  # noqa: TC001
from websegment_scrapy.template.hashes import PageParts  # noqa: TC001

__all__ = ["Findings", "PlainLook", "Report"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Findings:
    """What is known of a page besides its segments.

    Attributes
    ----------
    url, title
        Where it is and what it is called.
    engine
        The engine that segmented it; empty where no segments were wanted.
    model
        The model that found the main text, if one did (`judging.model_name`).
    rendered
        Whether the layout is a browser's; otherwise it is estimated from the HTML.
    main_text
        The text that is not template; empty when there is none.
    words, page_words
        Words of the main text, and of all text of the page that can be read: what is shown, what
        can be opened, and what it tells machines when that is its main text.
    signature
        Min-hash signature of the main text.
    page_hash
        16 bytes that are equal for pages whose main text has the same words when their site's
        verdict is left aside: what a page says does not change because its site becomes known.
    fingerprint
        What the page says, block by block: `dedup.fingerprint.same_page` compares two visits.
    parts
        What the page adds to its site's counts, when that was asked for.
    dossier
        What it takes to judge the page again when more is known of its site, with `parts`; ``None``
        for a page that would take too much (`text.dossier`).
    document_hash
        16 bytes that are equal for documents of the same bytes.
    page_type, page_type_probability
        Its functional type (`page_types`) by the page alone, and how probable that is; ``None`` for
        a page that has no main text by itself.
    main_text_score
        The word F1 to expect of the main text by the page alone (`content.expectation`); ``None``
        where the page has none by itself, and of methods that promise nothing.
    steady_hash
        16 bytes that are equal for pages whose main text, their site's verdict left aside, has the
        same words but for figures and dates.
    """

    url: str
    title: str
    engine: str
    rendered: bool
    main_text: str
    words: int
    page_words: int
    signature: Signature
    model: str = ""
    page_hash: bytes = b""
    fingerprint: bytes = b""
    parts: PageParts | None = None
    dossier: bytes | None = None
    document_hash: bytes = b""
    page_type: str | None = None
    page_type_probability: float | None = None
    main_text_score: float | None = None
    steady_hash: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainLook:
    """What the plain HTML of a page has of it (`dedup.plain`).

    Attributes
    ----------
    plain_hash
        Hash of what of it tells the main text; ``None`` if nothing does.
    told_fully
        Whether that tells (nearly) all of it.
    links_by_script
        Whether the page, once rendered, has links that are not in there.
    """

    plain_hash: bytes | None
    told_fully: bool
    links_by_script: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report(Findings):
    """What a worker tells the crawl of a page.

    Attributes
    ----------
    segments
        All segments, in document order, as JSON; empty when they were not wanted. One text is sent
        and read in a fraction of the time that hundreds of small objects take.
    plain
        What its plain HTML has of it, where that was asked for and is there.
    """

    segments: str = ""
    plain: PlainLook | None = None

    def segments_for_item(self) -> list[dict[str, Any]]:
        """Return the segments as they are put on an item; each item has its own."""
        found: list[dict[str, Any]] = json.loads(self.segments)
        return found
