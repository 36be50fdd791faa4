"""HTML text to an lxml tree, whatever the text is like.

libxml2 (2.14) stops reading a document at 2,048 levels of nesting and silently drops all that
follows; such a document is flattened first, so that its text survives.
"""

from __future__ import annotations

import re

from lxml import etree

from websegment_scrapy.page.tags import VOID

__all__ = ["parse_html"]

MAX_DEPTH = 1000
"""Nesting kept of a document that is too deep for the parser."""

UNKNOWN_VOID = ("bgsound", "embed", "keygen", "source", "track", "wbr")
"""Elements without an end tag that libxml2 does not know as such."""

_TOO_DEEP = "depth"
_EMPTY = b"<html><body></body></html>"
_SURROGATES = re.compile("[\ud800-\udfff]")
_TITLE = re.compile(r"<title\b[^>]*>", re.IGNORECASE)
_TITLE_END = re.compile(r"</title", re.IGNORECASE)
_TAG = re.compile(
    r"<!--.*?-->|<(script|style|textarea|title)\b.*?</\1\s*>|"
    r"<(/?)([a-zA-Z][^\s/>]*)(?:[^>\"']|\"[^\"]*\"|'[^']*')*>",
    re.DOTALL | re.IGNORECASE,
)


def parse_html(text: str) -> etree._Element:
    """Return the root element of ``text``; an empty document where there is nothing."""
    text = _close_title(text)
    data = _to_bytes(text)
    root, too_deep = _parse(data)
    if too_deep:
        root, _ = _parse(_to_bytes(limit_depth(text)))
    if root is None:
        root, _ = _parse(_EMPTY)
    assert root is not None
    _empty_void_elements(root)
    return root


def _close_title(text: str) -> str:
    """End a title that never ends where the next tag begins: it would swallow the whole page."""
    match = _TITLE.search(text)
    if match is None or _TITLE_END.search(text, match.end()):
        return text
    end = text.find("<", match.end())
    return text if end < 0 else f"{text[:end]}</title>{text[end:]}"


def limit_depth(text: str, depth: int = MAX_DEPTH) -> str:
    """Remove the tags, not the text, of elements nested deeper than ``depth``."""
    open_tags = 0

    def keep(match: re.Match[str]) -> str:
        nonlocal open_tags
        name = match[3]
        if name is None or name.lower() in VOID:
            return match[0]
        if match[2]:
            open_tags = max(0, open_tags - 1)
            return match[0] if open_tags < depth else " "
        open_tags += 1
        return match[0] if open_tags <= depth else " "

    return _TAG.sub(keep, text)


def _empty_void_elements(root: etree._Element) -> None:
    """Put what libxml2 took into an ``embed`` or ``wbr`` behind it, where browsers have it."""
    for element in list(root.iter(*UNKNOWN_VOID)):
        parent = element.getparent()
        if parent is None or (element.text is None and not len(element)):
            continue
        after, tail = element, element.tail
        element.tail, element.text = element.text, None
        for child in list(element):
            after.addnext(child)  # takes the tail along
            after = child
        if tail:
            after.tail = (after.tail or "") + tail


def _to_bytes(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = _SURROGATES.sub("\ufffd", text).encode()
    return data.replace(b"\0", b"") if b"\0" in data else data


def _parse(data: bytes) -> tuple[etree._Element | None, bool]:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_pis=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None, _too_deep(parser)
    return root, _too_deep(parser)


def _too_deep(parser: etree.HTMLParser) -> bool:
    return any(
        _TOO_DEEP in entry.message.lower() for entry in parser.error_log.filter_from_fatals()
    )
