"""What people said is wrong on pages (`websegment view`): the lines of a file of marks.

A mark says of a block that it should have been content or template, or of a segment where its
border should be. Of everything else on the page it says nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.measure.datasets import DataError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["BLOCKS", "Border", "Mark", "nodes_below", "read_marks"]

BLOCKS = ("content", "template")
"""Kinds of marks that say what a block is."""


@dataclass(frozen=True, slots=True)
class Border:
    """Where a segment should be cut, or joined with another, as XPaths.

    Attributes
    ----------
    should
        ``cut`` or ``join``.
    between
        The leaves before and after the place.
    sides
        All that is on either side of it: two parts of one segment, or two segments.
    """

    should: str
    between: tuple[str, str]
    sides: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One line of a file of marks; a mark of a border from before they had a place has none."""

    url: str
    html: str
    kind: str
    xpaths: tuple[str, ...]
    text: str
    engine: str
    main_text: str
    border: Border | None = None


def read_marks(path: Path) -> list[Mark]:
    """Read a file of marks; of what was marked again the last mark counts."""
    found: dict[tuple[object, ...], Mark] = {}
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): name a file of marks") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            mark = _mark(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise DataError(
                f"{path}: line {number} is no mark: give a file that websegment view has written"
            ) from None
        place = mark.border.between if mark.border else mark.kind == "border"
        found.pop((mark.url, mark.xpaths, place), None)  # the last mark also comes last
        found[mark.url, mark.xpaths, place] = mark
    return list(found.values())


def nodes_below(tree: PageTree, xpaths: Collection[str]) -> NDArray[np.bool_]:
    """Say of each node whether it is one of some XPaths' or stands below one of them."""
    wanted = set(xpaths)
    inside = [path in wanted for path in tree.xpaths(range(len(tree)))]
    for node, parent in enumerate(tree.parent.tolist()):
        inside[node] = inside[node] or (parent >= 0 and inside[parent])
    return np.array(inside, dtype=bool)


def _mark(given: Mapping[str, Any]) -> Mark:
    kind = given["kind"]
    if kind not in (*BLOCKS, "border"):
        raise ValueError(kind)
    return Mark(
        url=str(given["url"]),
        html=str(given["html"]),
        kind=kind,
        xpaths=tuple(map(str, given["xpaths"])),
        text=str(given["text"]),
        engine=str(given["engine"]),
        main_text=str(given["main_text"]),
        border=_border(given["border"]) if given.get("border") else None,
    )


def _border(given: Mapping[str, Any]) -> Border:
    before, after = map(str, given["between"])
    one, two = (tuple(map(str, side)) for side in given["sides"])
    if given["should"] not in ("cut", "join"):
        raise ValueError(given["should"])
    return Border(given["should"], (before, after), (one, two))
