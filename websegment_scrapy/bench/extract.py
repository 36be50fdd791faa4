"""``websegment bench extract``: milliseconds, CPU and memory of extractors on the same pages."""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.bench import charts
from websegment_scrapy.bench.clock import STAGES
from websegment_scrapy.bench.extractors import (
    ENGINE,
    MAIN_TEXT,
    STAGED,
    Extractor,
    ExtractorFailed,
)
from websegment_scrapy.bench.growth import Growth, measure_growth
from websegment_scrapy.bench.spread import Spread
from websegment_scrapy.measure.metrics import word_f1
from websegment_scrapy.measure.report import listed, silent, text_table
from websegment_scrapy.measure.rivals import RIVALS, missing, version_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.bench.extractors import Round
    from websegment_scrapy.measure.report import Progress

__all__ = ["BASE", "Cost", "ExtractBench", "ExtractPlan", "bench_extract"]

BASE = "trafilatura"
"""What the ratios are to, if it was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractPlan:
    """What is measured.

    Attributes
    ----------
    pages, texts
        Their HTML, and the main texts of them if those are known.
    engines, rivals
        By name.
    rounds
        How often each method does all pages, in turn with the others.
    sizes
        Nodes of the pages by which it is seen how costs grow; none: it is not.
    seed
        Of the order of the methods, and of those pages.
    """

    pages: Sequence[str]
    texts: Sequence[str] | None
    engines: Sequence[str]
    rivals: Sequence[str]
    rounds: int
    sizes: Sequence[int]
    seed: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What a method or a stage takes for a page.

    Attributes
    ----------
    ms, cpu_ms
        Wall and CPU time per page: the mean over the pages in each round, spread over the rounds.
    page_median, page_p95
        Wall time over the pages, of each page the median of its rounds.
    to_base
        CPU time by that of `BASE` in the same round.
    memory_mib, growth_mib
        The most that the process had, and how much of it came with the pages.
    f1
        Mean word F1 where the main texts are known.
    """

    method: str
    version: str
    ms: Spread
    cpu_ms: Spread
    page_median: float
    page_p95: float
    to_base: Spread | None = None
    memory_mib: float | None = None
    growth_mib: float | None = None
    f1: float | None = None
    failed: int = 0


@dataclass(slots=True)
class ExtractBench:
    """All that was measured; what could not be is in `not_measured`, with the reason."""

    pages: int
    rounds: int
    seed: int
    costs: list[Cost] = field(default_factory=list)
    stages: list[Cost] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    not_measured: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"bench": "extract", **asdict(self)}

    def tables(self) -> list[str]:
        """Return the results as texts."""
        said = f"{self.pages} pages, {self.rounds} rounds in turn; median (quartiles of the rounds)"
        shown = [f"{said}\n{text_table(_HEADER, [_row(cost) for cost in self.costs])}"]
        if self.stages:
            rows = [(row.method, row.ms.shown(2), row.cpu_ms.shown(2)) for row in self.stages]
            table = text_table(("stage of ours", "ms/page", "CPU ms"), rows)
            shown.append(f"Stages, with the default engine\n{table}")
        if self.growth:
            shown.append(f"CPU ms by elements and texts of a page\n{self._growth_table()}")
        return shown + listed("Not measured:", self.not_measured)

    def _growth_table(self) -> str:
        sizes = sorted({size for row in self.growth for size in row.milliseconds})
        rows = []
        for row in self.growth:
            cells = [
                f"{row.milliseconds[size]:.1f}" if size in row.milliseconds else "–"
                for size in sizes
            ]
            grows = [
                "" if each is None else f"n^{each:.2f}" for each in (row.exponent, row.steepest)
            ]
            rows.append((row.method, *cells, *grows))
        header = ("method", *(f"{size:,}" for size in sizes), "grows as", "at most")
        return text_table(header, rows)

    def picture(self) -> str:
        """Return the results as SVG."""
        title = f"ms per page, {self.pages} pages, {self.rounds} rounds: median and quartiles"
        lines = {row.method: row.milliseconds for row in self.growth if row.method not in STAGES}
        stages = {row.method: row.ms for row in self.stages}
        drawings = [charts.bars(title, {cost.method: cost.ms for cost in self.costs})]
        if stages:
            drawings.append(charts.bars("ms per page by stage of ours", stages, 2))
        if lines:
            drawings.append(
                charts.curves("Cost by size of the page", "elements and texts", "CPU ms", lines)
            )
        return charts.svg(drawings)


