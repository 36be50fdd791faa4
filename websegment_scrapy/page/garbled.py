"""UTF-8 that a browser read as Western European, because the page does not say how it is encoded.

Or it says so too late: after 1024 bytes, or in the midst of its body, no browser listens. The HTML
standard has browsers take such a page for windows-1252 in most languages (section 13.2.3.2), and
Chromium never guesses UTF-8 for what came from a server. A reader who sees that goes on; a crawl
that reads the same page without a browser finds its text (`decode`), and both must be the same
text. The browser loses no byte, so what it shows is turned back. What the page's scripts write is
no UTF-8 when it is turned back, and stays.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from w3lib.encoding import http_content_type_encoding

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["is_undeclared", "ungarbled"]


def _characters() -> dict[int, int]:
    """Return the byte that windows-1252 has for a character, as the Encoding Standard has it."""
    found = {}
    for byte in range(0x80, 0x100):
        character = bytes([byte]).decode("cp1252", "ignore") or chr(byte)
        found[ord(character)] = byte
    return found


_BYTES = _characters()
_SEQUENCE = r"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
_STRETCH = re.compile(rf"(?:>[ \t\n\r\f\v]*+)?+(?:{_SEQUENCE})(?:[\x00-\x7f]|{_SEQUENCE})*+")
"""UTF-8 from its first character of several bytes on, or from the beginning of a text with it."""

_BLANK = "\xa0\u200b\ufeff"
_BLANK_TEXT = re.compile(rf"(?<=>)[ \t\n\r\f\v]*+[{_BLANK}][ \t\n\r\f\v{_BLANK}]*+(?=<)")
_JOINER = "\u2060"
"""Stands for what turns out to be blank: it is no word, and the layout counts a text there."""


def is_undeclared(headers: Iterable[tuple[str, str]]) -> bool:
    """Say whether no header of a response says how it is encoded."""
    return not any(
        http_content_type_encoding(value)
        for name, value in headers
        if name.lower() == "content-type"
    )


def ungarbled(html: str) -> str:
    """Return HTML as a browser serialised it, with its UTF-8 read as UTF-8."""
    if html.isascii():
        return html
    html = html.replace("&nbsp;", "\xa0")  # serialised so, and one byte of many characters
    found, end = StringIO(), 0
    for match in _STRETCH.finditer(html.translate(_BYTES)):
        text = match[0].encode("latin-1").decode("utf-8", "replace")
        found.write(html[end : match.start()])
        found.write(_BLANK_TEXT.sub(_JOINER, text))
        end = match.end()
    found.write(html[end:])
    return found.getvalue()
