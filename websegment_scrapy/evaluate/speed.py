"""How long engines take: on the labelled pages beside trafilatura, and as pages grow.

Times are CPU time of one core. On the labelled pages they count from the HTML (with its layout, if
the pages are rendered) to the labels of the leaves; trafilatura gets the same HTML without the
layout, in the same run, page by page in turn, and does what it does by default.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.measure.documents import Documents
from websegment_scrapy.measure.report import silent, text_table
from websegment_scrapy.measure.rivals import is_installed
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.page.decode import decode
from websegment_scrapy.segment.registry import get_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from websegment_scrapy.measure.datasets import LabelledPage
    from websegment_scrapy.measure.report import Progress

__all__ = ["GROWTH", "SpeedResult", "evaluate_speed", "long_page"]

GROWTH = (100, 300, 1000, 3000, 10_000)
"""Leaves of the pages made to see how time grows."""

REPEATS = 3
"""Each page is done this often in turn; the fastest counts, the others were disturbed."""

RIVAL = "trafilatura"
TREE = "HTML to tree"


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of one method over the labelled pages."""

    method: str
    median: float
    high: float
    ratio: float | None


@dataclass(frozen=True, slots=True)
class Growth:
    """Milliseconds from tree to labels by number of leaves, and the exponent fitted to them."""

    engine: str
    milliseconds: dict[int, float]
    exponent: float


@dataclass(frozen=True, slots=True)
class SpeedResult:
    """Times of all engines."""

    rendered: bool
    pages: int
    timings: tuple[Timing, ...]
    growth: tuple[Growth, ...]
    not_measured: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"evaluation": "speed", **asdict(self)}

    def table(self) -> str:
        """Return the results as text."""
        kind = "rendered" if self.rendered else "not rendered"
        shown = [
            f"{self.pages} labelled pages, {kind}; CPU ms of one core from HTML to labels",
            text_table(
                ("method", "median", "95th percentile", f"to {RIVAL}"),
                [
                    (
                        row.method,
                        f"{row.median:.1f}",
                        f"{row.high:.1f}",
                        "" if row.ratio is None else f"{row.ratio:.2f}",
                    )
                    for row in self.timings
                ],
            ),
            "Pages made longer; CPU ms from tree to labels",
            text_table(
                ("engine", *(f"{leaves:,} leaves" for leaves in GROWTH), "grows as"),
                [
                    (
                        row.engine,
                        *(f"{row.milliseconds[leaves]:.1f}" for leaves in GROWTH),
                        f"n^{row.exponent:.2f}",
                    )
                    for row in self.growth
                ],
            ),
        ]
        return "\n\n".join(shown)


def evaluate_speed(
    pages: Sequence[LabelledPage],
    engines: Sequence[str],
    *,
    render: bool,
    snapshots: Path | None = None,
    progress: Progress = silent,
) -> SpeedResult:
    """Time engines on labelled pages, and on longer and longer ones; in this process alone."""
    times: dict[str, list[float]] = {TREE: [], **{name: [] for name in engines}}
    failed: dict[str, str] = {}
    rival = import_module(RIVAL).extract if is_installed(RIVAL) else None
    if rival:
        times[RIVAL] = []
    with contextlib.closing(Documents(render=render, snapshots=snapshots)) as documents:
        for page in progress(iter(pages), len(pages), "labelled pages"):
            try:
                raw = documents.read(page)
            except AnalysisError as error:
                failed[page.name] = str(error)
                continue
            html = decode(raw) if isinstance(raw, bytes) else raw
            found = _times(html, engines, rival)
            for method, milliseconds in found.items():
                times[method].append(milliseconds)
    base = float(np.median(times[RIVAL])) if rival and times[RIVAL] else None
    return SpeedResult(
        rendered=render,
        pages=len(times[TREE]),
        timings=tuple(_timing(method, values, base) for method, values in times.items()),
        growth=tuple(_growth(name) for name in progress(iter(engines), len(engines), "growth")),
        not_measured=failed,
    )


def long_page(leaves: int) -> str:
    """Return a page with about this many leaves: a menu, articles in sections, lists, a footer."""
    made_of = ["<ul>" + "".join(f"<li><a href=/{n}>Part {n}</a></li>" for n in range(8)) + "</ul>"]
    made, number = 8, 0
    while made < leaves - 2:
        number += 1
        size = 3 + number * 7 % 11
        if number % 5 == 4:
            rows = "".join(f"<li><a href=/{number}-{n}>Entry {n}</a></li>" for n in range(size))
            made_of.append(f"<div><h3>List {number}</h3><ul>{rows}</ul></div>")
        else:
            texts = "".join(
                f"<p>Sentence {n} of article {number}. {'It has more words. ' * (n % 4)}</p>"
                for n in range(size)
            )
            made_of.append(f"<div><h2>Article {number}</h2>{texts}</div>")
        made += size + 1
    groups = ["".join(made_of[start : start + 6]) for start in range(0, len(made_of), 6)]
    body = "".join(f"<div class=group>{group}</div>" for group in groups)
    return f"<html><body><div>{body}</div><div><p>Imprint</p><p>Contact</p></div></body></html>"


def _times(
    html: str | Captured, engines: Sequence[str], rival: Callable[[str], object] | None
) -> dict[str, float]:
    found: dict[str, float] = {}
    plain = html.plain() if isinstance(html, Captured) else html
    for _ in range(REPEATS):
        start = time.process_time()
        tree = build_tree(html)
        parsing = _since(start)
        _keep(found, TREE, parsing)
        for name in engines:
            engine = get_engine(name)
            start = time.process_time()
            engine.segment(tree)
            _keep(found, name, parsing + _since(start))
        if rival:
            start = time.process_time()
            rival(plain)
            _keep(found, RIVAL, _since(start))
    return found


def _since(start: float) -> float:
    return 1000 * (time.process_time() - start)


def _keep(found: dict[str, float], name: str, milliseconds: float) -> None:
    found[name] = min(found.get(name, np.inf), milliseconds)


def _timing(method: str, values: list[float], base: float | None) -> Timing:
    median = float(np.median(values)) if values else 0.0
    high = float(np.percentile(values, 95)) if values else 0.0
    return Timing(method, median, high, median / base if base else None)


def _growth(name: str) -> Growth:
    engine = get_engine(name)
    found: dict[str, float] = {}
    counts = []
    for leaves in GROWTH:
        tree = build_tree(long_page(leaves))
        counts.append(len(tree.leaves))
        for _ in range(REPEATS):
            start = time.process_time()
            engine.segment(tree)
            _keep(found, str(leaves), _since(start))
    milliseconds = {leaves: found[str(leaves)] for leaves in GROWTH}
    exponent = np.polyfit(np.log(counts), np.log([max(t, 1e-3) for t in milliseconds.values()]), 1)
    return Growth(name, milliseconds, float(exponent[0]))
