"""What people said is wrong (`websegment view`), held against what is found by now.

A block that should have been content is right when at least half of its words are main text, one
that should have been template when fewer are. Marks of borders are counted; nothing is measured by
them, since they do not say where the border should be.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.config import Config
from websegment_scrapy.exceptions import ConfigError
from websegment_scrapy.judging import judge_page
from websegment_scrapy.measure.report import silent, text_table
from websegment_scrapy.page.words import words
from websegment_scrapy.segment.registry import get_engine

if TYPE_CHECKING:
    from pathlib import Path

    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.pool import AnalysisPool

__all__ = ["Mark", "MarksResult", "evaluate_marks", "main_share", "read_marks"]

MOSTLY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One line of a file of marks, as far as it is judged."""

    url: str
    html: str
    kind: str
    xpaths: tuple[str, ...]
    text: str
    main_text: str = Config().main_text


@dataclass(frozen=True, slots=True)
class MarksResult:
    """How many marks there are, how many of them are right by now, and which are not."""

    marks: int
    judged: int
    right: int
    lost: int
    """Marks whose page could not be analysed, or whose block is no longer found."""
    wrong: tuple[tuple[str, str, float, str], ...]
    """URL, what it should be, the share of its words that are main text, how it begins."""

    def table(self) -> str:
        """Return the result for people."""
        rows = [
            [kind, f"{share:.2f}", url, " ".join(text.split())[:60]]
            for url, kind, share, text in self.wrong
        ]
        head = (
            f"{self.marks} marks, {self.judged} of blocks that could be judged, "
            f"{self.right} of them right by now, {self.lost} no longer found"
        )
        if not rows:
            return head
        return f"{head}\n\n{text_table(['should be', 'main text', 'page', 'block'], rows)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it."""
        keys = ("url", "kind", "main_text_share", "text")
        return {
            "marks": self.marks,
            "judged": self.judged,
            "right": self.right,
            "lost": self.lost,
            "wrong": [dict(zip(keys, row, strict=True)) for row in self.wrong],
        }


def read_marks(path: Path) -> list[Mark]:
    """Read a file of marks; of a block that was marked again the last mark counts."""
    found: dict[tuple[str, tuple[str, ...], bool], Mark] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}): name a file of marks"
        ) from None
    for number, line in enumerate(lines, start=1):
        try:
            given = json.loads(line)
            mark = Mark(
                url=str(given["url"]),
                html=str(given["html"]),
                kind=str(given["kind"]),
                xpaths=tuple(map(str, given["xpaths"])),
                text=str(given["text"]),
                main_text=str(given["main_text"]),
            )
        except (ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{path}: line {number} is no mark: give a file that websegment view has written"
            ) from None
        found[mark.url, mark.xpaths, mark.kind == "border"] = mark
    return list(found.values())


def main_share(mark: Mark) -> float | None:
    """Return which share of a marked block's words is main text; ``None``: it has no words.

    It runs in a worker process.
    """
    engine = Config().engine
    page = judge_page(
        mark.html, main_text=mark.main_text, url=mark.url, segmenter=get_engine(engine)
    )
    tree = page.tree
    nodes = tree.texts
    weight = np.array([len(words(text)) for text in tree.texts_of(nodes)], dtype=float)
    inside = np.array(
        [
            any(path == top or path.startswith(f"{top}/") for top in mark.xpaths)
            for path in tree.xpaths(nodes.tolist())
        ],
        dtype=bool,
    )
    total = float(weight[inside].sum()) if len(nodes) else 0.0
    if not total:
        return None
    is_main = np.isin(nodes, page.templates.main)
    return float(weight[inside & is_main].sum()) / total


def evaluate_marks(
    marks: list[Mark], pool: AnalysisPool, progress: Progress = silent
) -> MarksResult:
    """Judge all marked blocks again."""
    blocks = [mark for mark in marks if mark.kind in ("content", "template")]
    judged = right = lost = 0
    wrong = []
    shares = progress(pool.map(main_share, iter(blocks)), len(blocks), "marks")
    for mark, share in zip(blocks, shares, strict=True):
        if not isinstance(share, float):
            lost += 1
            continue
        judged += 1
        if (share >= MOSTLY) == (mark.kind == "content"):
            right += 1
        else:
            wrong.append((mark.url, mark.kind, share, mark.text))
    return MarksResult(len(marks), judged, right, lost, tuple(wrong))
