"""A page as the viewer shows it: its segments with their reasons, its main text by paragraphs.

`look_at` runs in a worker process of limited time and memory, and answers with JSON: what it says
of a page comes from the page.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.analysis import analyze
from websegment_scrapy.explanation import leaf_evidence, leaf_rules
from websegment_scrapy.page.words import words_by_node
from websegment_scrapy.printable import shortened
from websegment_scrapy.view.reasons import EVIDENCE, RULES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from websegment_scrapy.analysis import AnalyzedPage
    from websegment_scrapy.page.capture import Captured
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.segments import Segment

__all__ = ["LookedAt", "analyzed", "look_at"]

MOST_SEGMENTS = 2000
"""That are shown; a page may have any number."""

MOST_PARAGRAPHS = 3000
MAIN_TEXT = 200_000
"""Characters of the main text that are shown: pages of some megabytes have one line of it all."""

TEXT, LEFT, XPATH, XPATHS, REASONS = 600, 200, 1000, 20, 4
"""Characters of a segment's text, of what is left out of it, and of an XPath; XPaths and kinds of
evidence that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """What a worker is asked: a document, and how it is to be judged."""

    html: str | bytes | Captured
    url: str
    content_type: str | None
    engine: str
    main_text: str


def analyzed(task: LookedAt) -> AnalyzedPage:
    """Analyse a page as it is to be judged."""
    return analyze(
        task.html,
        url=task.url,
        content_type=task.content_type,
        engine=task.engine,
        main_text=task.main_text,
    )


def look_at(task: LookedAt) -> str:
    """Analyse a page; return all that the viewer shows of it as JSON."""
    page = analyzed(task)
    segments = _segments(page)
    box = page.tree.box[page.tree.leaves]
    width, height = (
        (int((box[:, side] + box[:, side + 2]).max()) if len(box) else 0) for side in (0, 1)
    )
    return json.dumps(
        {
            "url": shortened(page.url, TEXT),
            "title": shortened(page.title, TEXT),
            "engine": page.engine,
            "method": task.main_text,
            "rendered": page.rendered,
            "type": page.page_type,
            "probability": page.page_type_probability,
            "score": page.main_text_score,
            "words": page.words,
            "page_words": page.page_words,
            "width": max(width, 1),
            "height": max(height, 1),
            "segments": segments,
            "all_segments": len(page.segments),
            "groups": [
                {"id": group.id, "parent": group.parent, "cut": group.cut}
                for group in page.groups[:MOST_SEGMENTS]
            ],
            "paragraphs": _paragraphs(page),
        }
    )


def _segments(page: AnalyzedPage) -> list[dict[str, Any]]:
    """Describe the segments; where there are too many, those with most words."""
    evidence, rules = leaf_evidence(page), leaf_rules(page)
    tree, words = page.tree, words_by_node(page.tree)
    main = set((tree.leaves if page.templates is None else page.templates.main).tolist())
    kept = [len(words[leaf]) if leaf in main else 0 for leaf in tree.leaves.tolist()]
    lengths = (page.tree.text_end - page.tree.text_start)[page.tree.leaves].tolist()
    chosen: Sequence[Any] = page.segments
    if len(chosen) > MOST_SEGMENTS:
        chosen = sorted(chosen, key=lambda each: -each.words)[:MOST_SEGMENTS]
        chosen = sorted(chosen, key=lambda each: each.id)
    return [
        {
            "id": segment.id,
            "role": segment.role,
            "templateness": _rounded(segment.templateness),
            "box": list(segment.box),
            "words": segment.words,
            "kept": sum(kept[leaf] for leaf in segment.leaves.tolist()),
            "left": _left(tree, segment, main),
            "links": segment.links,
            "linked_words": segment.linked_words,
            "informative": segment.informative,
            "parent": segment.parent,
            "xpaths": [shortened(path, XPATH) for path in segment.xpaths[:XPATHS]],
            "more_xpaths": max(0, len(segment.xpaths) - XPATHS),
            "text": shortened(segment.text, TEXT),
            "evidence": _together(
                [(evidence[leaf], lengths[leaf]) for leaf in segment.leaves.tolist()]
            ),
            "rules": _most([rules[leaf] for leaf in segment.leaves.tolist()]),
        }
        for segment in chosen
    ]


def _left(tree: PageTree, segment: Segment, main: Collection[int]) -> str:
    """Return what of a segment is left out of the main text, where that has some of it."""
    nodes = tree.leaves[segment.leaves]
    left = [node for node in nodes.tolist() if node not in main]
    if len(left) == len(nodes):
        return ""
    texts = filter(None, (text.strip() for text in tree.texts_of(np.asarray(left, dtype=int))))
    return shortened(" ".join(texts), LEFT)


def _together(found: Sequence[tuple[dict[str, float] | None, int]]) -> list[list[Any]]:
    """Return the evidence of several leaves: the mean of each kind by their characters."""
    told = [(each, max(length, 1)) for each, length in found if each is not None]
    kinds = {kind for each, _ in told for kind in each}
    total = sum(length for _, length in told)
    means = {
        kind: sum(each.get(kind, 0.0) * length for each, length in told) / total for kind in kinds
    }
    strongest = sorted(means, key=lambda kind: (-abs(means[kind]), kind))[:REASONS]
    return [[kind, round(means[kind], 2), EVIDENCE.get(kind, "")] for kind in strongest]


def _most(rules: Sequence[str | None]) -> list[list[str]]:
    """Return the rules of most leaves, each with what it means."""
    found = Counter(filter(None, rules)).most_common(2)
    return [[rule, RULES.get(rule, "")] for rule, _ in found]


def _paragraphs(page: AnalyzedPage) -> list[list[Any]]:
    """Return the lines of the main text, each with the segments that its words stand in."""
    tree = page.tree
    nodes = page.templates.main if page.templates is not None else tree.leaves
    label = dict(zip(tree.leaves.tolist(), page.labels.tolist(), strict=True))
    waiting = [
        (_bare(text), label.get(node))
        for node, text in zip(nodes.tolist(), tree.texts_of(np.asarray(nodes)), strict=True)
        if text
    ]
    found: list[list[Any]] = []
    at, room = 0, MAIN_TEXT
    for line in page.main_text.split("\n")[:MOST_PARAGRAPHS]:
        rest = _bare(line)
        if not rest or room <= 0:
            continue
        own: list[int] = []
        # What stands in the text and in no node (a bullet, a space) is passed over.
        while at < len(waiting):
            text, segment = waiting[at]
            place = rest.find(text) if text else 0
            if place < 0:
                break
            rest = rest[place + len(text) :]
            if segment is not None and segment not in own:
                own.append(segment)
            at += 1
        found.append([shortened(line, room), own])
        room -= len(line)
    return found


def _bare(text: str) -> str:
    return "".join(text.split())


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
