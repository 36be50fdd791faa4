"""HTML text to ``PageTree``: one walk over the parsed document, then its layout."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree

from websegment_scrapy.page.capture import (
    Captured,
    PageCapture,
    read_box,
    read_page,
    read_text,
)
from websegment_scrapy.page.parse import parse_html
from websegment_scrapy.page.readable import OPENING, readable
from websegment_scrapy.page.static_layout import no_layout, static_layout
from websegment_scrapy.page.tags import NOT_RENDERED, OPAQUE_TEXT, REPLACED
from websegment_scrapy.page.tree import TEXT, PageHead, PageTree

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Nodes", "build_tree"]

BLANK = " \t\n\r\f\v\u00a0\u200b\ufeff"
"""A text node of only these characters is no node; capture.js counts by the same set."""

_HIDING_STYLE = re.compile(
    r"(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE
)
_SIZE_ATTRIBUTES = ("width", "height", "colspan", "style", "type", "size", "rows", "cols", "color")


@dataclass(slots=True)
class Nodes:
    """The arrays of a ``PageTree`` while they grow, as plain lists."""

    parent: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    tag: list[str] = field(default_factory=list)
    nth: list[int] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    space_before: list[bool] = field(default_factory=list)
    link: list[int] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    presentation: dict[int, dict[str, str]] = field(default_factory=dict)
    captured_box: dict[int, str] = field(default_factory=dict)
    captured_text: dict[int, str] = field(default_factory=dict)
    opening: dict[int, dict[str, str]] = field(default_factory=dict)
    text_rank: list[int] = field(default_factory=list)
    attributes: dict[str, dict[int, str]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    scripts: list[str] = field(default_factory=list)
    blank_before: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.parent)


def build_tree(
    html: str | Captured, *, attributes: Sequence[str] = (), estimate_layout: bool = True
) -> PageTree:
    """Parse a page and give every node its box and style.

    Parameters
    ----------
    html
        The document. The layout of a `Captured` one is the browser's, of any other one, whatever
        it says of itself, it is estimated.
    attributes
        Names of attributes to keep for ``PageTree.attribute``.
    estimate_layout
        ``False`` spares the estimate, which the main text does not need; boxes mean nothing then.
    """
    capture = None
    if isinstance(html, Captured):
        root = parse_html(html.html)
        capture = read_page(root.get(html.name("page")) or "")
        layout_names = (html.name("box"), html.name("text"))
    else:
        root, layout_names = parse_html(html), None
    nodes = _walk(root, tuple(attributes), layout_names if capture is not None else None)
    can_be_read = [True] * len(nodes)
    if capture is not None:
        layout = _captured_layout(nodes, capture)
        styles, kind, width = capture.styles, "rendered", capture.width
        can_be_read = readable(nodes, layout[2], layout[1], styles)
    elif estimate_layout:
        layout, styles, width = static_layout(nodes)
        kind = "static"
    else:
        layout, styles, width = no_layout(nodes)
        kind = "static"
    return _freeze(
        nodes, *layout, can_be_read, styles=styles, kind=kind, width=width, head=_head(root)
    )


def _walk(
    root: etree._Element, attributes: tuple[str, ...], layout_names: tuple[str, str] | None
) -> Nodes:
    """Visit the document once; comments and processing instructions only separate text."""
    nodes = Nodes(attributes={name: {} for name in attributes})
    walker = _Walker(nodes, attributes, layout_names)
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            walker.start(element)
        elif event == "end":
            walker.close(element)
        else:
            walker.text(element.tail)
    return nodes


class _Walker:
    """Fills ``Nodes`` from the events of a walk; its stack holds the open elements.

    `layout_names` are the attributes with an element's box and with those of its texts.
    """

    def __init__(
        self, nodes: Nodes, attributes: tuple[str, ...], layout_names: tuple[str, str] | None
    ) -> None:
        self.nodes = nodes
        self.attributes = attributes
        self.layout_names = layout_names
        self.open: list[int] = []
        self.counters: list[dict[str, int]] = []
        self.opaque = 0
        self.pre = 0
        self.space = False
        self.blank: list[str] | None = None

    def start(self, element: etree._Element) -> None:
        nodes, attrib = self.nodes, element.attrib
        index, parent = len(nodes), self.open[-1] if self.open else -1
        tag = element.tag.lower()
        hidden = parent >= 0 and nodes.hidden[parent]
        link = nodes.link[parent] if parent >= 0 else -1
        if attrib:
            if tag == "a" and (href := attrib.get("href")) is not None:
                link = len(nodes.links)
                nodes.links.append(href.strip())
            if (value := attrib.get("class")) is not None:
                nodes.names[index] = value
            if (value := attrib.get("id")) is not None:
                nodes.names[index] = f"{nodes.names.get(index, '')} {value}"
            for name in self.attributes:
                if (value := attrib.get(name)) is not None:
                    nodes.attributes[name][index] = value
            if self.layout_names is not None:
                if (value := attrib.get(self.layout_names[0])) is not None:
                    nodes.captured_box[index] = value
                if (value := attrib.get(self.layout_names[1])) is not None:
                    nodes.captured_text[index] = value
                said = {name: str(attrib[name]) for name in OPENING if name in attrib}
                if said:
                    nodes.opening[index] = said
            else:
                hidden = hidden or _is_hidden(tag, attrib)
                shown = {name: str(attrib[name]) for name in _SIZE_ATTRIBUTES if name in attrib}
                if shown:
                    nodes.presentation[index] = shown
        self._add(tag, parent, hidden=hidden or tag in NOT_RENDERED, link=link)
        self.open.append(index)
        self.counters.append({})
        if tag == "script" and element.text and "{" in element.text:
            nodes.scripts.append(element.text)
        # Inside a replaced element (the options of a select, a video's fallback) nothing is
        # page text; its nodes stay for the sake of the XPaths but are hidden.
        if tag in OPAQUE_TEXT or tag in REPLACED:
            self.opaque += 1
        if tag in ("pre", "textarea", "listing", "xmp"):
            self.pre += 1
            self.blank = None
        self.text(element.text)

    def close(self, element: etree._Element) -> None:
        index = self.open.pop()
        self.counters.pop()
        self.nodes.end[index] = len(self.nodes)
        tag = self.nodes.tag[index]
        if tag in OPAQUE_TEXT or tag in REPLACED:
            self.opaque -= 1
        if tag in ("pre", "textarea", "listing", "xmp"):
            self.pre -= 1
        if tag == "br":
            self.space = True
        if self.open:
            self.text(element.tail)

    def text(self, text: str | None) -> None:
        if not text or not self.open:
            return
        counter = self.counters[-1]
        if not text.strip(BLANK):
            counter[TEXT] = counter.get(TEXT, 0) + 1
            self.space = True
            if self.blank is not None:
                self.blank.append(text)
            return
        if self.opaque:
            counter[TEXT] = counter.get(TEXT, 0) + 1
            return
        parent = self.open[-1]
        clean = text.strip("\r\n") if self.pre else " ".join(text.split())
        rank = counter["#rank"] = counter.get("#rank", -1) + 1
        index = len(self.nodes)
        self._add(
            TEXT, parent, hidden=self.nodes.hidden[parent], link=self.nodes.link[parent], text=clean
        )
        self.nodes.text_rank[index] = rank
        if self.pre:
            self._keep_blank(index, text)
        self.nodes.space_before[index] = self.space or text[0].isspace()
        self.nodes.end[index] = index + 1
        self.space = text[-1].isspace()

    def _keep_blank(self, index: int, text: str) -> None:
        """Keep the line breaks around a text in ``pre``, which its node does without."""
        if self.blank is not None:
            before = text[: len(text) - len(text.lstrip("\r\n"))]
            self.nodes.blank_before[index] = ("".join(self.blank) + before).replace("\r\n", "\n")
        self.blank = [text[len(text.rstrip("\r\n")) :]]

    def _add(self, tag: str, parent: int, *, hidden: bool, link: int, text: str = "") -> None:
        nodes = self.nodes
        nth = 1
        if self.counters:
            counter = self.counters[-1]
            nth = counter[tag] = counter.get(tag, 0) + 1
        nodes.parent.append(parent)
        nodes.end.append(0)
        nodes.depth.append(nodes.depth[parent] + 1 if parent >= 0 else 0)
        nodes.tag.append(tag)
        nodes.nth.append(nth)
        nodes.hidden.append(hidden)
        nodes.text.append(text)
        nodes.space_before.append(False)
        nodes.link.append(link)
        nodes.text_rank.append(0)


def _is_hidden(tag: str, attrib: Any) -> bool:
    """Say whether an element hides itself by its own attributes; style sheets are not read."""
    if "hidden" in attrib or (tag == "input" and attrib.get("type", "").lower() == "hidden"):
        return True
    style = attrib.get("style")
    return style is not None and _HIDING_STYLE.search(style) is not None


type_layout = tuple[list[tuple[float, float, float, float]], list[int], list[bool]]


def _captured_layout(nodes: Nodes, capture: PageCapture) -> type_layout:
    """Read boxes, styles and visibility from the capture's attributes."""
    count, styles = len(nodes), capture.styles
    boxes = [(0.0, 0.0, 0.0, 0.0)] * count
    style = [0] * count
    visible = [False] * count
    texts: dict[int, list[tuple[int, int, int, int] | None]] = {
        index: read_text(value) for index, value in nodes.captured_text.items()
    }
    for index, parent in enumerate(nodes.parent):
        if nodes.tag[index] == TEXT:
            ranked, rank = texts.get(parent, ()), nodes.text_rank[index]
            found = ranked[rank] if rank < len(ranked) else None
            if found is not None:
                boxes[index] = found
                visible[index] = visible[parent]
            style[index] = style[parent]
            continue
        value = nodes.captured_box.get(index)
        measured = read_box(value) if value is not None else None
        if measured is not None and 0 <= measured[4] < len(styles):
            boxes[index] = measured[:4]
            style[index] = measured[4]
            visible[index] = bool(styles[measured[4]].visible)
        elif parent >= 0:
            style[index] = style[parent]
            # Without a box but with text that has one: ``display: contents``.
            visible[index] = visible[parent] and index in nodes.captured_text
    return boxes, style, visible


