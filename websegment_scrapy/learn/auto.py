"""Training of the engine ``auto``: which rows are segments', and which leaves belong together.

Both ensembles of trees learn from the rows of labelled pages, and every page weighs the same.
Within a page

- a row weighs the root of its leaves, for "is this the row of a segment";
- an inner row weighs the root of the pairs of labelled leaves that part there, for "are they in one
  segment"; it counts as true with the share of these pairs that are, and as false with the rest.

The root stands between the pairs that the agreement counts, of which a few rows have nearly all,
and rows of equal weight, of which nearly all are small. Of each ensemble the mean over ``SEEDS`` is
kept, which is one of them for pages that are not rendered. Nothing is chosen here, so no page has
to be left out.

A page of which people marked some borders (`marked`) weighs as much as the share of its leaves that
the marks speak of: a click is not worth a page that somebody labelled from top to bottom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.learn.boosting import Boosting, fit_mean_trees
from websegment_scrapy.model_files import LayoutKind, ModelError
from websegment_scrapy.segment.auto_model import AutoModel
from websegment_scrapy.segment.togetherness import OTHER_LEAF, parting_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.learn.examples import Example
    from websegment_scrapy.trees import Trees

__all__ = ["SEEDS", "shares_together", "train_auto"]

SEEDS: dict[LayoutKind, tuple[int, ...]] = {"rendered": (1, 2, 3), "static": (1,)}
"""Few pages teach much that is chance: for rendered pages a mean of ensembles is a little better.
For others nothing shows it, and the trees are a large part of what such a page costs."""

BOOSTING = Boosting(
    iterations=150,
    learning_rate=0.05,
    features_per_split=0.2,
    samples_per_leaf=20,
    penalty=3.0,
)
"""Slower and with fewer columns than the trees of GCuts: more of the mean, less of each tree."""

ROOT = 0.5
"""Exponent of the leaves or pairs that a row weighs by."""

TINY = 1e-6
"""Fewer pairs are none, but for the rounding."""

MIN_PAGES = 8
"""As few pages as the other learned engines are trained on."""

Rows = tuple["NDArray[np.float64]", "NDArray[np.bool_]", "NDArray[np.float64]"]
"""Features, classes and weights."""


def train_auto(
    examples: Sequence[Example],
    layout: LayoutKind,
    *,
    views: Sequence[Example] = (),
    marked: Sequence[Example] = (),
) -> AutoModel:
    """Learn a model from labelled pages; the same pages give the same model.

    Parameters
    ----------
    examples
        Labelled pages.
    layout
        Their kind of layout.
    views
        The same pages as another layout shows them, which are learned from too.
    marked
        Pages of which only some leaves are known (`marked.marked_examples`).
    """
    from threadpoolctl import threadpool_limits

    if len(examples) < MIN_PAGES:
        raise ModelError(
            f"{len(examples)} labelled pages are too few to learn from: give at least {MIN_PAGES}, "
            "or measure the shipped models with --folds 0"
        )
    with threadpool_limits(1):  # sums in another order would change the last digits
        segment, together = (
            _grow(
                [rows(example) for example in (*examples, *views)]
                + [_weighted(rows(example), _share_known(example)) for example in marked],
                SEEDS[layout],
            )
            for rows in (_segment_rows, _together_rows)
        )
    return AutoModel(
        layout=layout,
        features=examples[0].measures.features.names,
        segment=segment,
        together=together,
        recipe=_recipe(examples, views, marked, SEEDS[layout]),
    )


def shares_together(example: Example) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the pairs of labelled leaves that part at each inner row, and the share together."""
    skeleton = example.measures.features.skeleton
    is_text = example.tree.is_text[example.tree.leaves]
    weight = np.where(is_text, 1.0, OTHER_LEAF) * (example.gold >= 0)
    number = parting_pairs(skeleton, weight).number
    same = np.zeros(skeleton.inner)
    for block in np.unique(example.gold[example.gold >= 0]):
        same += parting_pairs(skeleton, weight * (example.gold == block)).number
    some = number > TINY
    share = np.divide(same, number, out=np.zeros_like(number), where=some)
    return np.where(some, number, 0.0), np.clip(share, 0.0, 1.0)


def _segment_rows(example: Example) -> Rows:
    features, known = example.measures.features, example.known
    leaves = (features.skeleton.high - features.skeleton.low)[known].astype(np.float64)
    return features.matrix[known], example.is_segment[known], _page_weight(leaves)


def _together_rows(example: Example) -> Rows:
    features = example.measures.features
    number, share = shares_together(example)
    matrix = features.matrix[: features.skeleton.inner]
    weight = _page_weight(number)
    some, none = (number > 0) & (share > 0), (number > 0) & (share < 1)
    return (
        np.concatenate((matrix[some], matrix[none])),
        np.concatenate((np.ones(some.sum(), dtype=bool), np.zeros(none.sum(), dtype=bool))),
        np.concatenate(((weight * share)[some], (weight * (1.0 - share))[none])),
    )


def _share_known(example: Example) -> float:
    return float((example.gold >= 0).mean())


def _weighted(rows: Rows, share: float) -> Rows:
    return rows[0], rows[1], rows[2] * share


def _page_weight(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the roots of sizes as shares of the page's sum."""
    root = size**ROOT
    return root / max(float(root.sum()), 1e-9)


def _grow(pages: Sequence[Rows], seeds: Sequence[int]) -> Trees:
    weight = np.concatenate([page[2] for page in pages])
    return fit_mean_trees(
        np.concatenate([page[0] for page in pages]),
        np.concatenate([page[1] for page in pages]),
        seeds=seeds,
        weight=weight / weight.mean(),
        boosting=BOOSTING,
    )


def _recipe(
    examples: Sequence[Example],
    views: Sequence[Example],
    marked: Sequence[Example],
    seeds: Sequence[int],
) -> dict[str, Any]:
    import sklearn

    marks = {"marked_pages": len(marked)} if marked else {}
    return {
        "pages": len(examples),
        "leaves": int(sum(len(example.gold) for example in examples)),
        "views": len(views),
        **marks,
        "seeds": list(seeds),
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }
