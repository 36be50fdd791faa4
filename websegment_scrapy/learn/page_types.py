"""Training of the types of pages (``page_types/model.py``): terms chosen, SVMs, probabilities.

WPS paper, page classification: of all terms the tenth with the highest information gain is kept,
and a linear SVM learned for each type against the rest. Terms of few hosts are left out before, so
that no site is learned by heart. The sigmoids are fitted to margins of pages that the SVMs have not
seen: pages are dealt into folds by host, and each fold is judged by what the others teach, terms
and all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from websegment_scrapy.content.page_templates import page_templates
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.learn.content import fold_of
from websegment_scrapy.measure.report import silent
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.words import words_by_node
from websegment_scrapy.page_types.model import PageTypeModel
from websegment_scrapy.page_types.terms import GROUPS, MAX_TERM, POSITIONS, page_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.content.model import ContentModel
    from websegment_scrapy.measure.datasets import ContentPage
    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.page_types.terms import PageTerms

__all__ = ["TermTable", "TypeExample", "make_type_example", "train_types", "type_examples"]

SEED = 2014
FOLDS = 5
SHARE = 0.1
"""Of the terms, by information gain, that are kept (WPS paper, page classification)."""

MIN_HOSTS = 5
"""Hosts on which a term stands at the least: chosen of 2, 3, 5 and 8, on hosts not put aside."""

STRENGTH = 1.0
"""``C`` of the SVMs: scikit-learn's default."""

SMOOTHING = 1.0
"""``C`` of the sigmoids."""


@dataclass(frozen=True, slots=True, eq=False)
class TypeExample:
    """A page of a known type: the site it is from, and its terms."""

    host: str
    page_type: str
    terms: PageTerms


def make_type_example(
    tree: PageTree, page: ContentPage, model: ContentModel | None = None
) -> TypeExample:
    """Count the terms of a page; ``model`` finds its main text, by default the shipped one."""
    inside = page_templates(tree, model=model).kept
    terms = page_terms(tree, words_by_node(tree), inside, page.url or "")  # a set may lack it
    return TypeExample(urlsplit(page.url).hostname or page.id, page.page_type, terms)


def type_examples(pages: Sequence[ContentPage], progress: Progress = silent) -> list[TypeExample]:
    """Make the examples of a set."""
    return [
        make_type_example(build_tree(page.html, estimate_layout=False), page)
        for page in progress(iter(pages), len(pages), "pages with their types")
    ]


class TermTable:
    """How often each term stands on each page, as one sparse matrix.

    Attributes
    ----------
    examples, positions
        The pages, and the positions whose terms count.
    terms
        ``(position, term)`` of each column, in order.
    counts
        Pages by terms.
    types, target
        The types, and the number of each page's.
    """

    def __init__(
        self, examples: Sequence[TypeExample], positions: Sequence[str] = POSITIONS
    ) -> None:
        from scipy.sparse import csr_array

        self.examples, self.positions = examples, tuple(positions)
        self.terms: list[tuple[str, str]] = []
        rows, columns, numbers = [], [], []
        for position in positions:
            known = {term for each in examples for term in each.terms[position]}
            kept = sorted(term for term in known if len(term) <= MAX_TERM)
            column = {term: len(self.terms) + own for own, term in enumerate(kept)}
            self.terms += [(position, term) for term in kept]
            for row, example in enumerate(examples):
                for term, number in example.terms[position].items():
                    if term in column:
                        rows.append(row)
                        columns.append(column[term])
                        numbers.append(float(number))
        self.counts = csr_array((numbers, (rows, columns)), shape=(len(examples), len(self.terms)))
        self.counts.sort_indices()
        self.types = tuple(sorted({example.page_type for example in examples}))
        self.target = np.array([self.types.index(example.page_type) for example in examples])
        self.hosts = np.unique([example.host for example in examples], return_inverse=True)[1]

    def fold(self, seed: str, folds: int) -> NDArray[np.int64]:
        """Deal the pages into folds by host."""
        return np.array([fold_of(f"{seed} {each.host}", folds) for each in self.examples])


def information_gain(present: Any, target: NDArray[np.int64], types: int) -> NDArray[np.float64]:
    """Return how much it tells of the type whether a term is there: ``H(Y) − H(Y | t)``, in bits.

    Parameters
    ----------
    present
        Pages by terms, 1 where a term is there.
    target
        The type of each page, of ``types``.
    """
    pages = len(target)
    one_hot = np.zeros((types, pages))
    one_hot[target, np.arange(pages)] = 1.0
    there = np.asarray((present.T @ one_hot.T).T)
    absent = one_hot.sum(axis=1, keepdims=True) - there

    def entropy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        share = counts / np.maximum(counts.sum(axis=0), 1e-12)
        return np.asarray(-np.sum(share * np.log2(np.maximum(share, 1e-12)), axis=0))

    total = entropy(one_hot.sum(axis=1, keepdims=True))
    rest = there.sum(axis=0) * entropy(there) + absent.sum(axis=0) * entropy(absent)
    return np.asarray(total - rest / pages)


