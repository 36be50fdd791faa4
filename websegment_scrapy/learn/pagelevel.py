"""Training of PageLevel from what sites repeat, without labels made by hand.

PageLevel paper, section 5.1 and 5.2: SiteLevel(θ = 10 %) and the 85 % rule label the nodes of
crawled sites; four logistic regressions by area learn them. The threshold from which a score means
"template" is the one with the best f-measure of words on **held-out theme families**: sites are
dealt into folds by their design, so that no threshold is chosen on a design that was learned.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.learn.regression import fit_logistic, spread_of
from websegment_scrapy.measure.template_counts import (
    LeafCounts,
    accuracy,
    agreement,
    join_counts,
    leaf_counts,
)
from websegment_scrapy.model_files import LayoutKind, Logistic, ModelError
from websegment_scrapy.template.pagelevel import (
    AREA_CLASSES,
    METHODS,
    PageLevelModel,
    ScoredNodes,
    scored_nodes,
    smooth_nodes,
)
from websegment_scrapy.template.pagelevel_features import measure_rows
from websegment_scrapy.template.repeated import template_nodes
from websegment_scrapy.template.sitelevel import THETA, SiteCounter, SiteVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = [
    "FOLDS",
    "SEED",
    "HeldOut",
    "TemplateExample",
    "count_site",
    "fit_pagelevel",
    "held_out_families",
    "make_template_example",
    "sample_pages",
    "train_templates",
]

SEED = 2007
FOLDS = 5
MIN_FAMILIES = 2 * FOLDS
MAX_ITERATIONS = 500
"""Most iterations of the logistic regressions."""

THRESHOLDS = np.arange(5, 96) / 100
"""To choose from, by the f-measure of words on designs left out."""


@dataclass(frozen=True, slots=True, eq=False)
class TemplateExample:
    """A page of a crawled site.

    Attributes
    ----------
    site, family
        The site and its design.
    scored
        The nodes that are learned from.
    matrix, target
        Their features and whether SiteLevel says that they are template.
    counts, leaf_target
        Words and links of each leaf, and whether it lies in a template.
    owner
        Position among the scored nodes of each leaf's own or nearest.
    """

    site: str
    family: str
    scored: ScoredNodes
    matrix: NDArray[np.float32]
    target: NDArray[np.bool_]
    counts: LeafCounts
    leaf_target: NDArray[np.bool_]
    owner: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Agreement with SiteLevel on theme families that were not learned from.

    ``accuracy`` is the share of words of which the same is said, ``f_…`` are f-measures of template
    words, anchor words and links; all at the best threshold.
    """

    threshold: float
    accuracy: float
    f_text: float
    f_anchor_text: float
    f_links: float


def sample_pages(count: int, number: int, seed: int = SEED) -> list[int]:
    """Choose at most ``number`` of a site's pages, in order."""
    chosen = np.random.default_rng(seed).permutation(count)[:number]
    return sorted(int(page) for page in chosen)


def count_site(trees: Iterable[PageTree]) -> SiteVerdict | None:
    """Say what a site repeats, by SiteLevel(10 %)."""
    counter = SiteCounter()
    for tree in trees:
        counter.add(tree)
    return counter.verdict(theta=THETA)


def make_template_example(
    site: str, family: str, tree: PageTree, verdict: SiteVerdict
) -> TemplateExample | None:
    """Label and measure a page; ``None`` if it shows nothing."""
    if not len(tree.leaves):
        return None
    template = template_nodes(tree, verdict)
    features = measure_rows(tree)
    scored = scored_nodes(tree, features)
    return TemplateExample(
        site=site,
        family=family,
        scored=scored,
        matrix=features.matrix[scored.row].astype(np.float32),
        target=template[scored.nodes],
        counts=leaf_counts(tree),
        leaf_target=template[tree.leaves],
        owner=scored.owner[tree.leaves],
    )


def train_templates(
    examples: Sequence[TemplateExample], layout: LayoutKind, *, seed: int = SEED
) -> PageLevelModel:
    """Learn a model; the same examples give the same model.

    Parameters
    ----------
    examples
        Pages of crawled sites, of at least ``MIN_FAMILIES`` designs.
    layout
        Their kind of layout.
    seed
        Deals the families.
    """
    found = held_out_families(examples, layout, seed=seed)
    thresholds = {method: result.threshold for method, result in found.items()}
    return fit_pagelevel(examples, layout, thresholds, _recipe(examples, found, seed))