def _freeze(
    nodes: Nodes,
    boxes: list[tuple[float, float, float, float]],
    style: list[int],
    visible: list[bool],
    can_be_read: list[bool],
    *,
    styles: Any,
    kind: Any,
    width: int,
    head: PageHead,
) -> PageTree:
    names = sorted(set(nodes.tag))
    number = {name: position for position, name in enumerate(names)}
    lengths = np.fromiter((len(text) for text in nodes.text), np.int64, len(nodes))
    ends = np.cumsum(lengths)
    box = np.array(boxes, dtype=np.float32).reshape(-1, 4)
    shown = np.array(visible, dtype=bool)
    is_text = lengths > 0
    replaced = np.fromiter((tag in REPLACED for tag in nodes.tag), bool, len(nodes))
    nested = _inside_replaced(nodes)
    has_box = (box[:, 2] > 0) & (box[:, 3] > 0)
    leaf = shown & has_box & (is_text | replaced) & ~nested
    return PageTree(
        parent=np.array(nodes.parent, dtype=np.int32),
        end=np.array(nodes.end, dtype=np.int32),
        depth=np.array(nodes.depth, dtype=np.int32),
        tag=np.fromiter((number[tag] for tag in nodes.tag), np.int32, len(nodes)),
        nth=np.array(nodes.nth, dtype=np.int32),
        box=box,
        style=np.array(style, dtype=np.int32),
        visible=shown,
        readable=np.array(can_be_read, dtype=bool),
        text_start=ends - lengths,
        text_end=ends,
        space_before=np.array(nodes.space_before, dtype=bool),
        link=np.array(nodes.link, dtype=np.int32),
        leaves=np.flatnonzero(leaf).astype(np.int32),
        tags=tuple(names),
        styles=tuple(styles),
        links=tuple(nodes.links),
        text="".join(nodes.text),
        head=head,
        layout=kind,
        width=width,
        attributes=nodes.attributes,
        names=nodes.names,
        scripts=tuple(nodes.scripts),
        blank_before=nodes.blank_before,
    )


def _inside_replaced(nodes: Nodes) -> Any:
    """Mark the nodes below a replaced element."""
    inside = np.zeros(len(nodes), dtype=bool)
    for index, tag in enumerate(nodes.tag):
        if tag in REPLACED and nodes.end[index] > index + 1:
            inside[index + 1 : nodes.end[index]] = True
    return inside


def _head(root: etree._Element) -> PageHead:
    title = root.find(".//title")
    og_title = root.find(".//meta[@property='og:title']")
    text = "" if title is None else " ".join("".join(map(str, title.itertext())).split())
    og = "" if og_title is None else " ".join((og_title.get("content") or "").split())
    return PageHead(
        title=text,
        og_title=og,
        language=(root.get("lang") or "").strip(),
        description=_meta(root, "name", "description") or _meta(root, "property", "og:description"),
        og_type=_meta(root, "property", "og:type").lower(),
    )


def _meta(root: etree._Element, attribute: str, name: str) -> str:
    """Return the content of a ``meta`` element."""
    found = root.find(f".//meta[@{attribute}='{name}']")
    return "" if found is None else " ".join((found.get("content") or "").split())
