"""How well engines segment the labelled pages: ARI and NMI over leaves.

The gold segment of a leaf is its nearest labelled ancestor; leaves in no labelled block do not
count. Text leaves are measured by default: the Block Fusion engines say nothing about images.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from websegment_scrapy.evaluate.datasets import DataError
from websegment_scrapy.evaluate.documents import Documents
from websegment_scrapy.evaluate.metrics import (
    Interval,
    adjusted_rand_index,
    bootstrap_mean,
    normalised_mutual_information,
    paired_bootstrap,
)
from websegment_scrapy.evaluate.published import SEGMENTATION
from websegment_scrapy.evaluate.report import silent, text_table
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.decode import decode
from websegment_scrapy.segment.registry import LEARNED, get_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from websegment_scrapy.evaluate.datasets import LabelledPage
    from websegment_scrapy.evaluate.report import Progress
    from websegment_scrapy.learn.training import MetricName
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.pool import AnalysisPool
    from websegment_scrapy.segment.base import Segmenter

__all__ = [
    "CurvePoint",
    "EngineResult",
    "PageLabels",
    "PageScores",
    "SegmentationResult",
    "evaluate_segmentation",
    "gold_segments",
    "label_page",
    "score_page",
]

WSID = "data-wsid"
POOR, GOOD = 0.3, 0.6
"""Limits of ARI under and over which pages are counted (GCuts, section 5.1)."""

FOLDS = 5

Leaves = Literal["text", "all"]


@dataclass(frozen=True, slots=True)
class PageTask:
    """A labelled page to measure; what a worker process gets."""

    html: str | bytes
    blocks: frozenset[str]
    engines: tuple[str, ...]
    leaves: Leaves
    rendered: bool


@dataclass(frozen=True, slots=True, eq=False)
class PageLabels:
    """The leaves of one page that count: gold segments, each engine's labels, and times.

    The measures are taken from them in the parent: scikit-learn is slow to load.
    """

    gold: NDArray[np.int32]
    found: dict[str, NDArray[np.int32]]
    milliseconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class PageScores:
    """Each engine's agreement with the labels of one page, and its CPU time from HTML to labels."""

    leaves: int
    ari: dict[str, float]
    nmi: dict[str, float]
    milliseconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Mean agreement of an engine with one value of its λ or threshold."""

    value: float
    ari: float
    nmi: float


@dataclass(frozen=True, slots=True)
class EngineResult:
    """One engine over all measured pages.

    ``difference`` is the paired difference of ARI to the first engine; ``poor`` and ``good`` are
    the shares of pages with an ARI under 0.3 and over 0.6.
    """

    engine: str
    ari: Interval
    nmi: Interval
    difference: Interval
    poor: float
    good: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class SegmentationResult:
    """All engines over the labelled pages, and the pages that could not be measured."""

    rendered: bool
    leaves: Leaves
    folds: int
    engines: tuple[EngineResult, ...]
    pages: dict[str, PageScores]
    not_measured: dict[str, str]
    curves: dict[str, list[CurvePoint]]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"evaluation": "segmentation", **asdict(self)}

    def table(self) -> str:
        """Return the results as text, the published figures below them."""
        first = self.engines[0].engine
        header = (
            "engine", "ARI", "95 %", f"to {first}", "95 %", "NMI", "95 %",
            f"< {POOR}", f"> {GOOD}", "ms",
        )  # fmt: skip
        rows = [
            (
                result.engine,
                f"{result.ari.mean:.3f}",
                _ends(result.ari),
                "" if number == 0 else f"{result.difference.mean:+.3f}",
                "" if number == 0 else _ends(result.difference, sign="+"),
                f"{result.nmi.mean:.3f}",
                _ends(result.nmi),
                f"{result.poor:.0%}",
                f"{result.good:.0%}",
                f"{result.milliseconds:.1f}",
            )
            for number, result in enumerate(self.engines)
        ]
        kind = "rendered" if self.rendered else "not rendered"
        parts = [
            f"{len(self.pages)} labelled pages, {kind}, {self.leaves} leaves; mean over pages, "
            "median CPU ms from HTML to labels" + self._learned(),
            text_table(header, rows),
            "Published, each on its own pages:",
            text_table(
                ("method", "ARI", "NMI", f"< {POOR}", f"> {GOOD}", "source"),
                [(row.method, f"{row.ari:.3f}", f"{row.nmi:.3f}", row.poor, row.good, row.source)
                 for row in SEGMENTATION],
            ),
        ]  # fmt: skip
        if self.not_measured:
            parts.append(
                f"Not measured: {len(self.not_measured)} pages\n"
                + "\n".join(f"  {name}: {reason}" for name, reason in self.not_measured.items())
            )
        return "\n\n".join(parts)

    def _learned(self) -> str:
        if not any(result.engine in LEARNED for result in self.engines):
            return ""
        if self.folds:
            return f"; learned engines: {self.folds}-fold by site, nothing of a page's fold seen"
        return "; learned engines: the shipped models, WHICH WERE MADE FROM THESE PAGES"


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
    metric: MetricName = "lmnn",
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
    metric
        How the metric of the folds' models is learned.
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
    kept: dict[str, PageTask] = {}

    def tasks() -> Iterator[PageTask | AnalysisError]:
        with contextlib.closing(Documents(render=render, snapshots=snapshots)) as documents:
            for page in pages:
                try:
                    html = documents.read(page)
                except AnalysisError as error:
                    yield error
                else:
                    kept[page.name] = PageTask(html, frozenset(page.blocks), others, leaves, render)
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
            good, folds=folds, workers=workers, curves=curves, metric=metric, progress=progress
        )
        labelled = {name: _joined(labelled[name], found[name], engines) for name in labelled}
    measured = {name: score_page(page) for name, page in labelled.items()}
    results = tuple(_summary(name, engines[0], list(measured.values())) for name in engines)
    return SegmentationResult(render, leaves, folds, results, measured, failed, points)


def _joined(one: PageLabels, two: PageLabels, engines: Sequence[str]) -> PageLabels:
    """Put the results of two groups of engines on one page together, in the order asked for."""
    found, times = {**one.found, **two.found}, {**one.milliseconds, **two.milliseconds}
    return PageLabels(
        one.gold, {name: found[name] for name in engines}, {name: times[name] for name in engines}
    )


def label_page(task: PageTask, engine_of: Callable[[str], Segmenter] = get_engine) -> PageLabels:
    """Segment one page with every engine; runs in a worker process."""
    start = time.process_time()
    html = decode(task.html) if isinstance(task.html, bytes) else task.html
    tree = build_tree(html, attributes=(WSID,))
    parsing = time.process_time() - start
    if task.rendered and tree.layout != "rendered":
        raise AnalysisError("its snapshot has no readable layout: remove it to render it again")
    gold = gold_segments(tree, task.blocks)
    counts = gold >= 0
    if task.leaves == "text":
        counts &= tree.text_end[tree.leaves] > tree.text_start[tree.leaves]
    if not counts.any():
        raise AnalysisError(f"no {task.leaves} leaf lies in a labelled block")
    found, milliseconds = {}, {}
    for name in task.engines:
        engine = engine_of(name)
        start = time.process_time()
        labels = engine.segment(tree)
        milliseconds[name] = 1000 * (parsing + time.process_time() - start)
        found[name] = labels[counts]
    return PageLabels(gold[counts], found, milliseconds)


def score_page(page: PageLabels) -> PageScores:
    """Compare every engine's segments with the gold ones."""
    found = page.found.items()
    return PageScores(
        leaves=len(page.gold),
        ari={name: adjusted_rand_index(page.gold, labels) for name, labels in found},
        nmi={name: normalised_mutual_information(page.gold, labels) for name, labels in found},
        milliseconds=page.milliseconds,
    )


