"""How well engines segment the labelled pages: ARI and NMI over leaves.

The gold segment of a leaf is its nearest labelled ancestor; leaves in no labelled block do not
count. Text leaves are measured by default: the Block Fusion engines say nothing about images.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.evaluate.informative import (
    InformativeScores,
    informative_gold,
    score_informative,
)
from websegment_scrapy.evaluate.segmentation_result import (
    CurvePoint,
    SegmentationResult,
    engine_result,
    score_page,
)
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.measure.datasets import DataError
from websegment_scrapy.measure.documents import Documents
from websegment_scrapy.measure.report import silent
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment.registry import LEARNED, get_engine
from websegment_scrapy.segment.segments import relabel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from websegment_scrapy.evaluate.segmentation_result import Leaves
    from websegment_scrapy.measure.datasets import LabelledPage
    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.page.capture import Captured
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.pool import AnalysisPool
    from websegment_scrapy.segment.base import Segmenter

__all__ = [
    "CurvePoint",
    "GoldTask",
    "PageLabels",
    "SegmentationResult",
    "block_numbers",
    "evaluate_segmentation",
    "gold_segments",
    "gold_task",
    "label_page",
]

WSID = "data-wsid"
FOLDS = 5


@dataclass(frozen=True, slots=True)
class GoldTask:
    """A labelled page to measure; what a worker process gets.

    ``types`` gives the type of each of its blocks, where it is known.
    """

    html: str | bytes | Captured
    blocks: frozenset[str]
    engines: tuple[str, ...]
    leaves: Leaves
    rendered: bool
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class PageLabels:
    """The leaves of one page that count: gold segments, each engine's labels, and times.

    The measures are taken from them in the parent: scikit-learn is slow to load.
    """

    gold: NDArray[np.int32]
    found: dict[str, NDArray[np.int32]]
    milliseconds: dict[str, float]
    informative: dict[str, InformativeScores] = field(default_factory=dict)


def evaluate_segmentation(
    pages: Sequence[LabelledPage],
    engines: Sequence[str],
    pool: AnalysisPool,
    *,
    render: bool,
    leaves: Leaves = "text",
    snapshots: Path | None = None,
    folds: int = FOLDS,
    curves: bool = False,
    workers: int = 1,
    progress: Progress = silent,
) -> SegmentationResult:
    """Measure engines on labelled pages.

    Parameters
    ----------
    pages
        The labelled pages.
    engines
        Names of engines; differences are taken to the first.
    pool
        The processes that analyse.
    render
        Whether the pages are rendered first, each once for all engines.
    leaves
        Which leaves count.
    snapshots
        Folder in which rendered pages are kept, and from which they are taken when they are there.
    folds
        Learned engines are trained on all folds but the page's own; 0 takes the shipped models.
    curves
        Whether learned engines are also measured over values of λ or of their threshold.
    workers
        Processes that train.
    progress
        Shows how far it is.

    Raises
    ------
    UnknownEngine
        If there is no engine of one of the names.
    DataError
        If not a single page could be measured.
    """
    for name in engines:
        get_engine(name)
    learned = tuple(name for name in engines if name in LEARNED) if folds else ()
    others = tuple(name for name in engines if name not in learned)
    kept: dict[str, GoldTask] = {}

    def tasks() -> Iterator[GoldTask | AnalysisError]:
        with contextlib.closing(Documents(render=render, snapshots=snapshots)) as documents:
            for page in pages:
                try:
                    html = documents.read(page)
                except AnalysisError as error:
                    yield error
                else:
                    kept[page.name] = gold_task(page, html, others, leaves, rendered=render)
                    yield kept[page.name]

    labelled: dict[str, PageLabels] = {}
    failed: dict[str, str] = {}
    outcomes = progress(pool.map(label_page, tasks()), len(pages), "labelled pages")
    for page, outcome in zip(pages, outcomes, strict=True):
        if isinstance(outcome, AnalysisError):
            failed[page.name] = str(outcome)
        else:
            labelled[page.name] = outcome
    if not labelled:
        raise DataError(
            f"none of {len(failed)} labelled pages could be measured; the first: "
            f"{next(iter(failed.values()), 'there is none')}"
        )
    points: dict[str, list[CurvePoint]] = {}
    if learned:
        from websegment_scrapy.evaluate.folds import cross_validate

        good = {name: replace(kept[name], engines=learned) for name in labelled}
        found, points = cross_validate(
            good, folds=folds, workers=workers, curves=curves, progress=progress
        )
        labelled = {name: _joined(labelled[name], found[name], engines) for name in labelled}
    measured = {name: score_page(page) for name, page in labelled.items()}
    results = tuple(engine_result(name, engines[0], list(measured.values())) for name in engines)
    return SegmentationResult(render, leaves, folds, results, measured, failed, points)


def gold_task(
    page: LabelledPage,
    html: bytes | Captured,
    engines: tuple[str, ...] = (),
    leaves: Leaves = "text",
    *,
    rendered: bool,
) -> GoldTask:
    """Put a labelled page and its document together."""
    types = {block: kind for block, (_, kind) in page.blocks.items()}
    return GoldTask(html, frozenset(page.blocks), engines, leaves, rendered, types)


def _joined(one: PageLabels, two: PageLabels, engines: Sequence[str]) -> PageLabels:
    """Put the results of two groups of engines on one page together, in the order asked for."""
    found, times = {**one.found, **two.found}, {**one.milliseconds, **two.milliseconds}
    return PageLabels(
        one.gold,
        {name: found[name] for name in engines},
        {name: times[name] for name in engines},
        {**one.informative, **two.informative},
    )


def label_page(task: GoldTask, engine_of: Callable[[str], Segmenter] = get_engine) -> PageLabels:
    """Segment one page with every engine; runs in a worker process."""
    start = time.process_time()
    tree = build_tree(task.html, attributes=(WSID,))
    parsing = time.process_time() - start
    if task.rendered and tree.layout != "rendered":
        raise AnalysisError("its snapshot has no readable layout: remove it to render it again")
    gold = gold_segments(tree, task.blocks)
    counts = gold >= 0
    if task.leaves == "text":
        counts &= tree.is_text[tree.leaves]
    if not counts.any():
        raise AnalysisError(f"no {task.leaves} leaf lies in a labelled block")
    number = block_numbers(task.blocks)
    types = {number[block]: kind for block, kind in task.types.items()}
    content = informative_gold(tree, gold, counts, types)
    found, milliseconds, informative = {}, {}, {}
    for name in task.engines:
        engine = engine_of(name)
        start = time.process_time()
        labels = engine.segment(tree)
        milliseconds[name] = 1000 * (parsing + time.process_time() - start)
        found[name] = labels[counts]
        informative[name] = score_informative(tree, relabel(labels), content)
    return PageLabels(gold[counts], found, milliseconds, informative)


def block_numbers(blocks: frozenset[str]) -> dict[str, int]:
    """Return a number for each block of a page, in the order of their ids."""
    return {name: position for position, name in enumerate(sorted(blocks))}


def gold_segments(tree: PageTree, blocks: frozenset[str]) -> NDArray[np.int32]:
    """Return for each leaf the number of its nearest labelled ancestor, or -1.

    Every element of a labelled page has a ``data-wsid``; only those in ``blocks`` are labelled.
    An element that the parser split in two (tag soup) keeps its id, so the parts are one segment.
    """
    wsid = tree.attributes[WSID]
    number = block_numbers(blocks)
    nearest = np.full(len(tree), -1, dtype=np.int32)
    for node, parent in enumerate(tree.parent.tolist()):
        own = number.get(wsid.get(node, ""), -1)
        nearest[node] = own if own >= 0 or parent < 0 else nearest[parent]
    return nearest[tree.leaves]
