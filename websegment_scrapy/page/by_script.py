"""Signs in plain HTML that a page's text is made by its scripts.

They are read before anything is rendered, from the HTML alone. They are stated, not learned: of
pages built by script there are few kinds, and all have in common that little running text is in
the HTML while scripts are, or that an element which a framework fills is empty. A sign is a
suspicion; whether it holds is learned for each site (`store.rendering`). How often both are wrong
is measured (``docs/results.md``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lxml import etree

from websegment_scrapy.page.decode import decode
from websegment_scrapy.page.parse import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["REASONS", "PlainSigns", "read_signs"]

HARDLY_ANY = 10
"""Words of a body without text: a name, "loading …"."""

LITTLE = 150
"""Words of running text up to which the main text may be what is missing. Of articles as they are
8 % have less, of those whose main text was taken out 58 to 82 % (wcxb_dev, dragnet, l3s_gn1)."""

RUNNING = 8
"""Words from which a text that is no link is running text, not a label."""

ROOTS = frozenset(
    "root app __next __nuxt __layout react-root app-root application main-app ember-app q-app "
    "svelte ___gatsby".split()
)
"""What frameworks call the element into which they put what they build."""

REASONS = {
    "": "nothing in its plain HTML speaks for scripts",
    "empty": "it has scripts and hardly any text",
    "root": "an element that a framework fills is empty",
    "asks": "it asks for scripts, and has little running text",
    "little": "it has scripts and little running text",
}
"""What the signs mean."""

_DATA = re.compile(r"json|template|text/html|handlebars|x-tmpl", re.IGNORECASE)
_ASKS = re.compile(r"java\s?script", re.IGNORECASE)
_WORD = re.compile(r"\w++")
_UNSEEN = frozenset(("script", "style", "noscript", "template", "select", "textarea"))
_BLOCKS = frozenset(
    "address article aside blockquote body br button caption center dd details dialog div dl dt "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre "
    "section summary table tbody td tfoot th thead tr ul".split()
)


@dataclass(frozen=True, slots=True)
class PlainSigns:
    """What plain HTML shows of how a page is built.

    Attributes
    ----------
    scripts
        Scripts that run; those that are data are not counted.
    words
        Words of the body.
    running
        Those of them in running text: longer pieces that are no links.
    empty_root
        Whether an element that a framework fills is empty.
    asks
        Whether it tells browsers without scripts of them.
    """

    scripts: int
    words: int
    running: int
    empty_root: bool
    asks: bool

    @property
    def sign(self) -> str:
        """The strongest sign, one of `REASONS`; empty: there is none."""
        if not self.scripts:
            return ""
        if self.words < HARDLY_ANY:
            return "empty"
        if self.empty_root:  # whatever stands around it
            return "root"
        if self.running >= LITTLE:
            return ""
        return "asks" if self.asks else "little"


def read_signs(body: bytes, content_type: str | None = None) -> PlainSigns:
    """Read the signs in a document.

    Raises
    ------
    NotHtml
        If it is something else than a page.
    """
    root = parse_html(decode(body, content_type=content_type))
    words = running = pending = 0
    for ends_block, is_link, text in _pieces(root):
        if ends_block:
            running += pending if pending >= RUNNING else 0
            pending = 0
        number = len(_WORD.findall(text))
        words += number
        pending += 0 if is_link else number
    return PlainSigns(
        scripts=sum(not _DATA.search(each.get("type") or "") for each in root.iter("script")),
        words=words,
        running=running + (pending if pending >= RUNNING else 0),
        empty_root=any(map(_is_empty_root, root.iter(etree.Element))),
        asks=any(_ASKS.search(_text(each)) for each in root.iter("noscript")),
    )


def _pieces(root: etree._Element) -> Iterator[tuple[bool, bool, str]]:
    """Yield the texts of a body: whether a block ends before it, whether it is a link's, itself."""
    links = 0
    ends = False
    for body in root.iter("body"):
        walk = etree.iterwalk(body, events=("start", "end", "comment", "pi"))
        for event, element in walk:
            tag = element.tag
            ends = ends or tag in _BLOCKS
            text = element.tail
            if event == "start":
                if tag in _UNSEEN:
                    walk.skip_subtree()
                else:
                    links += tag == "a"
                    text = element.text
                    if text:
                        yield ends, links > 0, text
                        ends = False
                continue
            if event == "end" and tag == "a":
                links -= 1
            if text and element is not body:
                yield ends, links > 0, text
                ends = False
        return


def _is_empty_root(element: etree._Element) -> bool:
    name = (element.get("id") or "").lower()
    if name not in ROOTS and element.tag not in ROOTS:
        return False
    return len(_WORD.findall(_text(element))) < HARDLY_ANY


def _text(element: etree._Element) -> str:
    return "".join(str(piece) for piece in element.itertext())
