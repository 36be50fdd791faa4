"""What a page's plain HTML says, hashed without what differs from request to request.

Whether a page has changed can be known without a browser if its plain HTML tells what it says. So
two things are asked of a page that was rendered: the hash of its plain HTML, and how much of its
main text stands in there.

Noise of a request is in attributes (nonces, tokens of forms, sessions and versions in addresses),
comments, scripts and styles, and in words that are numbers of something: only the words of the text
are hashed, without long ones of letters and digits. Figures are no noise: a price or a time may be
what a page is for. Where the text is not in the HTML's own text but in its scripts, as data from
which a page builds itself, the words of the scripts are hashed as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from websegment_scrapy.page.decode import decode
from websegment_scrapy.page.parse import parse_html
from websegment_scrapy.page.words import NORMALISER_VERSION, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml import etree

__all__ = ["FULLY", "PARTLY", "PlainHtml", "has_more_links", "share_told", "tells_lines"]

VERSION = 16 * NORMALISER_VERSION + 1
"""Goes into the hashes; raised whenever other words are hashed."""

WINDOW = 3
"""Words that must stand together: single ones are in any large script."""

PARTLY = 0.8
"""Share of the main text below which plain HTML tells nothing of a page,"""

FULLY = 0.98
"""and from which it tells all: the rest are words that a script counts or translates."""

MORE_LINKS = 0.2
"""Share of a page's links to its own site that must be a script's to matter,"""

FEW_LINKS = 5
"""and their number: buttons for sharing and logging in are on many pages."""

LONG_WORD = 16
"""Characters from which a word of letters and digits is a number of something."""

_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_ESCAPE = re.compile(r"\\[nrtbf\"'/\\]")
_TAG = re.compile(r"<[^<>]*+>")


@dataclass(frozen=True, slots=True)
class PlainHtml:
    """The words of a plain HTML document: of its text, and of its scripts."""

    text: list[str]
    scripts: list[str]
    links: frozenset[str]

    @classmethod
    def read(cls, body: bytes | str, *, content_type: str | None = None) -> PlainHtml:
        """Read a document.

        Raises
        ------
        NotHtml
            If it is something else than a page.
        """
        if isinstance(body, bytes):
            body = decode(body, content_type=content_type)
        root = parse_html(body)
        text: list[str] = []
        scripts: list[str] = []
        for is_script, piece in _pieces(root):
            (scripts if is_script else text).append(_unescaped(piece) if is_script else piece)
        links = {(link.get("href") or "").partition("#")[0].strip() for link in root.iter("a")}
        return cls(_without_ids(text), _without_ids(scripts), frozenset(links - {""}))

    def hashes(self) -> tuple[bytes, bytes]:
        """Return the hash of the text, and that of text and scripts."""
        return _hash(self.text), _hash([*self.text, "script", *self.scripts])

    def hash_that_tells(self, main_text: str) -> tuple[bytes | None, float]:
        """Return the hash of what tells a main text, if anything does, and the share it tells."""
        for found, hashed in zip(
            (self.text, [*self.text, *self.scripts]), self.hashes(), strict=True
        ):
            share = share_told(main_text, found) or 0.0
            if share >= PARTLY:
                return hashed, share
        return None, share


def share_told(main_text: str, found: list[str]) -> float | None:
    """Return the share of a text, by its runs of `WINDOW` words, that is among other words.

    ``None``: the text has no such run.
    """
    wanted = words(main_text)
    windows = set(_runs(wanted, WINDOW))
    there = windows.intersection(_runs(found, WINDOW))
    return len(there) / len(windows) if windows else None


def tells_lines(found: list[str], main_text: str) -> bool:
    """Say whether words tell a text, whatever the order in which its lines stand there.

    A browser shows the lines of a list, a table or a product in another order than the HTML has
    them, with others between them, or without some; that is no script's work. So runs of words do
    not cross lines, and a line of fewer than `WINDOW` words is one run.
    """
    runs: set[tuple[str, ...]] = set()
    for line in main_text.splitlines():
        wanted = words(line)
        runs.update(_runs(wanted, min(WINDOW, len(wanted))))
    there = {run for size in range(1, WINDOW + 1) for run in _runs(found, size)}
    return len(runs & there) >= PARTLY * len(runs)


def _runs(of: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """Yield the runs of so many words."""
    return zip(*(of[start:] for start in range(size)), strict=False)


def has_more_links(links: frozenset[str], known: frozenset[str], url: str) -> bool:
    """Say whether a page has many more links to its own site than are known of it."""
    host = urlsplit(url).netloc
    own = {link for link in links if _host(link) in ("", host)}
    more = own - known
    return len(more) > max(FEW_LINKS, MORE_LINKS * len(own))


def _host(link: str) -> str | None:
    """Return the host of a link: empty for one within the site, ``None`` for no page."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    return parts.netloc if parts.scheme in ("", "http", "https") else None


def _pieces(root: etree._Element) -> Iterator[tuple[bool, str]]:
    """Yield the texts of a document, and whether they are a script's."""
    for element in root.iter():
        tag = element.tag
        if isinstance(tag, str) and tag != "style" and element.text:
            yield tag == "script", element.text
        if element.tail:
            yield False, element.tail


def _unescaped(script: str) -> str:
    """Return the texts in a script as a reader would have them."""
    script = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), script)
    return _TAG.sub(" ", _ESCAPE.sub(" ", script))


def _without_ids(pieces: list[str]) -> list[str]:
    """Return the words of texts without those that are numbers of something."""
    return [
        word
        for word in words(" ".join(pieces))
        if len(word) < LONG_WORD or word.isalpha() or word.isdigit()
    ]


def _hash(found: list[str]) -> bytes:
    joined = f"{VERSION} {' '.join(found)}".encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=16).digest()