def gold_segments(tree: PageTree, blocks: frozenset[str]) -> NDArray[np.int32]:
    """Return for each leaf the node of its nearest labelled ancestor, or -1.

    Every element of a labelled page has a ``data-wsid``; only those in ``blocks`` are labelled.
    An element that the parser split in two (tag soup) keeps its id, so the parts are one segment.
    """
    wsid = tree.attributes[WSID]
    number = {name: position for position, name in enumerate(sorted(blocks))}
    nearest = np.full(len(tree), -1, dtype=np.int32)
    for node, parent in enumerate(tree.parent.tolist()):
        own = number.get(wsid.get(node, ""), -1)
        nearest[node] = own if own >= 0 or parent < 0 else nearest[parent]
    return nearest[tree.leaves]


def _summary(engine: str, first: str, pages: Sequence[PageScores]) -> EngineResult:
    ari = np.array([page.ari[engine] for page in pages])
    return EngineResult(
        engine=engine,
        ari=bootstrap_mean(ari),
        nmi=bootstrap_mean([page.nmi[engine] for page in pages]),
        difference=paired_bootstrap(ari, [page.ari[first] for page in pages]),
        poor=float((ari < POOR).mean()),
        good=float((ari > GOOD).mean()),
        milliseconds=float(np.median([page.milliseconds[engine] for page in pages])),
    )


def _ends(interval: Interval, sign: str = "") -> str:
    return f"{interval.low:{sign}.2f} … {interval.high:{sign}.2f}"
