"""Recall and precision of the signatures against the exact Jaccard similarity of all pairs.

Real texts are cut into pages of `PAGE_WORDS` words, and edited copies are planted among them whose
similarity to their original is spread from 0.5 to 1. Then the Jaccard similarity of the sets of
six-word shingles is computed exactly for every pair that has a shingle in common (all others have
similarity 0), and compared with what the store would find: a common key, and a similarity of the
signatures from the threshold on.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.dedup.shingles import shingle_hashes
from websegment_scrapy.dedup.signature import RECIPES, Recipe, signature_of
from websegment_scrapy.measure.datasets import CONTENT_SETS, DataError, content_pages
from websegment_scrapy.measure.report import silent, text_table
from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from websegment_scrapy.measure.report import Progress

__all__ = ["Bin", "SignatureResult", "draw", "evaluate_signatures", "plant", "real_texts"]

PAGE_WORDS = 200
PLANTED = 0.25
"""Edited copies for each text."""
BIN = 0.05
_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Bin:
    """The pairs of a range of Jaccard similarity, and the share that was found."""

    low: float
    high: float
    pairs: int
    found: int


@dataclass(frozen=True, slots=True)
class SignatureResult:
    """One recipe: its bins, recall from 0.9 on, and the share taken wrongly below 0.5."""

    kind: str
    threshold: float
    texts: int
    bins: tuple[Bin, ...]

    def share(self, low: float, high: float) -> tuple[int, int]:
        """Return pairs and found pairs of a range."""
        chosen = [each for each in self.bins if each.low >= low - 1e-9 and each.high <= high + 1e-9]
        return sum(each.pairs for each in chosen), sum(each.found for each in chosen)

    def table(self) -> str:
        """Write the curve as text."""
        rows = [
            [
                f"{each.low:.2f} to {each.high:.2f}",
                str(each.pairs),
                str(each.found),
                f"{100 * each.found / each.pairs:.2f} %" if each.pairs else "",
            ]
            for each in self.bins
        ]
        header = [f"{self.kind} from {self.threshold}: Jaccard", "pairs", "found", "share"]
        high, low = self.share(0.9, 1.0), self.share(0.0, 0.5)
        end = (
            f"from 0.9 on {high[1]} of {high[0]} found ({_percent(high)}); "
            f"below 0.5 {low[1]} of {low[0]} taken for duplicates ({_percent(low)})"
        )
        return f"{text_table(header, rows)}\n{end}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def page_texts(data: Path, count: int) -> Iterator[str]:
    """Yield pages of real text, all of them different."""
    seen: set[str] = set()
    for name in CONTENT_SETS:
        for page in content_pages(data, name):
            found = words(page.main_text)
            for start in range(0, len(found) - PAGE_WORDS + 1, PAGE_WORDS):
                piece = " ".join(found[start : start + PAGE_WORDS])
                if piece not in seen:
                    seen.add(piece)
                    yield piece
                    if len(seen) == count:
                        return


def plant(texts: Sequence[str], seed: int = 1) -> list[str]:
    """Return edited copies: half with replaced words, half with another ending."""
    chooser = random.Random(seed)
    planted = []
    for number in range(int(len(texts) * PLANTED)):
        own = texts[chooser.randrange(len(texts))].split()
        wanted = chooser.uniform(0.5, 1.0)
        shingles = len(own) - 5
        lost = round(shingles * (1 - wanted) / (1 + wanted))  # (n - lost) / (n + lost) = wanted
        if number % 2:
            for place in chooser.sample(range(len(own)), lost // 6):
                own[place] = f"edit{chooser.randrange(10**9)}"
        elif lost:
            own[-lost:] = [f"edit{chooser.randrange(10**9)}" for _ in range(lost)]
        planted.append(" ".join(own))
    return planted


def evaluate_signatures(
    texts: Sequence[str], kinds: Iterable[str] = tuple(RECIPES), *, progress: Progress = silent
) -> list[SignatureResult]:
    """Measure recipes on texts; see the module."""
    if len(texts) < 2:
        raise DataError("there are no texts to compare: name the folder of the data with --data")
    left, right, exact = _pairs([shingle_hashes(words(text)) for text in texts])
    edges = np.linspace(0, 1, round(1 / BIN) + 1)
    place = np.minimum((exact / BIN + 1e-9).astype(int), len(edges) - 2)
    results = []
    for kind in kinds:
        recipe = RECIPES[kind]
        found = _found(texts, recipe, left, right, progress)
        pairs = np.bincount(place, minlength=len(edges) - 1)
        hits = np.bincount(place[found], minlength=len(edges) - 1)
        bins = tuple(
            Bin(float(low), float(high), int(all_), int(some))
            for low, high, all_, some in zip(edges, edges[1:], pairs, hits, strict=False)
        )
        results.append(SignatureResult(kind, recipe.default_similarity, len(texts), bins))
    return results


def draw(results: Sequence[SignatureResult], file: Path) -> None:
    """Draw the curves to a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for result in results:
        filled = [each for each in result.bins if each.pairs]
        axes.plot(
            [(each.low + each.high) / 2 for each in filled],
            [100 * each.found / each.pairs for each in filled],
            marker="o",
            label=f"{result.kind}, from {result.threshold} on",
        )
    axes.axvline(0.5, color="0.8")
    axes.axvline(0.9, color="0.8")
    axes.set(
        xlabel="exact Jaccard similarity of the six-word shingles",
        ylabel="pairs taken for near-duplicates, %",
        title=f"{results[0].texts:,} texts",
        xlim=(0, 1),
        ylim=(-2, 102),
    )
    axes.legend()
    figure.savefig(file, dpi=120)


