"""Types of pages against those that people gave them: F1 of each type, and who is taken for whom.

Pages are dealt into folds by host; each is judged by a model that has seen no page of its fold, and
its main text is found by a content model that has not either. The pages that are learned from have
the main text of the shipped content model, which knows them: so it is for the shipped model too.

One table answers two papers. WPS (page classification) sets terms by position against all terms of
the page without any structure. PageLevel (Table 3) gives one and the same classifier the full text,
and what is left of it when the template is gone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.content.page_templates import page_templates
from websegment_scrapy.learn.content import content_examples, fold_of, train_content
from websegment_scrapy.learn.page_types import (
    TermTable,
    TypeExample,
    make_type_example,
    train_types,
)
from websegment_scrapy.measure.report import silent, text_table
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.words import words
from websegment_scrapy.page_types.terms import POSITIONS, TEXT_POSITIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.measure.datasets import ContentPage
    from websegment_scrapy.measure.report import Progress

__all__ = ["TYPE_FOLDS", "VARIANTS", "TypeResult", "TypeScore", "VariantScore", "evaluate_types"]

FOLD_SEED = "evaluation"
"""The folds are those of `evaluate.extraction`."""

ASIDE_SEED, ASIDE = "aside", 5
"""One host of this many was put aside before anything was chosen: those of fold 0 by this seed."""

TYPE_FOLDS = 5
FULL, LEFT, MAIN = "full text", "PageLevel's", "main text"
SHIPPED = "all positions"
NAMES = tuple(each for each in POSITIONS if each.startswith(("title", "told", "tag", "name")))
VARIANTS: dict[str, tuple[str, ...]] = {
    FULL: (FULL,),
    LEFT: (LEFT,),
    MAIN: (MAIN,),
    "text by position": TEXT_POSITIONS,
    "with names": (*TEXT_POSITIONS, *NAMES),
    SHIPPED: POSITIONS,
}
"""What the same classifier is given: the positions of each row; the last is what is shipped."""

BANDS = (0.0, 0.4, 0.6, 0.8, 1.01)
"""Ends of the ranges of probabilities in which it is counted how many are right."""


@dataclass(frozen=True, slots=True)
class VariantScore:
    """What the classifier reaches with some terms: means over the types, and the share right."""

    terms: str
    precision: float
    recall: float
    f1: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class TypeScore:
    """One type by the shipped terms."""

    page_type: str
    pages: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class TypeResult:
    """The scores of all variants, and of the last one those of each type.

    Attributes
    ----------
    pages, learned
        How many pages were judged, and learned from on the average.
    how
        How they were dealt.
    confusion
        Of each type (row) how many pages were taken for each type (column).
    bands
        Pages, mean probability and share right in each range of probabilities.
    """

    how: str
    pages: int
    learned: float
    variants: tuple[VariantScore, ...]
    types: tuple[TypeScore, ...]
    confusion: tuple[tuple[int, ...], ...]
    bands: tuple[tuple[int, float, float], ...]

    def table(self) -> str:
        """Write the result for people."""
        names = [score.page_type for score in self.types]
        variants = [
            [s.terms, *(f"{each:.3f}" for each in (s.precision, s.recall, s.f1, s.accuracy))]
            for s in self.variants
        ]
        types = [
            [s.page_type, str(s.pages), *(f"{each:.3f}" for each in (s.precision, s.recall, s.f1))]
            for s in self.types
        ]
        confusion = [
            [name, *map(str, row)] for name, row in zip(names, self.confusion, strict=True)
        ]
        bands = [
            [f"{low:.1f} to {min(high, 1.0):.1f}", str(pages), f"{mean:.3f}", f"{right:.3f}"]
            for low, high, (pages, mean, right) in zip(BANDS, BANDS[1:], self.bands, strict=False)
        ]
        return "\n\n".join(
            [
                f"{self.pages} pages ({self.how})\n"
                + text_table(["terms", "precision", "recall", "macro-F1", "accuracy"], variants),
                f"{SHIPPED}:\n" + text_table(["type", "n", "precision", "recall", "F1"], types),
                "taken for:\n" + text_table(["type", *names], confusion),
                text_table(["probability", "n", "mean", "right"], bands),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def evaluate_types(
    pages: Sequence[ContentPage],
    *,
    folds: int = TYPE_FOLDS,
    aside: bool = False,
    known_texts: bool = False,
    progress: Progress = silent,
) -> TypeResult:
    """Measure the types of pages, and what other terms would reach.

    Parameters
    ----------
    pages
        Pages of known types.
    folds
        Number of folds of hosts.
    aside
        Instead of all folds only the hosts that were put aside are judged, learned from the others.
    known_texts
        The main texts of judged pages are those of the shipped content model too, which has seen
        them (not their types): no content model is trained, which takes most of the time.
    progress
        Shows how far it is.
    """
    seen = _seen(pages, progress)
    hosts = [example.host for example in seen]
    if aside:
        fold = np.array([fold_of(f"{ASIDE_SEED} {host}", ASIDE) for host in hosts])
        judged, how = [0], "hosts put aside, learned from the others"
    else:
        fold = np.array([fold_of(f"{FOLD_SEED} {host}", folds) for host in hosts])
        judged, how = sorted(set(fold.tolist())), f"{folds}-fold by host"
    if known_texts:
        unseen = dict(enumerate(seen))
        how += "; main texts by a model that knows them"
    else:
        unseen = _unseen(pages, seen, fold, judged, progress)
    rows = np.flatnonzero(np.isin(fold, judged))
    scores = []
    for name in progress(iter(VARIANTS), len(VARIANTS), "kinds of terms"):
        found = _judge(seen, unseen, fold, judged, VARIANTS[name])
        scores.append(_score(name, found.confusion))
    confusion = found.confusion
    return TypeResult(
        how=how,
        pages=len(rows),
        learned=float(np.mean([(fold != number).sum() for number in judged])),
        variants=tuple(scores),
        types=_type_scores(found.types, confusion),
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        bands=_bands(found.probability, found.right),
    )


def _seen(pages: Sequence[ContentPage], progress: Progress) -> list[TypeExample]:
    """Count the terms of all pages, with the shipped content model, and PageLevel's words."""
    found = []
    for page in progress(iter(pages), len(pages), "pages with their types"):
        tree = build_tree(page.html)
        example = make_type_example(tree, page)
        left = page_templates(tree, "pagelevel", url=page.url)
        example.terms[LEFT] = Counter(
            word for node in left.main.tolist() for word in words(tree.text_of(node))
        )
        found.append(_with_texts(example))
    return found


