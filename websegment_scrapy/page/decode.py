"""Bytes of a response to text: what it is, and in which encoding.

Encodings are resolved as Scrapy does (byte order mark, HTTP header, ``meta`` element, then UTF-8,
then charset-normalizer's guess), but only those that the web has: Python knows codecs that are no
encoding of text (``rot13``, ``hex``) or that fail on most bytes (``idna``, ``undefined``), and a
page may name any of them. The kind of document is decided by its bytes, because content types lie;
what they say counts for bytes that show no page. All of it takes linear time:
`is_plainly_not_html` runs in the crawl's event loop.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
    to_unicode,
)

from websegment_scrapy.exceptions import NotHtml

__all__ = [
    "FORMATS",
    "SNIFFED_BYTES",
    "OtherFormat",
    "decode",
    "format_of",
    "is_plainly_not_html",
    "refuse_other_formats",
]

SNIFFED_BYTES = 1024
BINARY_SHARE = 0.1
"""Share of control bytes in the start of a body above which it is binary."""

GUESSED_BYTES = 2**22
"""Bytes of a body by which an undeclared encoding is guessed: a guess takes 0.2 s for a million."""

WEB_ENCODINGS = frozenset(
    "utf-8 utf-8-sig utf-16 utf-16-be utf-16-le cp866 iso8859-2 iso8859-3 iso8859-4 iso8859-5 "
    "iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r "
    "koi8-u mac-roman mac-cyrillic cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 "
    "cp1258 gb18030 hz big5hkscs euc_jp iso2022_jp cp932 cp949 iso2022_kr".split()
)
"""The encodings of the WHATWG Encoding Standard, section 4.2, by the names of Python's codecs that
w3lib resolves their labels to; with two that browsers have given up and old pages still use."""

_MAGIC = (
    (b"%PDF-", "a PDF document", "document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image", "image"),
    (b"\xff\xd8\xff", "a JPEG image", "image"),
    (b"GIF87a", "a GIF image", "image"),
    (b"GIF89a", "a GIF image", "image"),
    (b"PK\x03\x04", "a ZIP archive", "archive"),
    (b"\x1f\x8b", "gzip data", "archive"),
    (b"BM", "a bitmap image", "image"),
    (b"\x00\x00\x01\x00", "an icon", "image"),
    (b"OggS", "Ogg media", "media"),
    (b"ID3", "MP3 audio", "media"),
    (b"{\\rtf", "an RTF document", "document"),
    (b"\xd0\xcf\x11\xe0", "an Office document", "document"),
)
_WEAK_MAGIC = frozenset({b"BM", b"ID3"})
_CONTROL = bytes({*range(9), *range(14, 27), *range(28, 32)})
_XML_ROOT = re.compile(
    # Nothing is tried twice: what stands before the root is taken possessively.
    r"(?:\s++|<\?xml[^>]*+(?<=\?)>|<!--(?>.*?-->)|<!doctype[^>\[]*+(?:\[[^\]]*+\]\s*+)?+>)*+"
    r"<(?:[\w.-]++:)?+([a-z][\w.-]*+)",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_XML = {
    "rss": ("an RSS feed", "feed"),
    "feed": ("an Atom feed", "feed"),
    "rdf": ("an RDF feed", "feed"),
    "urlset": ("a sitemap", "sitemap"),
    "sitemapindex": ("a sitemap index", "sitemap"),
    "svg": ("an SVG image", "image"),
}
_DECLARED = (
    ("json", "JSON", "json"),
    ("application/pdf", "a PDF document", "document"),
    ("image/", "an image", "image"),
    ("audio/", "audio", "media"),
    ("video/", "video", "media"),
    ("font/", "a font", "binary"),
    ("text/css", "a style sheet", "text"),
    ("text/csv", "CSV", "text"),
    ("javascript", "a script", "text"),
    ("rss+xml", "an RSS feed", "feed"),
    ("atom+xml", "an Atom feed", "feed"),
    ("xml", "XML", "xml"),
)
"""Content types, by a part of their names, of what is no page unless its bytes look like one."""

_SIGNS = ("<html", "<!doctype html", "<body", "<head")
_TAG = re.compile(r"<[a-zA-Z!/]")


FORMATS = frozenset(
    {kind for *_, kind in (*_MAGIC, *_OTHER_XML.values(), *_DECLARED)} | {"binary", "json"}
)
"""The kinds of formats that are told apart in counts."""


@dataclass(frozen=True, slots=True)
class OtherFormat:
    """What a response is that is no page: its kind, one of `FORMATS`, and the sentence."""

    kind: str
    reason: str


def decode(body: bytes, *, content_type: str | None = None, encoding: str | None = None) -> str:
    """Return the text of an HTML body.

    Parameters
    ----------
    body
        The bytes as they came.
    content_type
        The HTTP header, if there was one.
    encoding
        An encoding that is already known (``response.encoding``); it wins.

    Raises
    ------
    NotHtml
        If the bytes are an image, an archive, a PDF or other binary data.
    """
    _refuse_binary(body)
    marked, mark = read_bom(body)
    if marked is not None and mark is not None:
        return to_unicode(body[len(mark) :], marked)
    found = (
        _of_the_web(encoding and resolve_encoding(encoding))
        or _of_the_web(http_content_type_encoding(content_type))
        or _of_the_web(html_body_declared_encoding(body))
        or _guess(body)
        or "utf-8"
    )
    # Without a mark UTF-16 and UTF-32 are big-endian, as they are for Scrapy.
    return to_unicode(body, f"{found}-be" if found in ("utf-16", "utf-32") else found)


def is_plainly_not_html(start: bytes) -> bool:
    """Tell from the first ``SNIFFED_BYTES`` of a body that it cannot be a page.

    For those who must decide before anything is decoded: a browser would show it as garbage.
    """
    try:
        _refuse_binary(start)
    except NotHtml:
        return True
    text = start[:SNIFFED_BYTES].decode("latin-1").lstrip("\ufeffï»¿ \t\r\n\f")
    if text[:1] in ("{", "[") and _TAG.search(text) is None:
        return True
    return _other_xml(text) is not None


def format_of(body: bytes, content_type: str | None = None) -> OtherFormat | None:
    """Return what a body is that is no page, as far as its start and its content type tell.

    For those who count what they leave aside: plain text counts as text here.
    """
    start = body[:SNIFFED_BYTES]
    try:
        _refuse_binary(start)
    except NotHtml as error:
        return OtherFormat(error.kind, str(error))
    text = start.decode("latin-1").lstrip("\ufeffï»¿ \t\r\n\f")
    has_tag = _TAG.search(text) is not None
    found = _other_xml(text) or _declared(text, content_type)
    if found is None and text[:1] in ("{", "[") and not has_tag:
        found = "JSON", "json"
    if found is None and not has_tag and (content_type or "").strip().startswith("text/plain"):
        found = "plain text", "text"
    return None if found is None else OtherFormat(found[1], f"not HTML but {found[0]}")


def refuse_other_formats(text: str, content_type: str | None = None) -> None:
    """Raise ``NotHtml`` for JSON, feeds and other XML that is no page."""
    start = text[:SNIFFED_BYTES].lstrip("\ufeff \t\r\n\f")
    if start[:1] in ("{", "[") and _is_json(text):
        raise _not_html("JSON", "json")
    found = _other_xml(start) or _declared(start, content_type)
    if found is not None:
        raise _not_html(*found)


def _declared(start: str, content_type: str | None) -> tuple[str, str] | None:
    """Return what the content type says, where nothing in the bytes speaks for a page."""
    declared = (content_type or "").partition(";")[0].strip().lower()
    if "html" in declared or any(sign in start.lower() for sign in _SIGNS):
        return None
    return next(((what, kind) for name, what, kind in _DECLARED if name in declared), None)


def _not_html(what: str, kind: str) -> NotHtml:
    return NotHtml(f"not HTML but {what}", kind)


def _other_xml(start: str) -> tuple[str, str] | None:
    match = _XML_ROOT.match(start)
    return _OTHER_XML.get(match[1].lower()) if match else None


def _refuse_binary(body: bytes) -> None:
    start = body[:SNIFFED_BYTES]
    for magic, what, kind in _MAGIC:
        if start.startswith(magic) and (magic not in _WEAK_MAGIC or b"<" not in start):
            raise _not_html(what, kind)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        raise _not_html("a WebP image", "image")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return  # UTF-16 with its mark: every second byte may be NUL
    lowered = start.lower()
    if b"<html" in lowered or b"<!doctype html" in lowered or b"<body" in lowered:
        return
    if start.count(b"\0") * 2 >= len(start) - 2 and _looks_like_utf16(start):
        return
    control = len(start) - len(start.translate(None, _CONTROL))
    if start and control > BINARY_SHARE * len(start):
        raise _not_html("binary data", "binary")


def _looks_like_utf16(start: bytes) -> bool:
    return b"<\0h\0t\0" in start.lower() or b"\0<\0h\0t" in start.lower()


def _of_the_web(encoding: str | None) -> str | None:
    """Return an encoding that a page may have; any other counts as undeclared."""
    return encoding if encoding in WEB_ENCODINGS else None


def _guess(body: bytes) -> str | None:
    """Guess an undeclared encoding as Scrapy's ``TextResponse`` does."""
    try:
        body.decode("utf-8")
    except UnicodeError:
        match = from_bytes(body[:GUESSED_BYTES]).best()
        return resolve_encoding(match.encoding) if match else None
    return "utf-8"


def _is_json(text: str) -> bool:
    if _TAG.search(text[:SNIFFED_BYTES]) is None and text.rstrip()[-1:] in ("}", "]"):
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
