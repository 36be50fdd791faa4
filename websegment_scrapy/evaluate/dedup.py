"""Near-duplicates found and non-duplicates kept apart, by the text that is compared.

This is the LYRICS experiment of the GCuts paper (section 5.2) and of Block Fusion (section 5.4).
With ``shingles``, the papers' eight smallest hashes, the outcome depends on the hash function more
than on many a method: the pages of a site share their shell, and whether the shell's shingles are
among the smallest is one draw for the whole site. So the figures of the stored signatures have the
mean and the deviation over other hash functions beside them.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from websegment_scrapy.config import Config
from websegment_scrapy.dedup.signature import RECIPES, Signature, signature_of, similarity
from websegment_scrapy.evaluate.methods import (
    FULL_TEXT,
    LEARNED,
    RIVALS,
    SITELEVEL,
    TEMPLATES,
    WITH_SITE,
    text_method,
)
from websegment_scrapy.evaluate.published import DEDUP
from websegment_scrapy.evaluate.smallest import HASH_FUNCTIONS, by_hash_functions, half_common
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.measure.datasets import DataError
from websegment_scrapy.measure.report import listed, silent, text_table
from websegment_scrapy.measure.rivals import is_installed
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.store.record import host_of
from websegment_scrapy.template.hashes import page_parts
from websegment_scrapy.template.sitelevel import SiteCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.measure.datasets import NeardupPage, Pair
    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.pool import AnalysisPool
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["DedupResult", "DedupRow", "PageTexts", "Rates", "evaluate_dedup", "rates", "sign_page"]

SignatureKind = Literal["shingles", "minhash"]


@dataclass(frozen=True, slots=True)
class SignTask:
    """A page and the methods to run on it; what a worker process gets."""

    html: str
    methods: tuple[str, ...]
    signature: SignatureKind
    site: SiteVerdict | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MethodText:
    """What is kept of one text: its signature, and its smallest hashes by many hash functions.

    ``smallest`` has one row for each hash function; it is empty when MinHash signatures are
    measured.
    """

    signature: Signature
    smallest: NDArray[np.uint64]
    milliseconds: float


@dataclass(frozen=True, slots=True)
class PageTexts:
    """The texts of one page by method; a method that failed has its reason instead."""

    texts: dict[str, MethodText]
    failed: dict[str, str]


@dataclass(frozen=True, slots=True)
class Rates:
    """Percent of duplicate pairs found, and of non-duplicate pairs kept apart."""

    found: float
    kept: float


@dataclass(frozen=True, slots=True)
class DedupRow:
    """One method on one set.

    Attributes
    ----------
    decided
        With the signatures as this package stores them.
    mean, deviation
        Over hash functions (``shingles`` only).
    words, milliseconds
        Medians over pages.
    """

    method: str
    decided: Rates
    mean: Rates | None
    deviation: Rates | None
    words: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class DedupResult:
    """All methods on one near-duplicate set; ``not_measured`` names methods or pages."""

    name: str
    signature: SignatureKind
    pages: int
    duplicates: int
    non_duplicates: int
    rows: tuple[DedupRow, ...]
    not_installed: tuple[str, ...]
    not_measured: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"evaluation": "dedup", **asdict(self)}

    def table(self) -> str:
        """Return the results as text, the published figures below them."""
        title = (
            f"{self.name}: {self.pages} pages, {self.duplicates} duplicate and "
            f"{self.non_duplicates} non-duplicate pairs, not rendered, {self.signature}; "
            "duplicates found / non-duplicates kept, median words and CPU ms per page"
        )
        columns: list[tuple[str, Callable[[DedupRow], str]]] = [
            ("as stored", lambda row: self._percent(row.decided)),
            ("words", lambda row: f"{row.words:.0f}"),
            ("ms", lambda row: f"{row.milliseconds:.1f}"),
        ]
        if self.signature == "shingles":
            columns[1:1] = [
                (f"mean of {HASH_FUNCTIONS} hashes", lambda row: self._percent(row.mean)),
                ("deviation", lambda row: self._percent(row.deviation)),
            ]
        rows = [[row.method, *(show(row) for _, show in columns)] for row in self.rows]
        rows += [[name, "not installed"] for name in self.not_installed]
        shown = [title, text_table(["text", *(name for name, _ in columns)], rows)]
        shown += listed(
            "Not measured (counted as found nothing, kept everything):", self.not_measured
        )
        return "\n\n".join(shown)

    def _percent(self, value: Rates | None) -> str:
        """Show both rates; of a kind without pairs there is none."""
        if value is None:
            return ""
        found = f"{value.found:.1f}" if self.duplicates else "–"
        kept = f"{value.kept:.1f}" if self.non_duplicates else "–"
        return f"{found} / {kept}"

    @staticmethod
    def published_table() -> str:
        """Return the published figures of the experiment."""
        rows = [(row.method, f"{row.found:.1f} / {row.kept:.1f}", row.source) for row in DEDUP]
        return "Published, on the original LYRICS pages:\n\n" + text_table(
            ("text", "found / kept", "source"), rows
        )


def evaluate_dedup(
    name: str,
    pages: Iterable[NeardupPage],
    pairs: Sequence[Pair],
    engines: Sequence[str],
    pool: AnalysisPool,
    *,
    signature: SignatureKind = "shingles",
    progress: Progress = silent,
) -> DedupResult:
    """Measure full text, SiteLevel, engines and other extractors on one near-duplicate set.

    What sites repeat is counted over the set's own pages. The name of an engine stands for its
    largest segment; our own main text is also measured together with SiteLevel.

    Parameters
    ----------
    name
        The set's name, for the table.
    pages, pairs
        The set; only pages that occur in a pair are analysed.
    engines
        Names of engines.
    pool
        The processes that analyse.
    signature
        ``"shingles"`` (the papers' recipe) or ``"minhash"``.
    progress
        Shows how far it is.
    """
    for engine in engines:
        get_engine(engine)
    rivals = [rival for rival in RIVALS if is_installed(rival)]
    methods = (FULL_TEXT, SITELEVEL, *TEMPLATES, f"{LEARNED}{WITH_SITE}", *engines, *rivals)
    wanted = {page for pair in pairs for page in (pair.a, pair.b)}
    chosen = [page for page in pages if page.id in wanted]
    ids = [page.id for page in chosen]
    sites = site_verdicts(chosen, pool, progress)

    def tasks() -> Iterable[SignTask]:
        for page in chosen:
            yield SignTask(page.html, methods, signature, sites.get(host_of(page.url)))

    texts: dict[str, dict[str, MethodText]] = {method: {} for method in methods}
    failed: dict[str, str] = {}
    outcomes = progress(pool.map(sign_page, tasks()), len(wanted), f"pages of {name}")
    for number, outcome in enumerate(outcomes):
        page = ids[number]
        if isinstance(outcome, AnalysisError):
            failed[page] = str(outcome)
            continue
        for method, text in outcome.texts.items():
            texts[method][page] = text
        failed |= {f"{page} ({method})": reason for method, reason in outcome.failed.items()}
    if missing := sorted(wanted - set(ids)):
        raise DataError(f"pairs of {name} name {len(missing)} pages that it lacks: {missing[0]!r}")
    duplicates = sum(pair.duplicate for pair in pairs)
    return DedupResult(
        name=name,
        signature=signature,
        pages=len(ids),
        duplicates=duplicates,
        non_duplicates=len(pairs) - duplicates,
        rows=tuple(_row(method, texts[method], pairs) for method in methods),
        not_installed=tuple(rival for rival in RIVALS if rival not in rivals),
        not_measured=failed,
    )


def site_verdicts(
    pages: Sequence[NeardupPage], pool: AnalysisPool, progress: Progress = silent
) -> dict[str, SiteVerdict]:
    """Count what each site of the set repeats, as a crawl of these pages would."""
    counters: dict[str, SiteCounter] = {}
    outcomes = pool.map(parts_of_page, (page.html for page in pages))
    for page, outcome in zip(pages, progress(outcomes, len(pages), "sites"), strict=True):
        if not isinstance(outcome, AnalysisError):
            counters.setdefault(host_of(page.url), SiteCounter()).add_parts(outcome)
    config = Config()
    verdicts = {
        host: counter.verdict(theta=config.site_threshold, min_pages=config.site_min_pages)
        for host, counter in counters.items()
    }
    return {host: verdict for host, verdict in verdicts.items() if verdict is not None}


def parts_of_page(html: str) -> NDArray[np.int64]:
    """Return the parts of a page; runs in a worker process."""
    return page_parts(build_tree(html))


def sign_page(task: SignTask) -> PageTexts:
    """Take the page's text by every method and sign it; runs in a worker process."""
    texts, failed = {}, {}
    for method in task.methods:
        start = time.process_time()
        try:
            text = text_method(method, task.site)(task.html)
        except MemoryError:
            raise
        except Exception as error:  # another extractor's bug is a figure, not a crash
            failed[method] = f"{type(error).__name__}: {error}"
            continue
        milliseconds = 1000 * (time.process_time() - start)
        found = signature_of(text, RECIPES[task.signature])
        smallest = np.empty((0, 0), np.uint64)
        if task.signature == "shingles":
            smallest = by_hash_functions(text)
        texts[method] = MethodText(found, smallest, milliseconds)
    return PageTexts(texts, failed)


def rates(pairs: Sequence[Pair], same: Sequence[bool] | NDArray[np.bool_]) -> Rates:
    """Count the decisions on pairs; of a kind without pairs, all of none are right."""
    duplicate = np.array([pair.duplicate for pair in pairs], dtype=bool)
    said = np.asarray(same, dtype=bool)
    found = said[duplicate].mean() if duplicate.any() else 1.0
    kept = (~said[~duplicate]).mean() if not duplicate.all() else 1.0
    return Rates(100 * float(found), 100 * float(kept))


def _row(method: str, texts: Mapping[str, MethodText], pairs: Sequence[Pair]) -> DedupRow:
    """Decide all pairs by one method's texts."""
    enough = Config().min_words
    known = [(texts.get(pair.a), texts.get(pair.b)) for pair in pairs]
    compared = [
        (a, b) if a and b and min(a.signature.words, b.signature.words) >= enough else None
        for a, b in known
    ]
    decided = rates(pairs, [two is not None and _decided(two[0], two[1]) for two in compared])
    mean = deviation = None
    if any(len(text.smallest) for text in texts.values()):
        none = np.zeros(HASH_FUNCTIONS, dtype=bool)
        votes = np.array([_votes(two[0], two[1]) if two else none for two in compared])
        each = [rates(pairs, votes[:, number]) for number in range(HASH_FUNCTIONS)]
        table = np.array([(one.found, one.kept) for one in each])
        mean, deviation = Rates(*table.mean(axis=0).tolist()), Rates(*table.std(axis=0).tolist())
    return DedupRow(
        method=method,
        decided=decided,
        mean=mean,
        deviation=deviation,
        words=float(np.median([text.signature.words for text in texts.values()] or [0])),
        milliseconds=float(np.median([text.milliseconds for text in texts.values()] or [0])),
    )


def _decided(a: MethodText, b: MethodText) -> bool:
    """Decide as the store does: a key in common, then the similarity of the signatures."""
    one, other = a.signature, b.signature
    if not set(one.keys()) & set(other.keys()):
        return False
    return similarity(one, other) >= one.recipe.default_similarity


def _votes(a: MethodText, b: MethodText) -> NDArray[np.bool_]:
    """Decide a pair by every hash function."""
    both = zip(a.smallest, b.smallest, strict=True)
    return np.array([half_common(one, other) for one, other in both], dtype=bool)