def _unseen(
    pages: Sequence[ContentPage],
    seen: Sequence[TypeExample],
    fold: NDArray[np.int64],
    judged: Sequence[int],
    progress: Progress,
) -> dict[int, TypeExample]:
    """Count the terms of the judged pages with content models that have not seen them."""
    examples = content_examples(pages, progress)
    found = {}
    for number in progress(iter(judged), len(judged), "folds"):
        others = [
            example
            for example, own in zip(examples, fold.tolist(), strict=True)
            if example is not None and own != number
        ]
        model = train_content(others, threads=None)
        for row in np.flatnonzero(fold == number).tolist():
            example = examples[row]
            if example is None:
                found[row] = seen[row]  # a page without text has no main text by any model
                continue
            own = make_type_example(example.tree, pages[row], model)
            own.terms[LEFT] = seen[row].terms[LEFT]
            found[row] = _with_texts(own)
    return found


def _with_texts(example: TypeExample) -> TypeExample:
    """Add the words of the page and of its main text without their positions."""
    terms = dict(example.terms)
    terms[FULL] = sum((terms[position] for position in TEXT_POSITIONS), Counter())
    inside = [position for position in TEXT_POSITIONS if position.startswith("inside")]
    terms[MAIN] = sum((terms[position] for position in inside), Counter())
    return replace(example, terms=terms)


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """What pages were taken for, with which probability, and whether rightly."""

    types: tuple[str, ...]
    confusion: NDArray[np.int64]
    probability: NDArray[np.float64]
    right: NDArray[np.bool_]


def _judge(
    seen: Sequence[TypeExample],
    unseen: dict[int, TypeExample],
    fold: NDArray[np.int64],
    judged: Sequence[int],
    positions: tuple[str, ...],
) -> _Judged:
    table = TermTable(seen, positions)
    types = table.types
    confusion = np.zeros((len(types), len(types)), dtype=np.int64)
    probability, right = [], []
    for number in judged:
        model = train_types(table, np.flatnonzero(fold != number))
        for row in np.flatnonzero(fold == number).tolist():
            found = model.classify(unseen[row].terms)
            gold = seen[row].page_type
            confusion[types.index(gold), types.index(found.name)] += 1
            probability.append(found.probability)
            right.append(found.name == gold)
    return _Judged(types, confusion, np.array(probability), np.array(right))


def _of_types(
    confusion: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return precision, recall and F1 of each type; 0 where nothing is right."""
    right = np.diag(confusion).astype(np.float64)
    precision = right / np.maximum(confusion.sum(axis=0), 1)
    recall = right / np.maximum(confusion.sum(axis=1), 1)
    f1 = 2 * right / np.maximum(confusion.sum(axis=0) + confusion.sum(axis=1), 1)
    return precision, recall, f1


def _score(name: str, confusion: NDArray[np.int64]) -> VariantScore:
    precision, recall, f1 = (float(each.mean()) for each in _of_types(confusion))
    accuracy = float(np.trace(confusion) / max(int(confusion.sum()), 1))
    return VariantScore(name, precision, recall, f1, accuracy)


def _type_scores(types: tuple[str, ...], confusion: NDArray[np.int64]) -> tuple[TypeScore, ...]:
    columns = [each.tolist() for each in _of_types(confusion)]
    pages = confusion.sum(axis=1).tolist()
    return tuple(TypeScore(name, *row) for name, *row in zip(types, pages, *columns, strict=True))


def _bands(
    probability: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[tuple[int, float, float], ...]:
    band = np.searchsorted(BANDS, probability, side="right") - 1
    found = []
    for number in range(len(BANDS) - 1):
        own = band == number
        pages = int(own.sum())
        mean = float(probability[own].mean()) if pages else 0.0
        found.append((pages, mean, float(right[own].mean()) if pages else 0.0))
    return tuple(found)
