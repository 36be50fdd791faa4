"""Main texts against the texts that people marked: word F1 and time, beside other extractors.

On ``wcxb_dev``, whose pages the shipped model was made from, pages are dealt into folds by host and
each is judged by a model that has seen no page of its fold; on the other sets the shipped model is
measured as it is. All methods run on the same page one after the other in the same process, so
their times may be compared with each other.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from websegment_scrapy.evaluate.methods import RIVALS
from websegment_scrapy.extraction import extract
from websegment_scrapy.measure.metrics import paired_bootstrap, word_f1
from websegment_scrapy.measure.report import silent, text_table
from websegment_scrapy.measure.rivals import is_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from websegment_scrapy.content.model import ContentModel
    from websegment_scrapy.measure.datasets import ContentPage
    from websegment_scrapy.measure.report import Progress

__all__ = [
    "OURS",
    "TRAINING_SET",
    "ExtractionResult",
    "MethodScore",
    "evaluate_extraction",
    "fold_models",
]

OURS = "websegment"
TRAINING_SET = "wcxb_dev"
FOLD_SEED = "evaluation"


@dataclass(frozen=True, slots=True)
class MethodScore:
    """One method on the pages of one set, or of one type of its pages.

    Attributes
    ----------
    f1
        Mean word F1.
    difference
        Ours less this one's, with the ends of the 95 % interval; ``None`` for ours.
    median_ms, p95_ms
        Milliseconds per page.
    """

    method: str
    page_type: str
    pages: int
    f1: float
    difference: tuple[float, float, float] | None
    median_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """The scores on one set: all pages (type ``all``), then each type of pages."""

    name: str
    folds: int
    scores: tuple[MethodScore, ...]
    not_installed: tuple[str, ...]

    def table(self) -> str:
        """Write the result for people."""
        seen = (
            f"{self.folds}-fold by host: no page was seen in training"
            if self.folds
            else "zero-shot: no page of this set was seen in training"
        )
        rows = [
            [
                score.page_type,
                score.method,
                str(score.pages),
                f"{score.f1:.4f}",
                _interval(score.difference),
                f"{score.median_ms:.1f}",
                f"{score.p95_ms:.1f}",
            ]
            for score in self.scores
        ]
        header = ["pages", "method", "n", "word F1", "ours − it [95 %]", "median ms", "95 % ms"]
        lines = [f"{self.name} ({seen})", text_table(header, rows)]
        lines += [f"{name} is not installed and was not measured" for name in self.not_installed]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def fold_models(
    pages: Sequence[ContentPage], folds: int, progress: Progress = silent
) -> Callable[[ContentPage], ContentModel]:
    """Train one model for each fold of hosts left out; return which one judges a page.

    Parameters
    ----------
    pages
        The pages with their main texts.
    folds
        Number of folds.
    progress
        Shows how far it is.
    """
    from websegment_scrapy.learn.content import content_examples, fold_of, train_content

    def fold(page: ContentPage) -> int:
        return fold_of(f"{FOLD_SEED} {_host(page)}", folds)

    examples = content_examples(pages, progress)
    models = []
    for number in progress(range(folds), folds, "folds"):
        seen = [
            example
            for page, example in zip(pages, examples, strict=True)
            if example is not None and fold(page) != number
        ]
        models.append(train_content(seen, threads=None, calibrate=False))
    return lambda page: models[fold(page)]


def evaluate_extraction(
    name: str,
    pages: Sequence[ContentPage],
    *,
    model_of: Callable[[ContentPage], ContentModel] | None = None,
    folds: int = 0,
    progress: Progress = silent,
) -> ExtractionResult:
    """Measure our main text and the other extractors' on a set.

    Parameters
    ----------
    name
        The set's name, for the table.
    pages
        Its pages.
    model_of
        The model for each page; by default the shipped one.
    folds
        How many folds ``model_of`` is from, for the table.
    progress
        Shows how far it is.
    """
    rivals = [rival for rival in RIVALS if is_installed(rival)]
    functions = {rival: RIVALS[rival].load() for rival in rivals}
    f1: dict[str, list[float]] = {method: [] for method in (OURS, *rivals)}
    seconds: dict[str, list[float]] = {method: [] for method in (OURS, *rivals)}
    types = []
    for page in progress(iter(pages), len(pages), f"pages of {name}"):
        model = None if model_of is None else model_of(page)
        types.append(page.page_type)
        for method in f1:
            started = time.perf_counter()
            if method == OURS:
                text = extract(page.html, url=page.url, model=model).main_text
            else:
                text = functions[method](page.html)
            seconds[method].append(time.perf_counter() - started)
            f1[method].append(word_f1(page.main_text, text))
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, page_type in enumerate(types):
        groups["all"].append(number)
        if page_type:
            groups[page_type].append(number)
    scores = [
        _score(method, page_type, numbers, f1, seconds)
        for page_type, numbers in sorted(groups.items(), key=lambda group: group[0] != "all")
        for method in f1
    ]
    missing = tuple(rival for rival in RIVALS if rival not in rivals)
    return ExtractionResult(name, folds, tuple(scores), missing)


def _interval(difference: tuple[float, float, float] | None) -> str:
    return "" if difference is None else "{:+.4f} [{:+.4f}, {:+.4f}]".format(*difference)


def _score(
    method: str,
    page_type: str,
    numbers: list[int],
    f1: dict[str, list[float]],
    seconds: dict[str, list[float]],
) -> MethodScore:
    own = np.array(f1[method])[numbers]
    times = np.array(seconds[method])[numbers] * 1000
    difference = None
    if method != OURS:
        interval = paired_bootstrap(np.array(f1[OURS])[numbers], own)
        difference = (interval.mean, interval.low, interval.high)
    return MethodScore(
        method=method,
        page_type=page_type,
        pages=len(numbers),
        f1=float(own.mean()),
        difference=difference,
        median_ms=float(np.median(times)),
        p95_ms=float(np.quantile(times, 0.95)),
    )


def _host(page: ContentPage) -> str:
    return urlsplit(page.url).hostname or page.id
