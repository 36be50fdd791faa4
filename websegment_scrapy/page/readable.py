"""What a reader of a rendered page can get to see: what is shown, and what can be opened.

A browser knows what is hidden: not displayed, invisible, transparent, cut down to nothing, or far
outside the page. Most of it is there for machines, or for other screens, and no text of the page.
But readers open tabs, sections and questions, leaf through slides and scroll down to what fades in.
So what is hidden counts as readable when the page has a way to show it:

- it is in a ``details`` element, or is a tab's panel by its ``role``;
- it is hidden for the moment (``Style.comes``): it has a transition or an animation, or lies
  outside a box that shows something else;
- a control names it: by ``aria-controls``, ``data-target``, ``data-bs-target``, or as the fragment
  of a link;
- it is one of several: beside it an element of the same kind is shown, an item of the same list, a
  row of the same table, or one of the same name of which half of the classes are the same;
- beside it stands a control: an element whose text can be clicked and leads nowhere else.

What holds for an element holds for all in it, except for what is not displayed within something
else that is hidden: it needs a way of its own. Text that is hidden in an element that is shown
(indented out of its box, of no size) cannot be opened. Text in the colour of its background counts
as shown: what else is behind it, such as an image, a capture does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from websegment_scrapy.page.tags import NOT_RENDERED
from websegment_scrapy.page.tree import TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.page.capture import Style
    from websegment_scrapy.page.walk import Nodes

__all__ = ["OPENING", "readable"]

_NAMING = ("aria-controls", "data-target", "data-bs-target", "href")
OPENING = ("id", "role", "aria-expanded", *_NAMING)
"""Attributes that say how something is opened."""

_ITEMS = frozenset({"li", "tr", "dd", "dt"})
_CONTROLS = frozenset({"button", "summary"})
_ROLES = frozenset({"button", "tab"})
_KINDS = 20
"""Kinds of elements beside each other that are told apart; no design has more."""


def readable(
    nodes: Nodes, visible: Sequence[bool], style: Sequence[int], styles: Sequence[Style]
) -> list[bool]:
    """Say of each node of a rendered page whether a reader can get to see it."""
    openings = _Openings(nodes, visible, style, styles)
    found = list(visible)
    for index, parent in enumerate(nodes.parent):
        if visible[index] or parent < 0:
            found[index] = True
        elif nodes.tag[index] == TEXT:
            found[index] = found[parent] and not visible[parent]
        elif nodes.tag[index] in NOT_RENDERED:
            found[index] = False
        elif visible[parent] or openings.is_boxed(parent) != openings.is_boxed(index):
            # An element with a box in one without: ``display: contents`` hides nothing.
            is_open = found[parent] or openings.is_boxed(index)
            found[index] = is_open and openings.has_way(index)
        else:
            found[index] = found[parent]
    return found


@dataclass(slots=True)
class _Siblings:
    """The elements in one that show text: their kinds, and which is next before and after each."""

    kinds: set[tuple[str, frozenset[str]]] = field(default_factory=set)
    before: dict[int, int] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)


class _Openings:
    """The ways in which a page shows what it hides."""

    def __init__(
        self, nodes: Nodes, visible: Sequence[bool], style: Sequence[int], styles: Sequence[Style]
    ) -> None:
        self.nodes = nodes
        self.visible = visible
        self.style = [styles[number] for number in style]
        shown = (tag == TEXT and visible[index] for index, tag in enumerate(nodes.tag))
        self.texts = list(accumulate(shown, initial=0))
        self.named = {
            name
            for said in nodes.opening.values()
            for attribute in _NAMING
            for name in _names(attribute, said.get(attribute, ""))
        }
        self._siblings: dict[int, _Siblings] = {}
        self._beside: dict[int, bool] = {}
        self._controls: dict[int, bool] = {}

    def is_boxed(self, index: int) -> bool:
        """Say whether an element has a box; what is not displayed has none."""
        return index in self.nodes.captured_box

    def has_way(self, index: int) -> bool:
        """Say whether a hidden element can be opened."""
        said = self.nodes.opening.get(index, {})
        return (
            said.get("role") == "tabpanel"
            or said.get("id") in self.named
            or self.nodes.tag[self.nodes.parent[index]] == "details"
            or (self.is_boxed(index) and self.style[index].comes)
            or self._has_way_beside(index)
        )

    def _has_way_beside(self, index: int) -> bool:
        """Look beside an element and beside the shown ones around it that show no text."""
        climbed = list[int]()
        found = False
        while not climbed or (self.visible[index] and not self._shows_text(index)):
            if index in self._beside:
                found = self._beside[index]
                break
            climbed.append(index)
            found = self._is_one_of_several(index) or self._is_beside_control(index)
            if found:
                break
            index = self.nodes.parent[index]
        self._beside.update(dict.fromkeys(climbed, found))
        return found

    def _shows_text(self, index: int) -> bool:
        return self.texts[self.nodes.end[index]] > self.texts[index]

    def _is_one_of_several(self, index: int) -> bool:
        tag, own = self._kind(index)
        return any(
            tag == name and (tag in _ITEMS or 2 * len(own & other) >= max(len(own | other), 1))
            for name, other in self._siblings_of(index).kinds
        )

    def _is_beside_control(self, index: int) -> bool:
        siblings = self._siblings_of(index)
        return any(
            self._is_control(side[index])
            for side in (siblings.before, siblings.after)
            if index in side
        )

    def _kind(self, index: int) -> tuple[str, frozenset[str]]:
        """Return an element's name and classes."""
        names = frozenset(self.nodes.names.get(index, "").split())
        return self.nodes.tag[index], names - {self.nodes.opening.get(index, {}).get("id", "")}

    def _siblings_of(self, index: int) -> _Siblings:
        nodes, parent = self.nodes, self.nodes.parent[index]
        found = self._siblings.get(parent)
        if found is not None:
            return found
        found = self._siblings[parent] = _Siblings()
        node, last, waiting = parent + 1, -1, list[int]()
        while node < nodes.end[parent]:
            if nodes.tag[node] != TEXT and self._shows_text(node):
                if len(found.kinds) < _KINDS:
                    found.kinds.add(self._kind(node))
                found.after.update(dict.fromkeys(waiting, node))
                last, waiting = node, []
            elif nodes.tag[node] != TEXT:
                waiting.append(node)
                if last >= 0:
                    found.before[node] = last
            node = nodes.end[node]
        return found

    def _is_control(self, index: int) -> bool:
        """Say whether all that an element shows can be clicked and leads nowhere else."""
        if index not in self._controls:
            self._controls[index] = all(
                self._is_clicked(node, index)
                for node in range(index, self.nodes.end[index])
                if self.nodes.tag[node] == TEXT and self.visible[node]
            )
        return self._controls[index]

    def _is_clicked(self, text: int, top: int) -> bool:
        nodes = self.nodes
        link = nodes.link[text]
        if link >= 0:
            return _stays(nodes.links[link])
        if self.style[text].pointer:
            return True
        node = nodes.parent[text]
        while node >= top:
            said = nodes.opening.get(node, {})
            if (
                nodes.tag[node] in _CONTROLS
                or "aria-expanded" in said
                or said.get("role") in _ROLES
            ):
                return True
            node = nodes.parent[node]
        return False


def _names(attribute: str, value: str) -> list[str]:
    """Return the identifiers that an attribute names."""
    if attribute == "aria-controls":
        return value.split()
    return [value[1:]] if value.startswith("#") and len(value) > 1 else []


def _stays(address: str) -> bool:
    """Say whether a link leads to no other page and no place on this one."""
    return address in ("", "#", "#!") or address.lower().startswith("javascript:")