def _pairs(
    sets: Sequence[NDArray[np.uint64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return all pairs that have a shingle in common, and their Jaccard similarity."""
    from scipy.sparse import csr_array

    sizes = np.array([len(each) for each in sets])
    _, columns = np.unique(np.concatenate(sets), return_inverse=True)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    table = csr_array(
        (np.ones(len(columns), dtype=np.int32), columns, starts),
        shape=(len(sets), int(columns.max()) + 1),
    )
    left, right, common = [], [], []
    for start in range(0, len(sets), _CHUNK):
        block = (table[start : start + _CHUNK] @ table.T).tocoo()
        rows = block.row + start
        later = block.col > rows
        left.append(rows[later])
        right.append(block.col[later])
        common.append(block.data[later])
    a, b = np.concatenate(left).astype(np.int64), np.concatenate(right).astype(np.int64)
    both = np.concatenate(common)
    return a, b, both / (sizes[a] + sizes[b] - both)


def _found(
    texts: Sequence[str],
    recipe: Recipe,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    progress: Progress,
) -> NDArray[np.bool_]:
    """Return which pairs have a key in common and are similar enough."""
    made = [
        signature_of(text, recipe)
        for text in progress(texts, len(texts), f"{recipe.kind} signatures")
    ]
    keys = [frozenset(signature.keys()) for signature in made]
    values = [signature.values for signature in made]
    found = np.zeros(len(left), dtype=bool)
    for number, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        if keys[a].isdisjoint(keys[b]):
            continue
        if recipe.kind == "minhash":
            alike = float((values[a] == values[b]).mean())
        else:
            alike = len(keys[a] & keys[b]) / min(len(keys[a]), len(keys[b]))
        found[number] = alike >= recipe.default_similarity
    return found


def _percent(share: tuple[int, int]) -> str:
    return f"{100 * share[1] / share[0]:.3f} %" if share[0] else "none"


def real_texts(data: Path, count: int) -> list[str]:
    """Return `count` real pages and the copies planted among them."""
    texts = list(islice(page_texts(data, count), count))
    return [*texts, *plant(texts)]
