"""How well PageLevel finds templates on pages whose text nodes were labelled by hand.

PageLevel paper, section 6.1: f-measures of the words, the anchor words and the links that lie in
templates. The models never saw a label made by hand; they were trained from what crawled sites
repeat. The pages' labels are aligned with the tree's text nodes by order and text; what the
tree does not show as a leaf (options of a select, text in ``noscript``) is not measured, and its
share is told.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.evaluate.published import TEMPLATES
from websegment_scrapy.measure.metrics import Interval, paired_bootstrap
from websegment_scrapy.measure.report import silent, text_table
from websegment_scrapy.measure.template_counts import (
    KINDS,
    Agreement,
    LeafCounts,
    agreement,
    join_counts,
    leaf_counts,
)
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.words import words
from websegment_scrapy.template.pagelevel import METHODS, PageLevelModel, templateness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from websegment_scrapy.measure.datasets import NodePage
    from websegment_scrapy.measure.report import Progress
    from websegment_scrapy.page.tree import PageTree

__all__ = [
    "COMMENTS",
    "TEMPLATE_LABELS",
    "LabelledLeaves",
    "TemplateResult",
    "align_labels",
    "evaluate_templates",
    "measure_page",
]

TEMPLATE_LABELS = frozenset({"not_content", "related"})
"""What counts as template: navigation, advertisements, footers, and links to other articles."""

COMMENTS = "comments"
"""Readers' comments stand on one page only, so that no count of a site could teach that they are
template; they count as content. A second table counts them as template."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledLeaves:
    """The leaves of one page that have a label: counts, labels and each method's scores."""

    counts: LeafCounts
    template: NDArray[np.bool_]
    comment: NDArray[np.bool_]
    scores: dict[str, NDArray[np.float64]]
    labelled_words: int


@dataclass(frozen=True, slots=True)
class MethodResult:
    """One method over all pages: by kind the amounts, and the mean f-measure of pages' words."""

    method: str
    threshold: float
    amounts: dict[str, Agreement]
    with_comments: dict[str, Agreement]
    mean_f_text: float


@dataclass(frozen=True, slots=True)
class TemplateResult:
    """Both methods over all pages.

    ``aligned`` is the share of labelled words that are leaves of our trees; ``difference`` is that
    of the pages' f-measures of words, smooth less basic.
    """

    pages: int
    aligned: float
    methods: tuple[MethodResult, ...]
    difference: Interval
    recipe: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"evaluation": "templates", **asdict(self)}

    def table(self) -> str:
        """Return the results as text, the published figures below them."""
        rows, comments = [], []
        for result in self.methods:
            row = [result.method, f"{result.threshold:.2f}"]
            for kind in KINDS:
                amount = result.amounts[kind]
                row += [f"{amount.f_measure:.3f}", f"{amount.precision:.3f}/{amount.recall:.3f}"]
            rows.append([*row, f"{result.mean_f_text:.3f}"])
            comments.append(
                [result.method, *(f"{result.with_comments[kind].f_measure:.3f}" for kind in KINDS)]
            )
        header = ["method", "threshold"]
        for kind in KINDS:
            header += [kind.replace("_", " "), "P/R"]
        low, high = self.difference.low, self.difference.high
        return "\n\n".join(
            [
                f"{self.pages} pages with labelled text nodes, not rendered; f-measure of template "
                f"words, anchor words and links; {self.aligned:.1%} of the labelled words measured",
                text_table([*header, "text, mean of pages"], rows),
                f"Smooth to basic, mean of pages' words: {self.difference.mean:+.3f} "
                f"(95 %: {low:+.3f} … {high:+.3f})",
                "With readers' comments as template:",
                text_table(["method", *(kind.replace("_", " ") for kind in KINDS)], comments),
                "Held-out theme families of the crawled sites, agreement with SiteLevel:",
                self._held_out(),
                "Published, on its own pages (RANDOM):",
                text_table(
                    ("method", "text", "anchor text", "links", "source"),
                    [
                        (row.method, f"{row.text:.2f}", f"{row.anchor_text:.2f}",
                         f"{row.links:.2f}", row.source)
                        for row in TEMPLATES
                    ],
                ),
            ]
        )  # fmt: skip

    def _held_out(self) -> str:
        found = self.recipe.get("held_out_families", {})
        return text_table(
            ("method", "accuracy of words", "text", "anchor text", "links"),
            [
                (method, *(f"{found[method][name]:.3f}"
                           for name in ("accuracy", "f_text", "f_anchor_text", "f_links")))
                for method in METHODS
                if method in found
            ],
        )  # fmt: skip


def evaluate_templates(
    pages: Iterable[NodePage], model: PageLevelModel, *, total: int = 0, progress: Progress = silent
) -> TemplateResult:
    """Measure PageLevel Basic and Smooth on labelled pages, not rendered."""
    found = [measure_page(page, model) for page in progress(pages, total, "labelled pages")]
    counts = join_counts([page.counts for page in found])
    template = np.concatenate([page.template for page in found])
    comment = np.concatenate([page.comment for page in found])
    methods, by_page = [], {}
    for method in METHODS:
        threshold = model.thresholds[method]
        said = np.concatenate([page.scores[method] for page in found]) >= threshold
        by_page[method] = [
            agreement(page.counts, page.template, page.scores[method] >= threshold, ("text",))[
                "text"
            ].f_measure
            for page in found
        ]
        methods.append(
            MethodResult(
                method=method,
                threshold=threshold,
                amounts=agreement(counts, template, said),
                with_comments=agreement(counts, template | comment, said),
                mean_f_text=float(np.mean(by_page[method])),
            )
        )
    return TemplateResult(
        pages=len(found),
        aligned=float(counts.text.sum()) / max(sum(page.labelled_words for page in found), 1),
        methods=tuple(methods),
        difference=paired_bootstrap(by_page["smooth"], by_page["basic"]),
        recipe=model.recipe,
    )


def measure_page(page: NodePage, model: PageLevelModel) -> LabelledLeaves:
    """Score one page and take the leaves that have a label."""
    tree = build_tree(page.html)
    labels = align_labels(tree, page.nodes)
    known = np.array([label != "" for label in labels], dtype=bool)
    names = [label for label in labels if label]
    scores = templateness(tree, page.url, model=model)
    leaves = tree.leaves[known]
    return LabelledLeaves(
        counts=leaf_counts(tree).where(known),
        template=np.array([label in TEMPLATE_LABELS for label in names], dtype=bool),
        comment=np.array([label == COMMENTS for label in names], dtype=bool),
        scores={"basic": scores.basic[leaves], "smooth": scores.smooth[leaves]},
        labelled_words=sum(len(words(text)) for _, text in page.nodes),
    )


def align_labels(tree: PageTree, nodes: Iterable[tuple[str, str]]) -> list[str]:
    """Give each leaf the label of the text node with the same words, in the same order.

    Leaves without a counterpart get an empty label: both sequences of texts are aligned by their
    longest matching runs (``difflib``).
    """
    labelled = [(label, key) for label, text in nodes if (key := "".join(words(text)))]
    texts = [(number, "".join(words(tree.text_of(leaf))))
             for number, leaf in enumerate(tree.leaves.tolist())]  # fmt: skip
    texts = [(number, key) for number, key in texts if key]
    matcher = SequenceMatcher(
        None, [key for _, key in labelled], [key for _, key in texts], autojunk=False
    )
    labels = [""] * len(tree.leaves)
    for first, second, size in matcher.get_matching_blocks():
        for step in range(size):
            labels[texts[second + step][0]] = labelled[first + step][0]
    return labels