def held_out_families(
    examples: Sequence[TemplateExample], layout: LayoutKind, *, seed: int = SEED
) -> dict[str, HeldOut]:
    """Score every page with a model that saw no page of its theme family, and choose thresholds."""
    families = sorted({example.family for example in examples})
    if len(families) < MIN_FAMILIES:
        raise ModelError(
            f"{len(families)} sites of different design are too few to learn templates from: give "
            f"at least {MIN_FAMILIES}, each with five pages or more"
        )
    dealt = np.random.default_rng(seed).permutation(len(families)) % FOLDS
    fold = dict(zip(families, dealt.tolist(), strict=True))
    scores: dict[str, list[NDArray[np.float64]]] = {method: [] for method in METHODS}
    order: list[TemplateExample] = []
    for held_out in range(FOLDS):
        model = fit_pagelevel([page for page in examples if fold[page.family] != held_out], layout)
        for page in examples:
            if fold[page.family] == held_out:
                basic = model.score(page.matrix.astype(np.float64), page.scored.area)
                smoothed, _ = smooth_nodes(page.scored, basic)
                scores["basic"].append(basic[page.owner])
                scores["smooth"].append(smoothed[page.owner])
                order.append(page)
    counts = join_counts([page.counts for page in order])
    target = np.concatenate([page.leaf_target for page in order])
    return {
        method: _best_threshold(counts, target, np.concatenate(values))
        for method, values in scores.items()
    }


def fit_pagelevel(
    examples: Sequence[TemplateExample],
    layout: LayoutKind,
    thresholds: dict[str, float] | None = None,
    recipe: dict[str, Any] | None = None,
) -> PageLevelModel:
    """Fit the regressions; every site weighs the same."""
    from threadpoolctl import threadpool_limits

    nodes: dict[str, int] = {}
    for page in examples:
        nodes[page.site] = nodes.get(page.site, 0) + len(page.target)
    area = np.concatenate([page.scored.area for page in examples])
    target = np.concatenate([page.target for page in examples])
    weight = np.concatenate(
        [np.full(len(page.target), 1.0 / nodes[page.site]) for page in examples]
    )
    matrix = np.concatenate([page.matrix for page in examples])
    bounds = np.quantile(area, np.arange(1, AREA_CLASSES) / AREA_CLASSES)
    size = np.searchsorted(bounds, area, side="right")
    with threadpool_limits(1):  # sums in another order would change the last digits
        classes = tuple(
            _fit_class(matrix[size == number], target[size == number], weight[size == number])
            for number in range(AREA_CLASSES)
        )
    return PageLevelModel(
        layout=layout,
        bounds=tuple(bounds.tolist()),
        classes=classes,
        thresholds=thresholds or dict.fromkeys(METHODS, 0.5),
        recipe=recipe or {},
    )


def _fit_class(
    matrix: NDArray[np.float32], target: NDArray[np.bool_], weight: NDArray[np.float64]
) -> Logistic:
    rows = matrix.astype(np.float64)
    if target.all() or not target.any():
        # All nodes of this size are of one kind: nothing to learn but that.
        return Logistic(*spread_of(rows), np.zeros(rows.shape[1]), 4.0 if target.any() else -4.0)
    return fit_logistic(rows, target, weight, iterations=MAX_ITERATIONS)


def _best_threshold(
    counts: LeafCounts, target: NDArray[np.bool_], scores: NDArray[np.float64]
) -> HeldOut:
    """Choose the threshold with the best f-measure of words; the first of equal ones."""
    values = [
        agreement(counts, target, scores >= threshold, ("text",))["text"].f_measure
        for threshold in THRESHOLDS
    ]
    threshold = float(THRESHOLDS[int(np.argmax(np.round(values, 9)))])
    found = scores >= threshold
    measures = agreement(counts, target, found)
    f_measures = {f"f_{kind}": measure.f_measure for kind, measure in measures.items()}
    return HeldOut(threshold, accuracy(counts, target, found), **f_measures)


def _recipe(
    examples: Sequence[TemplateExample], found: dict[str, HeldOut], seed: int
) -> dict[str, Any]:
    import sklearn

    return {
        "labels": f"SiteLevel({THETA:g}) and the 85 % rule; nothing labelled by hand",
        "sites": len({page.site for page in examples}),
        "theme_families": len({page.family for page in examples}),
        "pages": len(examples),
        "nodes": int(sum(len(page.target) for page in examples)),
        "seed": seed,
        "held_out_families": {
            method: {name: round(value, 4) for name, value in asdict(result).items()}
            for method, result in found.items()
        },
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }
