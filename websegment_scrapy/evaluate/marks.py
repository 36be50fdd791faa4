"""What people said is wrong (`websegment view`), held against what is found by now.

A block that should have been content is right when at least half of its words are main text, one
that should have been template when fewer are. A border is right when the two leaves around it are
in two segments where it should be cut, in one where it should be joined. Pages are judged as they
are without their layout, by the method and the engine that they were looked at with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.config import Config
from websegment_scrapy.judging import judge_page
from websegment_scrapy.measure.marks import nodes_below
from websegment_scrapy.measure.report import silent, text_table
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.words import words
from websegment_scrapy.segment.registry import get_engine

if TYPE_CHECKING:
    from websegment_scrapy.measure.marks import Border, Mark
    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.pool import AnalysisPool

__all__ = ["Found", "MarksResult", "evaluate_marks", "hold_against"]

MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a mark: whether it is right by now, and which share of it is main text."""

    right: bool
    main_text: float | None = None


@dataclass(frozen=True, slots=True)
class MarksResult:
    """How many marks there are, how many of them are right by now, and which are not."""

    marks: int
    judged: int
    right: int
    lost: int
    """Marks whose page could not be analysed, or whose place is no longer found."""
    placeless: int
    """Marks of borders that do not say where: nothing is measured by them."""
    wrong: tuple[tuple[str, str, float | None, str], ...]
    """URL, what should be, the share of its words that are main text, how it begins."""

    def table(self) -> str:
        """Return the result for people."""
        rows = [
            [should, "" if share is None else f"{share:.2f}", url, " ".join(text.split())[:60]]
            for url, should, share, text in self.wrong
        ]
        head = (
            f"{self.marks} marks, {self.judged} of them could be judged, "
            f"{self.right} are right by now, {self.lost} no longer found"
        )
        if self.placeless:
            head += f", {self.placeless} of borders that say no place"
        if not rows:
            return head
        return f"{head}\n\n{text_table(['should be', 'main text', 'page', 'block'], rows)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it."""
        keys = ("url", "should", "main_text_share", "text")
        return {
            "marks": self.marks,
            "judged": self.judged,
            "right": self.right,
            "lost": self.lost,
            "placeless": self.placeless,
            "wrong": [dict(zip(keys, row, strict=True)) for row in self.wrong],
        }


def hold_against(mark: Mark) -> Found | None:
    """Judge what was marked again; ``None``: it is not there. It runs in a worker process."""
    if mark.border is not None:
        right = _stands(mark.border, build_tree(mark.html), mark.engine)
        return None if right is None else Found(right)
    share = _main_share(mark)
    if share is None:
        return None
    return Found((share >= MOSTLY) == (mark.kind == "content"), share)


def evaluate_marks(
    marks: list[Mark], pool: AnalysisPool, progress: Progress = silent
) -> MarksResult:
    """Judge all marks again."""
    placed = [mark for mark in marks if mark.kind != "border" or mark.border is not None]
    judged = right = lost = 0
    wrong = []
    outcomes = progress(pool.map(hold_against, iter(placed)), len(placed), "marks")
    for mark, found in zip(placed, outcomes, strict=True):
        if not isinstance(found, Found):
            lost += 1
            continue
        judged += 1
        right += found.right
        if not found.right:
            should = mark.border.should if mark.border else mark.kind
            wrong.append((mark.url, should, found.main_text, mark.text))
    placeless = len(marks) - len(placed)
    return MarksResult(len(marks), judged, right, lost, placeless, tuple(wrong))


def _stands(border: Border, tree: PageTree, engine: str) -> bool | None:
    """Say whether a border is where it should be; ``None`` if its leaves are not there."""
    paths = tree.xpaths(tree.leaves.tolist())
    places = {path: leaf for leaf, path in enumerate(paths)}
    around = [places.get(path) for path in border.between]
    if None in around:
        return None
    labels = get_engine(engine).segment(tree)
    return bool(labels[around[0]] == labels[around[1]]) == (border.should == "join")


def _main_share(mark: Mark) -> float | None:
    """Return which share of a marked block's words is main text; ``None``: it has no words."""
    engine = Config().engine
    page = judge_page(
        mark.html, main_text=mark.main_text, url=mark.url, segmenter=get_engine(engine)
    )
    nodes = page.tree.texts
    weight = np.array([len(words(text)) for text in page.tree.texts_of(nodes)], dtype=float)
    inside = nodes_below(page.tree, mark.xpaths)[nodes]
    total = float(weight[inside].sum()) if len(nodes) else 0.0
    if not total:
        return None
    is_main = np.isin(nodes, page.templates.main)
    return float(weight[inside & is_main].sum()) / total
