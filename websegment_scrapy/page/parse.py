"""HTML text to an lxml tree, whatever the text is like.

libxml2 (2.14) stops reading a document at 2,048 levels of nesting and silently drops all that
follows; such a document is flattened first (`markup.limit_depth`), so that its text survives. The
time it takes for a tag grows with the square of its attributes; no more of them are read than any
page means (`markup.limit_attributes`).
"""

from __future__ import annotations

import re

from lxml import etree

from websegment_scrapy.page.markup import limit_attributes, limit_depth
from websegment_scrapy.page.tags import UNKNOWN_VOID

__all__ = ["parse_html"]

_TOO_DEEP = "depth"
_NO_MEMORY = etree.ErrorTypes.ERR_NO_MEMORY
_EMPTY = b"<html><body></body></html>"
_SURROGATES = re.compile("[\ud800-\udfff]")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that lxml takes from a document but not from us."""

_TITLE = re.compile(r"<title\b", re.IGNORECASE)
_TITLE_END = re.compile(r"</title", re.IGNORECASE)


def parse_html(text: str) -> etree._Element:
    """Return the root element of ``text``; an empty document where there is nothing."""
    text = limit_attributes(_close_title(text))
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
    start = -1 if match is None else text.find(">", match.end())
    if start < 0 or _TITLE_END.search(text, start):
        return text
    end = text.find("<", start)
    return text if end < 0 else f"{text[:end]}</title>{text[end:]}"


def _empty_void_elements(root: etree._Element) -> None:
    """Put what libxml2 took into an ``embed`` or ``wbr`` behind it, where browsers have it."""
    for element in list(root.iter(*UNKNOWN_VOID)):
        parent = element.getparent()
        if parent is None or (element.text is None and not len(element)):
            continue
        after, tail = element, element.tail
        element.tail, element.text = _settable(element.text), None
        for child in list(element):
            after.addnext(child)  # takes the tail along
            after = child
        if tail:
            after.tail = _settable((after.tail or "") + tail)


def _settable(text: str | None) -> str | None:
    """Return a text without the control characters that lxml refuses to be given."""
    return _NO_XML.sub("", text) if text else text


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
        root = None
    if parser.error_log.filter_from_errors().filter_types(_NO_MEMORY):
        raise MemoryError  # or a document that was read in part would pass for all of it
    return root, _too_deep(parser)


def _too_deep(parser: etree.HTMLParser) -> bool:
    return any(
        _TOO_DEEP in entry.message.lower() for entry in parser.error_log.filter_from_fatals()
    )