def train_types(
    table: TermTable, rows: NDArray[np.int64] | None = None, *, seed: int = SEED
) -> PageTypeModel:
    """Learn the types of some of a table's pages, by default of all.

    Raises
    ------
    WebsegmentError
        If the pages are of one type only, or of too few hosts.
    """
    from threadpoolctl import threadpool_limits

    rows = np.arange(len(table.examples)) if rows is None else rows
    if len(np.unique(table.target[rows])) < 2 or len(np.unique(table.hosts[rows])) < FOLDS:
        raise WebsegmentError(
            f"{len(rows)} pages of {len(np.unique(table.hosts[rows]))} hosts teach no types: give "
            f"pages of at least 2 values of page_type and {FOLDS} hosts"
        )
    with threadpool_limits(1):
        fold = table.fold(str(seed), FOLDS)[rows]
        margins = np.zeros((len(rows), len(table.types)))
        for number in np.unique(fold).tolist():
            inner = _Fitted(table, rows[fold != number], seed)
            margins[fold == number] = inner.margins(table, rows[fold == number])
        fitted = _Fitted(table, rows, seed)
        slope, offset = _sigmoids(margins, table.target[rows])
    return fitted.model(table, slope, offset, _recipe(table, rows, seed))


class _Fitted:
    """SVMs over the chosen terms of some pages, not calibrated yet."""

    def __init__(self, table: TermTable, rows: NDArray[np.int64], seed: int) -> None:
        from sklearn.svm import LinearSVC

        counts = table.counts[rows]
        present = counts.copy()
        present.data[:] = 1.0
        self.chosen = _choose(table, present, rows)
        pages = np.asarray(present[:, self.chosen].sum(axis=0)).ravel()
        self.rarity = np.log(len(rows) / pages)
        self.group = np.array([GROUPS.get(table.terms[own][0], 0) for own in self.chosen.tolist()])
        svm = LinearSVC(C=STRENGTH, class_weight="balanced", random_state=seed)
        target = table.target[rows]
        svm.fit(self._vectors(counts), target)
        # A type that no page has is none: nothing speaks for it. Of two types there is one SVM.
        self.weights = np.zeros((len(self.chosen), len(table.types)))
        self.bias = np.full(len(table.types), -1.0)
        known = svm.classes_
        both = len(known) == 2
        self.weights[:, known] = np.vstack([-svm.coef_, svm.coef_]).T if both else svm.coef_.T
        self.bias[known] = [*-svm.intercept_, *svm.intercept_] if both else svm.intercept_

    def _vectors(self, counts: Any) -> Any:
        """Return TF-ISF of some pages, as `PageTypeModel.margins` has it of one."""
        vectors = counts[:, self.chosen]
        vectors.data = (1.0 + np.log(vectors.data)) * self.rarity[vectors.indices]
        pages, groups = vectors.shape[0], int(self.group.max()) + 1
        page = np.repeat(np.arange(pages), np.diff(vectors.indptr))
        own = page * groups + self.group[vectors.indices]
        lengths = np.sqrt(np.bincount(own, vectors.data**2, minlength=pages * groups))
        some = np.sqrt(np.count_nonzero(lengths.reshape(pages, groups), axis=1))
        vectors.data /= lengths[own] * some[page] + 1e-12
        # SciPy counts with 64 bits after a selection, scikit-learn's SVM takes 32.
        vectors.indices = vectors.indices.astype(np.int32)
        vectors.indptr = vectors.indptr.astype(np.int32)
        return vectors

    def margins(self, table: TermTable, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the margins of other pages of the table."""
        return np.asarray(self._vectors(table.counts[rows]) @ self.weights + self.bias)

    def model(
        self,
        table: TermTable,
        slope: NDArray[np.float64],
        offset: NDArray[np.float64],
        recipe: dict[str, Any],
    ) -> PageTypeModel:
        """Return the model, its terms in the order of the table."""
        columns: dict[str, dict[str, int]] = {position: {} for position in table.positions}
        for number, column in enumerate(self.chosen.tolist()):
            position, term = table.terms[column]
            columns[position][term] = number
        return PageTypeModel(
            types=table.types,
            columns=columns,
            rarity=self.rarity,
            weights=self.weights,
            bias=self.bias,
            slope=slope,
            offset=offset,
            recipe=recipe | {"terms": len(self.chosen)},
        )


def _choose(table: TermTable, present: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the columns of the terms that are kept, of equal gain the first."""
    from scipy.sparse import csr_array

    hosts = table.hosts[rows]
    of_host = csr_array(
        (np.ones(len(rows)), (hosts, np.arange(len(rows)))), shape=(hosts.max() + 1, len(rows))
    )
    on_hosts = (of_host @ present).tocsr()
    on_hosts.data[:] = 1.0
    known = np.flatnonzero(np.asarray(on_hosts.sum(axis=0)).ravel() >= MIN_HOSTS)
    gain = information_gain(present[:, known], table.target[rows], len(table.types)).round(9)
    best = np.argsort(-gain, kind="stable")[: max(1, round(SHARE * len(known)))]
    return np.sort(known[best])


def _sigmoids(
    margins: NDArray[np.float64], target: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit a sigmoid for each type; one that no page has gets no probability."""
    from sklearn.linear_model import LogisticRegression

    slope, offset = np.ones(margins.shape[1]), np.full(margins.shape[1], -10.0)
    for number in np.unique(target).tolist():
        fit = LogisticRegression(C=SMOOTHING).fit(margins[:, [number]], target == number)
        slope[number], offset[number] = fit.coef_[0, 0], fit.intercept_[0]
    return slope, offset


def _recipe(table: TermTable, rows: NDArray[np.int64], seed: int) -> dict[str, Any]:
    return {
        "pages": len(rows),
        "hosts": len(np.unique(table.hosts[rows])),
        "folds": FOLDS,
        "seed": seed,
    }
