"""The texts that a page tells machines: what its JSON-LD scripts say it is about.

Pages that show their text only after a script ran, or behind a "read more", often have it there in
full: an article's ``articleBody``, a product's ``description``, the ``text`` of a posting.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BODY", "told_texts", "told_types"]

BODY = "articleBody"
KEYS = (BODY, "description", "text", "reviewBody")
MARKER = "schema.org"
MIN_CHARACTERS = 40  # of a text; shorter ones are names and labels
MAX_CHARACTERS = 1_000_000
"""Characters of one script that are searched."""

_CHARACTERS = rf'(?=(?:[^"\\]|\\.){{{MIN_CHARACTERS}}})((?:[^"\\]++|\\.)*+)'
_TEXT = re.compile(rf'"({"|".join(KEYS)})"\s*+:\s*+"{_CHARACTERS}"')
_TYPE = re.compile(r'"@type"\s*+:\s*+(?:"(\w{1,40})"|\[([^\[\]]{1,200})\])')
_TYPE_NAME = re.compile(r"\w{1,40}+")
_TAG = re.compile(r"<[^<>]{0,500}>")
_SURROGATES = re.compile("[\ud800-\udfff]")
_LONG_NUMBER = re.compile(r"&#[0-9]{8,}+;?+")
"""A reference to no character, however it goes on: Python refuses to read thousands of digits."""


def told_texts(scripts: Sequence[str], keys: Sequence[str] = KEYS) -> list[str]:
    """Return the texts under some keys in the scripts that use the terms of schema.org.

    Scripts are searched, not parsed: many are broken, and a search never fails.
    """
    found = []
    for script in scripts:
        if MARKER not in script[:MAX_CHARACTERS]:
            continue
        for key, value in _TEXT.findall(script[:MAX_CHARACTERS]):
            if key in keys:
                found.append(_plain(value))
    return found


def told_types(scripts: Sequence[str]) -> set[str]:
    """Return what scripts in the terms of schema.org say that there is, in lower case.

    ``{"discussionforumposting", "person"}``; of a page that tells several types in one list all.
    """
    found: set[str] = set()
    for script in scripts:
        if MARKER not in script[:MAX_CHARACTERS]:
            continue
        for one, several in _TYPE.findall(script[:MAX_CHARACTERS]):
            found.update(_TYPE_NAME.findall((one or several).lower()))
    return found


def _plain(value: str) -> str:
    """Undo the escapes of JSON and of HTML, and leave out tags."""
    if "\\" in value:
        try:
            value = json.loads(f'"{value}"', strict=False)
        except ValueError:
            value = value.replace("\\n", " ").replace("\\", "")
    value = _SURROGATES.sub("\ufffd", value)
    if "<" in value or "&" in value:
        value = html.unescape(_LONG_NUMBER.sub("\ufffd", _TAG.sub(" ", value)))
    return " ".join(_TAG.sub(" ", value).split())