def bench_extract(plan: ExtractPlan, progress: Progress = silent) -> ExtractBench:
    """Measure everything in turn; what is not installed or fails is said to be so."""
    found = ExtractBench(len(plan.pages), plan.rounds, plan.seed)
    absent = missing((RIVALS[name].package, RIVALS[name].module) for name in plan.rivals)
    found.not_measured |= absent
    rivals = [name for name in plan.rivals if RIVALS[name].package not in absent]
    methods = [MAIN_TEXT, *(ENGINE + name for name in plan.engines), STAGED, *rivals]
    with ExitStack() as stack:
        running: dict[str, Extractor] = {}
        for method in methods:
            try:
                running[method] = stack.enter_context(Extractor(method))
                running[method].prepare(plan.pages)
            except ExtractorFailed as error:
                running.pop(method, None)
                found.not_measured[method] = str(error)
        rounds = _rounds(running, plan, found, progress)
        _add_costs(found, running, rounds, plan.texts)
        if plan.sizes:
            for method in progress(list(running), len(running), "methods on growing pages"):
                found.growth += measure_growth(running[method], plan.sizes, plan.seed)
    return found


def _rounds(
    running: dict[str, Extractor], plan: ExtractPlan, found: ExtractBench, progress: Progress
) -> dict[str, list[Round]]:
    """Do all pages with each method, in another order each round."""
    chooser = random.Random(plan.seed)
    rounds: dict[str, list[Round]] = {method: [] for method in running}
    turns = []
    for _ in range(plan.rounds):
        order = list(running)
        chooser.shuffle(order)
        turns += order
    for method in progress(turns, len(turns), "turns"):
        if method not in running:
            continue
        try:
            rounds[method].append(running[method].round())
        except ExtractorFailed as error:
            found.not_measured[method] = str(error)
            del running[method], rounds[method]
    return rounds


def _add_costs(
    found: ExtractBench,
    running: dict[str, Extractor],
    rounds: dict[str, list[Round]],
    texts: Sequence[str] | None,
) -> None:
    base = _means(rounds[BASE], BASE, 1) if BASE in rounds else None
    for method, done in rounds.items():
        if len(done[0].failures) == len(done[0].times):
            found.not_measured[method] = next(iter(done[0].failures.values()))
            continue
        if method == STAGED:
            found.stages = [_cost(done, stage, "", None) for stage in STAGES]
            continue
        package = RIVALS[method].package if method in RIVALS else "websegment-scrapy"
        cost = _cost(done, method, version_of(package), base)
        peak = running[method].peak()
        f1 = None
        if texts is not None:
            pairs = zip(texts, done[0].texts, strict=True)
            f1 = float(np.mean([word_f1(gold, text) for gold, text in pairs]))
        known = {name: getattr(cost, name) for name in Cost.__slots__}
        known |= {"memory_mib": peak, "growth_mib": peak - running[method].at_start, "f1": f1}
        found.costs.append(Cost(**known))


def _means(rounds: Sequence[Round], name: str, which: int) -> list[float]:
    """Return the mean over the pages of each round; 0: wall time, 1: CPU."""
    return [
        float(np.mean([times[name][which] for times in done.times if name in times]))
        for done in rounds
    ]


def _cost(rounds: Sequence[Round], name: str, version: str, base: Sequence[float] | None) -> Cost:
    cpu = _means(rounds, name, 1)
    by_page = [
        np.median([done.times[page][name][0] for done in rounds if name in done.times[page]])
        for page in range(len(rounds[0].times))
        if name in rounds[0].times[page]
    ]
    ratios = None if base is None else [own / other for own, other in zip(cpu, base, strict=True)]
    return Cost(
        method=name,
        version=version,
        ms=Spread.of(_means(rounds, name, 0)),
        cpu_ms=Spread.of(cpu),
        page_median=float(np.median(by_page)),
        page_p95=float(np.percentile(by_page, 95)),
        to_base=None if ratios is None else Spread.of(ratios),
        failed=len(rounds[0].failures),
    )


_HEADER = (
    "method", "version", "ms/page", "CPU ms", "median page", "95th percentile",
    f"CPU to {BASE}", "memory MiB", "of it pages", "word F1", "failed",
)  # fmt: skip


def _row(cost: Cost) -> tuple[str, ...]:
    return (
        cost.method,
        cost.version,
        cost.ms.shown(),
        cost.cpu_ms.shown(),
        f"{cost.page_median:.1f}",
        f"{cost.page_p95:.1f}",
        "" if cost.to_base is None else cost.to_base.shown(2),
        "" if cost.memory_mib is None else f"{cost.memory_mib:.0f}",
        "" if cost.growth_mib is None else f"{cost.growth_mib:.0f}",
        "" if cost.f1 is None else f"{cost.f1:.3f}",
        str(cost.failed or ""),
    )
