"""``PageTree``: a page's DOM with its layout, as a struct of numpy arrays.

Nodes are the elements and the non-blank text nodes of the document in document order (pre-order),
so the subtree of node ``i`` is the range ``i … end[i] - 1`` and every ancestor comes before its
descendants. **Leaves** are visible text nodes and visible replaced
elements with a non-empty box; a segmentation is a partition of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from websegment_scrapy.page.subtrees import lies_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.capture import Style

__all__ = ["TEXT", "PageHead", "PageTree"]

TEXT = "#text"
"""The tag of text nodes."""

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_.-]*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageHead:
    """What the document says about itself: the candidates for its title, and what it is about."""

    title: str = ""
    og_title: str = ""
    description: str = ""
    og_type: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PageTree:
    """A page as arrays over its nodes.

    Attributes
    ----------
    parent
        Index of each node's parent, -1 for the root.
    end
        One past the last node of each node's subtree.
    depth
        Distance from the root.
    tag
        Index into ``tags``; text nodes have the tag ``"#text"``.
    nth
        1-based position among the siblings of the same tag, as XPath counts.
    box
        ``x, y, width, height`` in CSS pixels of the whole document; zeros where there is none.
    style
        Index into ``styles``.
    visible
        Whether the node is shown.
    readable
        Whether a reader can get to see the node: it is shown, or the page has a way to show it
        (`page.readable`). Without a browser nobody knows, and all nodes are.
    text_start, text_end
        Span of each text node in ``text``; equal for elements.
    space_before
        Text nodes: whether white space stands between this and the text before it.
    blank_before
        Text nodes in ``pre`` after its first: the white space before them, as written.
    link
        Index into ``links`` of the ``a href`` around the node, or -1.
    leaves
        Indices of the leaves, in document order.
    names
        What each element is called by its ``class`` and ``id``, as written.
    scripts
        The scripts that may hold data, as written.
    layout
        ``"rendered"`` when a browser measured the boxes, ``"static"`` when they are estimated.
    """

    parent: NDArray[np.int32]
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    tag: NDArray[np.int32]
    nth: NDArray[np.int32]
    box: NDArray[np.float32]
    style: NDArray[np.int32]
    visible: NDArray[np.bool_]
    readable: NDArray[np.bool_]
    text_start: NDArray[np.int64]
    text_end: NDArray[np.int64]
    space_before: NDArray[np.bool_]
    link: NDArray[np.int32]
    leaves: NDArray[np.int32]
    tags: tuple[str, ...]
    styles: tuple[Style, ...]
    links: tuple[str, ...]
    text: str
    head: PageHead
    layout: Literal["rendered", "static"]
    width: int
    attributes: Mapping[str, Mapping[int, str]]
    names: Mapping[int, str]
    scripts: tuple[str, ...]
    blank_before: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.parent)

    def tag_name(self, node: int) -> str:
        """Return the element's name in lower case, or ``"#text"``."""
        return self.tags[int(self.tag[node])]

    @property
    def is_text(self) -> NDArray[np.bool_]:
        """Whether each node is a text node."""
        return self.text_end > self.text_start

    @property
    def texts(self) -> NDArray[np.int64]:
        """The text nodes, in document order."""
        return np.flatnonzero(self.is_text)

    def tagged(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Mark the elements of some names."""
        return np.array([tag in names for tag in self.tags], dtype=bool)[self.tag]

    def text_of(self, node: int) -> str:
        """Return the text of one text node (white space collapsed, except in ``pre``)."""
        return self.text[int(self.text_start[node]) : int(self.text_end[node])]

    def texts_of(self, nodes: NDArray[Any]) -> list[str]:
        """Return the texts of many text nodes."""
        start, end = self.text_start[nodes].tolist(), self.text_end[nodes].tolist()
        return [self.text[low:high] for low, high in zip(start, end, strict=True)]

    def leaf_kind(self, node: int) -> str:
        """Return ``"text"`` or the name of the replaced element."""
        name = self.tag_name(node)
        return "text" if name == TEXT else name

    def xpath(self, node: int) -> str:
        """Return the node's XPath in the document it was parsed from."""
        return self.xpaths([node])[0]

    def xpaths(self, nodes: Sequence[int]) -> list[str]:
        """Return the XPaths of nodes that are given in document order."""
        parent, end = self.parent.tolist(), self.end.tolist()
        tag, nth = self.tag.tolist(), self.nth.tolist()
        names = [_xpath_name(name) for name in self.tags]
        found: list[str] = []
        opened: list[int] = []
        steps: list[str] = []
        for node in nodes:
            while opened and end[opened[-1]] <= node:
                opened.pop()
                steps.pop()
            chain, above = [], node
            around = opened[-1] if opened else -1
            while above != around:
                chain.append(above)
                above = parent[above]
            for each in reversed(chain):
                opened.append(each)
                steps.append(f"{names[tag[each]]}[{nth[each]}]")
            found.append("/" + "/".join(steps))
        return found

    def attribute(self, name: str, node: int) -> str | None:
        """Return an attribute of the nearest ancestor-or-self that has it.

        Only names given to ``build_tree`` are known.
        """
        values = self.attributes[name]
        while node >= 0:
            if (value := values.get(int(node))) is not None:
                return value
            node = self.parent[node]
        return None

    def ancestors(self, node: int) -> list[int]:
        """Return the node's ancestors, nearest first."""
        found = []
        node = int(self.parent[node])
        while node >= 0:
            found.append(node)
            node = int(self.parent[node])
        return found

    def inside(self, *names: str) -> NDArray[np.bool_]:
        """Mark the elements of some names and all nodes in them."""
        return lies_in(self.end, self.tagged(names))


def _xpath_name(name: str) -> str:
    """Return the step of an XPath to elements of a name, or to texts."""
    if name == TEXT:
        return "text()"
    return name if _PLAIN_NAME.match(name) else f'*[name()="{name}"]'
