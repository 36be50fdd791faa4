"""What `evaluate_segmentation` gives: figures of pages and engines, and their table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from websegment_scrapy.evaluate.informative import (
    InformativeScores,
    InformativeShares,
    informative_shares,
    informative_table,
)
from websegment_scrapy.evaluate.published import SEGMENTATION
from websegment_scrapy.measure.metrics import (
    Interval,
    adjusted_rand_index,
    bootstrap_mean,
    normalised_mutual_information,
    paired_bootstrap,
)
from websegment_scrapy.measure.report import listed, text_table
from websegment_scrapy.segment.registry import LEARNED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.evaluate.segmentation import PageLabels

__all__ = [
    "CurvePoint",
    "EngineResult",
    "Leaves",
    "PageScores",
    "SegmentationResult",
    "engine_result",
    "score_page",
]

POOR, GOOD = 0.3, 0.6
"""Limits of ARI under and over which pages are counted (GCuts, section 5.1)."""

Leaves = Literal["text", "all"]


@dataclass(frozen=True, slots=True)
class PageScores:
    """Each engine's agreement with the labels of one page, and its CPU time from HTML to labels."""

    leaves: int
    ari: dict[str, float]
    nmi: dict[str, float]
    milliseconds: dict[str, float]
    informative: dict[str, InformativeScores] = field(default_factory=dict)


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
    the shares of pages with an ARI under 0.3 and over 0.6; ``informative`` says how often the
    informative segment was found.
    """

    engine: str
    ari: Interval
    nmi: Interval
    difference: Interval
    poor: float
    good: float
    milliseconds: float
    informative: InformativeShares | None = None


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
        shown = [
            f"{len(self.pages)} labelled pages, {kind}, {self.leaves} leaves; mean over pages, "
            "median CPU ms from HTML to labels" + self._learned(),
            text_table(header, rows),
            *informative_table({each.engine: each.informative for each in self.engines}),
            "Published, each on its own pages:",
            text_table(
                ("method", "ARI", "NMI", f"< {POOR}", f"> {GOOD}", "source"),
                [(row.method, f"{row.ari:.3f}", f"{row.nmi:.3f}", row.poor, row.good, row.source)
                 for row in SEGMENTATION],
            ),
        ]  # fmt: skip
        shown += listed(f"Not measured: {len(self.not_measured)} pages", self.not_measured)
        return "\n\n".join(shown)

    def _learned(self) -> str:
        if not any(result.engine in LEARNED for result in self.engines):
            return ""
        if self.folds:
            return f"; learned engines: {self.folds}-fold by site, nothing of a page's fold seen"
        return "; learned engines: the shipped models, WHICH WERE MADE FROM THESE PAGES"


def score_page(page: PageLabels) -> PageScores:
    """Compare every engine's segments with the gold ones."""
    found = page.found.items()
    return PageScores(
        leaves=len(page.gold),
        ari={name: adjusted_rand_index(page.gold, labels) for name, labels in found},
        nmi={name: normalised_mutual_information(page.gold, labels) for name, labels in found},
        milliseconds=page.milliseconds,
        informative=page.informative,
    )


def engine_result(engine: str, first: str, pages: Sequence[PageScores]) -> EngineResult:
    """Sum up an engine over pages; differences are taken to the ``first`` engine."""
    ari = np.array([page.ari[engine] for page in pages])
    return EngineResult(
        engine=engine,
        ari=bootstrap_mean(ari),
        nmi=bootstrap_mean([page.nmi[engine] for page in pages]),
        difference=paired_bootstrap(ari, [page.ari[first] for page in pages]),
        poor=float((ari < POOR).mean()),
        good=float((ari > GOOD).mean()),
        milliseconds=float(np.median([page.milliseconds[engine] for page in pages])),
        informative=informative_shares(
            [page.informative[engine] for page in pages if engine in page.informative]
        ),
    )


def _ends(interval: Interval, sign: str = "") -> str:
    return f"{interval.low:{sign}.2f} … {interval.high:{sign}.2f}"
