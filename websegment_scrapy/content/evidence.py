"""Which evidence moved the judgement of a block: what would change if it were as usual.

For each kind of evidence its columns are set to what is usual on the page (the median over its
blocks), and the trees are asked again: the difference of the log odds is what the evidence was
worth. It is an answer for people, not a decomposition: of kinds that say the same each counts for
little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.model import ContentModel, Judgement

__all__ = ["EVIDENCE", "evidence_of"]

EVIDENCE: dict[str, tuple[str, ...]] = {
    "words": ("lexicon", "prose"),
    "names": ("name_", "l0_name", "l1_name", "l2_name", "l3_name", "l4_name"),
    "elements": ("in_", "depth"),
    "ancestors": ("l0_", "l1_", "l2_", "l3_", "l4_"),
    "same path": ("path_", "named_"),
    "headings": ("heading_", "h1_", "has_h1", "title_distance", "words_to_heading"),
    "title and description": ("title_share", "of_title", "about_", "of_about", "told_", "of_told"),
    "place": ("before", "index", "order", "words_before", "words_after", "share"),
    "links": ("link_share",),
    "blocks around": ("w5_", "w15_", "sibling"),
    "page": ("page_",),
}
"""Kinds of evidence, by how the names of their columns begin; a column is of the first that fits.

Columns of neighbours are ``blocks around``; what is left is the block's ``own text``.
"""

OWN, AROUND = "own text", "blocks around"


def evidence_of(judgement: Judgement, model: ContentModel) -> dict[str, NDArray[np.float64]]:
    """Return for each kind of evidence what it adds to each block's log odds of main text."""
    matrix = judgement.page.matrix
    whole = model.trees.log_odds(matrix)
    usual = np.median(matrix, axis=0)
    kinds = [_kind(name) for name in judgement.page.names]
    found = {}
    for kind in dict.fromkeys(kinds):
        columns = [number for number, own in enumerate(kinds) if own == kind]
        changed = matrix.copy()
        changed[:, columns] = usual[columns]
        found[kind] = whole - model.trees.log_odds(changed)
    return found


def _kind(column: str) -> str:
    if "+" in column or (column[-2:-1] == "-" and column[-1:].isdigit()):
        return AROUND
    for kind, beginnings in EVIDENCE.items():
        if column.startswith(beginnings):
            return kind
    return OWN
