"""The pages that ``websegment bench crawl`` crawls: most as they are, some built by script.

A page built by script has the same content: what was in its body is a text in a script, which
writes it into an empty element once the document has been read. Some pages are there twice, on
another site, to be found as duplicates; one of the two may be built by script.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from websegment_scrapy.bench.made_pages import COPIED, made_pages
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.extraction import extract
from websegment_scrapy.measure.sites import with_local_files
from websegment_scrapy.page.decode import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.measure.sites import CrawledSite

__all__ = ["SCRIPTED", "MixedPage", "by_script", "made_mix", "real_mix"]

SCRIPTED = 0.2
"""Share of the pages that are built by script."""

_MARK = "\ufeff".encode()
"""The byte order mark, which says UTF-8 louder than anything else in the document."""


@dataclass(frozen=True, slots=True)
class MixedPage:
    """A page as it is served.

    Attributes
    ----------
    site, path, body
        Where it is, and what is sent.
    text
        The main text of the page that it was made of.
    scripted
        Whether a script builds it.
    copy_of
        The number of the page that it repeats.
    files
        The folder with what it loads, if there is one.
    """

    site: str
    path: str
    body: bytes
    text: str
    scripted: bool
    copy_of: int | None = None
    files: str | None = None


def by_script(html: str) -> bytes:
    """Return a document whose body is written by a script, with the same content in the end."""
    data = html.removeprefix("\ufeff").encode("utf-8", "replace")
    lowered = data.lower()  # of bytes: as long as before
    start = max(_body(lowered), lowered.find(b"</head"))
    at = lowered.find(b">", start) + 1 if start >= 0 else 0
    end = lowered.rfind(b"</body")
    end = end if end > at else len(data)
    told = json.dumps(data[at:end].decode()).replace("<", "\\u003c")
    script = (
        '<div id="root"></div><script>document.addEventListener("DOMContentLoaded", () => {'
        f'document.getElementById("root").innerHTML = {told};}});</script>'
    )
    return _MARK + data[:at] + script.encode() + data[end:]


def _body(lowered: bytes) -> int:
    """Return where the body's tag is, -1 if it has none; one in a comment is none."""
    found = lowered.find(b"<body")
    while found >= 0 and lowered.rfind(b"<!--", 0, found) > lowered.rfind(b"-->", 0, found):
        found = lowered.find(b"<body", found + 1)
    return found


def made_mix(count: int, seed: int) -> list[MixedPage]:
    """Return a mix of pages that are made from a seed (`made_pages`)."""
    chooser = random.Random(f"mix {seed}")
    found = []
    for page in made_pages(count, seed):
        scripted = chooser.random() < SCRIPTED
        body = by_script(page.html) if scripted else page.html.encode()
        found.append(MixedPage(page.site, page.path, body, page.text, scripted, page.copy_of))
    return found


def real_mix(sites: Sequence[CrawledSite], count: int, seed: int) -> list[MixedPage]:
    """Return a mix of pages of crawled sites, some of them also on a mirror of their site.

    The main text of a page is the one that is found in it as it was, without a browser; a page
    that is none has no place here.
    """
    chooser = random.Random(f"mix {seed}")
    pages = [(site, page) for site in sites for page in site.pages]
    chooser.shuffle(pages)
    found: list[MixedPage] = []
    for site, page in pages:
        if len(found) >= count:
            break
        body = with_local_files(site, page)
        try:
            html = decode(body)
            text = extract(body).main_text
        except AnalysisError:
            continue
        path = "/" + page.path.relative_to(site.folder).as_posix()
        is_copied = chooser.random() < COPIED / (1 - COPIED) and len(found) + 1 < count
        names = (site.name, f"{site.name}-mirror") if is_copied else (site.name,)
        original = len(found)
        for number, name in enumerate(names):
            scripted = chooser.random() < SCRIPTED and b"<frameset" not in body.lower()
            sent = by_script(html) if scripted else body
            copy_of = original if number else None
            found.append(MixedPage(name, path, sent, text, scripted, copy_of, str(site.folder)))
    return found
