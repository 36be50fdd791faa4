"""One walk over a parsed document: its elements and non-blank texts, in document order.

The walk is one loop without calls of our own: on most pages it is what building a tree costs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lxml import etree

from websegment_scrapy.page.readable import OPENING
from websegment_scrapy.page.tags import NOT_RENDERED, OPAQUE_TEXT, REPLACED
from websegment_scrapy.page.tree import TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CODE_LINE", "Nodes", "walk"]

BLANK = " \t\n\r\f\v\u00a0\u200b\ufeff"
"""A text node of only these characters is no node; capture.js counts by the same set."""

_HIDING_STYLE = re.compile(
    r"(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE
)
_SIZE_ATTRIBUTES = frozenset(
    {"width", "height", "colspan", "style", "type", "size", "rows", "cols", "color"}
)
HIDDEN, OPAQUE, PRE, LINK, BREAK, SCRIPT, INPUT, HEAD = (1 << number for number in range(8))
_PREFORMATTED = ("pre", "textarea", "listing", "xmp")
CODE_LINE = "blob-code"
"""In the class of a table cell with a line of code, as GitHub shows files: white space counts."""


def _kinds() -> dict[str, int]:
    """Return what is special about elements, by name; about most there is nothing."""
    kinds: dict[str, int] = {}
    for names, bit in (
        (NOT_RENDERED, HIDDEN),
        (OPAQUE_TEXT | REPLACED, OPAQUE),
        (_PREFORMATTED, PRE),
        (("a",), LINK),
        (("br",), BREAK),
        (("script",), SCRIPT),
        (("input",), INPUT),
        (("meta", "title"), HEAD),
    ):
        for name in names:
            kinds[name] = kinds.get(name, 0) | bit
    return kinds


_KINDS = _kinds()


@dataclass(slots=True)
class Nodes:
    """The arrays of a ``PageTree`` while they grow, as plain lists.

    ``text_nth`` has an entry for each text node only; ``metas`` are the attributes of the ``meta``
    elements, ``title`` is the first element of that name.
    """

    parent: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    tag: list[str] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    text_nth: list[int] = field(default_factory=list)
    space_before: list[bool] = field(default_factory=list)
    link: list[int] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    presentation: dict[int, dict[str, str]] = field(default_factory=dict)
    captured_box: dict[int, str] = field(default_factory=dict)
    captured_text: dict[int, str] = field(default_factory=dict)
    opening: dict[int, dict[str, str]] = field(default_factory=dict)
    attributes: dict[str, dict[int, str]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    scripts: list[str] = field(default_factory=list)
    blank_before: dict[int, str] = field(default_factory=dict)
    metas: list[dict[str, str]] = field(default_factory=list)
    title: etree._Element | None = None

    def __len__(self) -> int:
        return len(self.parent)

    def text_ranks(self) -> list[int]:
        """Return for each text node how many stand before it in its element; 0 for elements."""
        ranks, found = [0] * len(self), dict.fromkeys(self.parent, 0)
        for index, tag in enumerate(self.tag):
            if tag is TEXT:
                ranks[index] = found[self.parent[index]]
                found[self.parent[index]] += 1
        return ranks


def walk(
    root: etree._Element,
    attributes: Sequence[str] = (),
    layout_names: tuple[str, str] | None = None,
) -> Nodes:
    """Visit the document once; comments and processing instructions only separate text.

    Parameters
    ----------
    root
        The document.
    attributes
        Names of attributes to keep.
    layout_names
        The attributes with an element's box and with those of its texts, where a browser wrote
        them. They tell what is hidden then.
    """
    nodes = Nodes(attributes={name: {} for name in attributes})
    parent, end, tags, hidden = nodes.parent, nodes.end, nodes.tag, nodes.hidden
    texts, space_before, link = nodes.text, nodes.space_before, nodes.link
    opened: list[int] = []
    kinds: list[int] = []
    texts_seen: list[int] = []
    lowered: dict[str, str] = {}
    hiding: dict[str, bool] = {}
    plain = layout_names is None
    box_name, text_name = layout_names or ("", "")
    opaque = pre = 0
    space = False
    blank: list[str] | None = None
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            index = len(parent)
            raw = element.tag
            tag = lowered.get(raw)
            if tag is None:
                tag = lowered[raw] = raw.lower()
            kind = _KINDS.get(tag, 0)
            if opened:
                above = opened[-1]
                is_hidden, own_link = hidden[above], link[above]
            else:
                above, is_hidden, own_link = -1, False, -1
            given = element.items()
            if given:
                called = identity = style = None
                sized = False
                for name, value in given:
                    if name == "class":
                        called = value
                        if CODE_LINE in value:
                            kind |= PRE
                    elif name == "id":
                        identity = value
                    elif name == "href":
                        if kind & LINK:
                            own_link = len(nodes.links)
                            nodes.links.append(value.strip())
                    elif name in _SIZE_ATTRIBUTES:
                        sized = True
                        if name == "style":
                            style = value
                        elif name == "type" and kind & INPUT and value.lower() == "hidden":
                            is_hidden = is_hidden or plain
                    elif name == "hidden":
                        is_hidden = is_hidden or plain
                if identity is not None:
                    nodes.names[index] = f"{called or ''} {identity}"
                elif called is not None:
                    nodes.names[index] = called
                if attributes:
                    for name, value in given:
                        if name in nodes.attributes:
                            nodes.attributes[name][index] = value
                if plain:
                    if style is not None and not is_hidden:
                        found = hiding.get(style)
                        if found is None:
                            found = hiding[style] = _HIDING_STYLE.search(style) is not None
                        is_hidden = found
                    if sized:
                        nodes.presentation[index] = {
                            name: value for name, value in given if name in _SIZE_ATTRIBUTES
                        }
                else:
                    said = {}
                    for name, value in given:
                        if name == box_name:
                            nodes.captured_box[index] = value
                        elif name == text_name:
                            nodes.captured_text[index] = value
                        elif name in OPENING:
                            said[name] = value
                    if said:
                        nodes.opening[index] = said
            text = element.text
            if kind:
                is_hidden = is_hidden or bool(kind & HIDDEN)
                # Inside a replaced element (the options of a select, a video's fallback) nothing
                # is page text; its nodes stay for the sake of the XPaths but are hidden.
                if kind & OPAQUE:
                    opaque += 1
                if kind & PRE:
                    pre += 1
                    blank = None if tag in _PREFORMATTED else []
                if kind & SCRIPT and text and "{" in text:
                    nodes.scripts.append(text)
                if kind & HEAD and above >= 0:
                    if raw == "meta":
                        nodes.metas.append(dict(given))
                    elif raw == "title" and nodes.title is None:
                        nodes.title = element
            parent.append(above)
            end.append(0)
            tags.append(tag)
            hidden.append(is_hidden)
            texts.append("")
            space_before.append(False)
            link.append(own_link)
            opened.append(index)
            kinds.append(kind)
            texts_seen.append(0)
        elif event == "end":
            end[opened.pop()] = len(parent)
            texts_seen.pop()
            if kind := kinds.pop():
                if kind & OPAQUE:
                    opaque -= 1
                if kind & PRE:
                    pre -= 1
                if kind & BREAK:
                    space = True
            if not opened:
                break
            text = element.tail
        else:
            text = element.tail
        if not text:
            continue
        texts_seen[-1] += 1
        if (opaque or text.isspace() or not text.isascii()) and not text.strip(BLANK):
            space = True
            if blank is not None:
                blank.append(text)
            continue
        if opaque:
            continue
        above = opened[-1]
        if pre:
            if blank is not None:
                before = text[: len(text) - len(text.lstrip("\r\n"))]
                kept = "".join(blank) + before
                nodes.blank_before[len(parent)] = kept.replace("\r\n", "\n")
            blank = [text[len(text.rstrip("\r\n")) :]]
            texts.append(text.strip("\r\n"))
        else:
            texts.append(" ".join(text.split()))
        space_before.append(space or text[0].isspace())
        space = text[-1].isspace()
        parent.append(above)
        end.append(len(parent))
        tags.append(TEXT)
        hidden.append(hidden[above])
        link.append(link[above])
        nodes.text_nth.append(texts_seen[-1])
    return nodes
