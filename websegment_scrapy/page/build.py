"""HTML text to ``PageTree``: one walk over the parsed document, then its layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.page.capture import Captured, PageCapture, read_box, read_page, read_text
from websegment_scrapy.page.decode import decode
from websegment_scrapy.page.line_numbers import drop_line_numbers
from websegment_scrapy.page.parse import parse_html
from websegment_scrapy.page.readable import readable
from websegment_scrapy.page.static_layout import no_layout, static_layout
from websegment_scrapy.page.subtrees import depth_in
from websegment_scrapy.page.tags import REPLACED
from websegment_scrapy.page.tree import TEXT, PageHead, PageTree
from websegment_scrapy.page.walk import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.static_layout import Layout
    from websegment_scrapy.page.walk import Nodes

__all__ = ["build_tree"]


def build_tree(
    html: str | bytes | Captured,
    *,
    attributes: Sequence[str] = (),
    estimate_layout: bool = True,
    line_numbers: bool = False,
) -> PageTree:
    """Parse a page and give every node its box and style.

    Parameters
    ----------
    html
        The document; bytes are decoded by what they say. The layout of a `Captured` one is the
        browser's, of any other one, whatever it says of itself, it is estimated.
    attributes
        Names of attributes to keep for ``PageTree.attribute``.
    estimate_layout
        ``False`` spares the estimate, which the main text does not need; boxes mean nothing then.
    line_numbers
        Whether those beside code stay (`page.line_numbers`).
    """
    capture = None
    if isinstance(html, Captured):
        root = parse_html(html.html)
        capture = read_page(root.get(html.name("page")) or "")
        layout_names = (html.name("box"), html.name("text"))
    else:
        text = decode(html) if isinstance(html, bytes) else html
        root, layout_names = parse_html(text), None
    nodes = walk(root, attributes, layout_names if capture is not None else None)
    if not line_numbers:
        drop_line_numbers(nodes)
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
    head = _head(nodes)
    return _freeze(nodes, *layout, can_be_read, styles=styles, kind=kind, width=width, head=head)


def _captured_layout(nodes: Nodes, capture: PageCapture) -> Layout:
    """Read boxes, styles and visibility from the capture's attributes."""
    count, styles = len(nodes), capture.styles
    boxes = [(0.0, 0.0, 0.0, 0.0)] * count
    style = [0] * count
    visible = [False] * count
    texts: dict[int, list[tuple[int, int, int, int] | None]] = {
        index: read_text(value) for index, value in nodes.captured_text.items()
    }
    ranks = nodes.text_ranks()
    for index, parent in enumerate(nodes.parent):
        if nodes.tag[index] == TEXT:
            ranked, rank = texts.get(parent, ()), ranks[index]
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
    return np.array(boxes, dtype=np.float32).reshape(-1, 4), style, visible


def _freeze(
    nodes: Nodes,
    box: NDArray[np.float32],
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
    tag = np.array([number[name] for name in nodes.tag], dtype=np.int32)
    parent, end = np.array(nodes.parent, dtype=np.int32), np.array(nodes.end, dtype=np.int32)
    lengths = np.array(list(map(len, nodes.text)), dtype=np.int64)
    ends = np.cumsum(lengths)
    shown = np.array(visible, dtype=bool)
    replaced = np.array([name in REPLACED for name in names], dtype=bool)[tag]
    has_box = (box[:, 2] > 0) & (box[:, 3] > 0)
    leaf = shown & has_box & ((lengths > 0) | replaced) & (depth_in(end, replaced) <= replaced)
    return PageTree(
        parent=parent,
        end=end,
        depth=_depths(end),
        tag=tag,
        nth=_positions(parent, tag, number.get(TEXT, -1), nodes.text_nth),
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


def _depths(end: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return how many elements are open at each node: those begun before it and not ended."""
    ended = np.cumsum(np.bincount(end, minlength=len(end) + 1))
    depth: NDArray[np.int32] = (np.arange(len(end)) - ended[:-1]).astype(np.int32)
    return depth


def _positions(
    parent: NDArray[np.int32], tag: NDArray[np.int32], text: int, text_nth: list[int]
) -> NDArray[np.int32]:
    """Return each node's place among its siblings of the same tag; blank texts count as texts."""
    group = parent.astype(np.int64) * (int(tag.max(initial=0)) + 1) + tag
    order = np.argsort(group, kind="stable")
    index = np.arange(len(order))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = group[order[1:]] != group[order[:-1]]
    nth = np.empty(len(order), dtype=np.int32)
    nth[order] = index - np.maximum.accumulate(np.where(begins, index, 0)) + 1
    nth[tag == text] = text_nth
    return nth


def _head(nodes: Nodes) -> PageHead:
    title = nodes.title
    text = "" if title is None else " ".join("".join(map(str, title.itertext())).split())
    return PageHead(
        title=text,
        og_title=_meta(nodes, "property", "og:title"),
        description=_meta(nodes, "name", "description")
        or _meta(nodes, "property", "og:description"),
        og_type=_meta(nodes, "property", "og:type").lower(),
    )


def _meta(nodes: Nodes, attribute: str, name: str) -> str:
    """Return the content of the first ``meta`` element of a name."""
    for meta in nodes.metas:
        if meta.get(attribute) == name:
            return " ".join(meta.get("content", "").split())
    return ""
