r"""Texts of strangers' pages as people may see them: nothing in them is obeyed.

What a terminal or a browser would obey instead of showing it (escape sequences, marks that turn the
direction of a line) is written as ``\x1b``, ``\u202e`` and so on.
"""

from __future__ import annotations

import re

__all__ = ["as_json_text", "printable", "printable_text", "shortened"]

_TURNING = "\u2028\u2029\u202a-\u202e\u2066-\u2069"
"""Line and paragraph separator, embeddings, overrides and isolates of direction."""

_CONTROL_IN_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_TURNING}]")
_OBEYED_IN_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff{_TURNING}]")


def printable(text: object) -> str:
    """Return a text as one line in which a terminal finds nothing to obey."""
    return _OBEYED_IN_LINE.sub(_escape, str(text))


def printable_text(text: str, *, terminal: bool) -> str:
    """Return a text of many lines without control characters but line break and tab.

    Marks of direction are part of the text, as Arabic and Hebrew have them; only on a terminal they
    are shown instead.
    """
    obeyed = _OBEYED if terminal else _CONTROL_IN_TEXT
    return obeyed.sub(_escape, text.replace("\r\n", "\n"))


def shortened(text: object, characters: int) -> str:
    """Return a text as one line of at most so many characters, blanks counted once.

    Only the beginning of a long text is looked at: titles of a megabyte cost nothing.
    """
    text = str(text)[: 4 * characters]
    line = printable(" ".join(text.split()))
    return line if len(line) <= characters else line[: characters - 1] + "…"


def as_json_text(written: str) -> str:
    """Escape in a JSON text what a terminal would obey."""
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
