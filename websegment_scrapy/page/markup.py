"""Markup cut to what the parser can take, in linear time, before it is parsed.

Both functions read the text as a tokeniser does, from tag to tag and never back; what is broken (a
quote, a comment or a script without an end) costs one look to the end of the text, not one for
each time it occurs.
"""

from __future__ import annotations

import re

from websegment_scrapy.page.tags import UNKNOWN_VOID, VOID

__all__ = ["MAX_ATTRIBUTES", "MAX_DEPTH", "limit_attributes", "limit_depth"]

MAX_DEPTH = 1000
"""Nesting kept of a document that is too deep for the parser."""

MAX_ATTRIBUTES = 1000
"""Attributes kept of a tag; libxml2 takes 1 ms for so many, and 8 s for eighty times as many."""

LONG_TAG = 2 * MAX_ATTRIBUTES
"""Characters that so many attributes have at least."""

_RAW = frozenset({"script", "style", "textarea", "title"})
_TAG = re.compile(r"<[a-zA-Z]")
_START = re.compile(r"<(?:(!--)|(/?)([a-zA-Z][^\s/>]*+))")
_REST_OF_TAG = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")
_ATTRIBUTE = (
    r"""[\s/]*+(?=[^\s/>])=?+[^\s/>=]*+"""
    r"""(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+"""
)
_FEW = rf"(?:{_ATTRIBUTE}){{0,{MAX_ATTRIBUTES}}}+(?![\s/]*+[^\s/>])"
_RAW_TEXT = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_RAW_ELEMENTS = "|".join(
    rf"<(?i:{name})(?=[\s/>]){_FEW}[^<]*+(?:<(?!/(?i:{name}))[^<]*+)*+" for name in _RAW_TEXT
)
_ANY_RAW = rf"<(?i:{'|'.join(_RAW_TEXT)})[\s/>]"
_ORDINARY = re.compile(
    # Groups inside of what is possessive would be wrong in Python 3.11.
    rf"(?:[^<]++|(?={_ANY_RAW})(?:{_RAW_ELEMENTS})|(?!{_ANY_RAW})<[a-zA-Z][^\s/>]*+{_FEW}"
    r"|<!--(?:[^-]++|-(?!->))*+|<(?![a-zA-Z]|!--))*+"
)
"""Markup up to a tag with too many attributes: start tags as the HTML standard's tokeniser reads
them (section 13.2.5), and the text of elements whose text is no markup."""

_TOO_MANY = re.compile(
    rf"(<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE}){{{MAX_ATTRIBUTES}}}+)(?:{_ATTRIBUTE})*+"
)


_ENDS_IN_VALUE = re.compile(r"""=\s*+(?=("[^">]*+>|'[^'>]*+>))""")
"""A quoted value with a ">" in it."""


def limit_attributes(text: str) -> str:
    """Cut off what a tag has beyond `MAX_ATTRIBUTES`."""
    # Such a tag is long, or it has a ">" in its values, which are then quoted.
    return _limited(text) if _has_long_tag(text) or _may_go_on(text) else text


def _has_long_tag(text: str) -> bool:
    """Say whether from some tag to the next ">" there may be room for too many attributes."""
    at = 0
    while len(text) - at >= LONG_TAG:
        close = text.rfind(">", at, at + LONG_TAG)
        if close < 0:
            close = text.find(">", at + LONG_TAG)
            close = len(text) if close < 0 else close
            tag = _TAG.search(text, at, close - LONG_TAG + 2)
            if tag is not None and _may_have_many(text[tag.start() : close]):
                return True
        at = close + 1
    return False


def _may_have_many(tag: str) -> bool:
    """Say whether there is enough in a tag to part so many attributes: a long value is not it."""
    marks = sum(map(tag.count, "/\"'="))
    return marks + len(tag.split()) >= MAX_ATTRIBUTES


def _limited(text: str) -> str:
    """Read all tags, and cut those with too many attributes."""
    pieces: list[str] = []
    at = 0
    while (end := _ordinary_end(text, at)) < len(text):
        long = _TOO_MANY.match(text, end)
        if long is None:
            break
        pieces += (text[at:end], long[1])
        at = long.end()
    return "".join((*pieces, text[at:])) if pieces else text


def _may_go_on(text: str) -> bool:
    """Say whether some tag may have many attributes around quoted values with a ">" in them.

    There are none where what stands around each such value, from the last ">" before it to the
    first behind it, is too short for them, and no two such values can be of one tag.
    """
    ends: set[int] = set()
    for match in _ENDS_IN_VALUE.finditer(text):
        quote, inner = match.start(1), match.end(1) - 1
        close = text.find(text[quote], inner)
        end = text.find(">", close) if close >= 0 else -1
        around = match.start() - text.rfind(">", 0, quote) + end - close
        if end < 0 or inner in ends or around >= MAX_ATTRIBUTES:
            return True
        ends.add(end)
    return False


def _ordinary_end(text: str, start: int) -> int:
    ordinary = _ORDINARY.match(text, start)
    assert ordinary is not None  # it may be empty
    return ordinary.end()


def limit_depth(text: str, depth: int = MAX_DEPTH) -> str:
    """Remove the tags, not the text, of elements nested deeper than ``depth``.

    Elements without an end tag that libxml2 does not know as such get one, or each would hold all
    that follows.
    """
    pieces: list[str] = []
    done = at = open_tags = 0
    markup = _Markup(text)
    while (match := _START.search(text, at)) is not None:
        name = "" if match[3] is None else match[3].lower()
        end = markup.end_of(match, name)
        at = match.end() if end < 0 else end
        if end < 0 or not name or (name in _RAW and not match[2]):
            continue
        if name in VOID:
            if name in UNKNOWN_VOID and not match[2]:
                pieces += (text[done:at], f"</{name}>")
                done = at
            continue
        if match[2]:
            open_tags = max(0, open_tags - 1)
            keep = open_tags < depth
        else:
            open_tags += 1
            keep = open_tags <= depth
        if not keep:
            pieces += (text[done : match.start()], " ")
            done = at
    return "".join((*pieces, text[done:]))


class _Markup:
    """Finds the ends of comments, scripts and tags; remembers of which there are none left."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.without_end: set[str] = set()
        self.quotes = True

    def end_of(self, match: re.Match[str], name: str) -> int:
        """Return where the markup that begins with ``match`` ends; -1 if it does not."""
        if match[1]:
            return self._after("-->", re.compile("-->"), match.end())
        if name in _RAW and not match[2]:
            end = self._after(name, re.compile(rf"</{name}\s*+>", re.IGNORECASE), match.end())
            if end >= 0:
                return end
        if self.quotes:
            rest = _REST_OF_TAG.match(self.text, match.end())
            if rest is not None:
                return rest.end()
            self.quotes = False  # one that never ends: from here on a tag ends at its first ">"
        return self.text.find(">", match.end()) + 1 or -1

    def _after(self, what: str, end: re.Pattern[str], start: int) -> int:
        if what in self.without_end:
            return -1
        found = end.search(self.text, start)
        if found is None:
            self.without_end.add(what)
            return -1
        return found.end()
