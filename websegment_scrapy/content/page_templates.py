"""What of a page is template: the methods to choose from, and their joint result.

``learned`` is our own default (`model`), ``pagelevel`` the paper's PageLevel Smooth. What the
page's site is known to repeat (`sitelevel`) counts more than either: it is template, whatever the
page alone looks like. About the rest the page decides; but a page that looks like all template, and
has text that its site does not repeat, is looked at again (`choice.look_again`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.choice import look_again
from websegment_scrapy.content.model import Judgement, shipped_content_model
from websegment_scrapy.template.pagelevel import shipped_pagelevel_model, templateness
from websegment_scrapy.template.repeated import template_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.model import ContentModel
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.hashes import HashedNodes
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["METHODS", "PageTemplates", "page_templates"]

METHODS = ("learned", "pagelevel")


@dataclass(frozen=True, slots=True, eq=False)
class PageTemplates:
    """The templateness of a page's text.

    Attributes
    ----------
    nodes
        All text nodes, hidden ones too.
    templateness
        Of each, 0 (content) to 1 (template).
    kept
        Whether it is main text by the page alone.
    main_text
        Whether it is main text with what is known of the page's site.
    repeated
        Whether the page's site repeats it.
    judgement
        What ``learned`` made of the blocks, by the page alone.
    """

    nodes: NDArray[np.int64]
    templateness: NDArray[np.float64]
    kept: NDArray[np.bool_]
    main_text: NDArray[np.bool_]
    repeated: NDArray[np.bool_]
    judgement: Judgement | None = None

    @property
    def main(self) -> NDArray[np.int64]:
        """The text nodes of the main text."""
        return self.nodes[self.main_text]

    @property
    def looks_again(self) -> bool:
        """Whether the page alone keeps nothing, and what its site repeats may change that."""
        return self.judgement is not None and not self.kept.any()

    @property
    def score(self) -> float | None:
        """The F1 to expect of the main text by the page alone, where that is known."""
        return None if self.judgement is None else self.judgement.score

    @property
    def candidates(self) -> NDArray[np.int64]:
        """The text nodes that the main text can be made of, whatever the site repeats."""
        return self.nodes if self.looks_again else self.nodes[self.kept]

    def of_leaves(self, tree: PageTree) -> NDArray[np.float64]:
        """Return the templateness of each leaf; an image has that of the text before it."""
        if not len(self.nodes):
            return np.ones(len(tree.leaves))
        scores = np.where(self.repeated, 1.0, self.templateness)
        place = np.searchsorted(self.nodes, tree.leaves, side="right") - 1
        return scores[np.maximum(place, 0)]


def page_templates(
    tree: PageTree,
    method: str = METHODS[0],
    *,
    url: str = "",
    site: SiteVerdict | None = None,
    hashed: HashedNodes | None = None,
    model: ContentModel | None = None,
) -> PageTemplates:
    """Say of each text node of a page how much of a template it is.

    Parameters
    ----------
    tree
        The page.
    method
        One of `METHODS`.
    url
        Its address, for ``pagelevel``.
    site
        What its site repeats, if that is known.
    hashed
        The hashes of its nodes, if they are there already.
    model
        A model of ``learned`` instead of the shipped one.
    """
    nodes = tree.texts
    repeated = template_nodes(tree, site, hashed)[nodes]
    if not len(nodes):
        none = np.zeros(0, dtype=bool)
        return PageTemplates(nodes, np.zeros(0), none, none, repeated)
    if method == "pagelevel":
        scores = templateness(tree, url).smooth[nodes]
        kept = (scores < shipped_pagelevel_model(tree.layout).thresholds["smooth"]) & tree.visible[
            nodes
        ]
        return PageTemplates(nodes, scores, kept, kept & ~repeated, repeated)
    judgement = (shipped_content_model() if model is None else model).judge(tree)
    assert judgement is not None
    blocks = judgement.page.text.blocks
    block = blocks.of_node
    kept = judgement.kept[block]
    main = kept
    if site is not None and not kept.any():
        wholly = np.logical_and.reduceat(repeated, blocks.first[:-1])
        main = look_again(judgement.page.text.words, judgement.probability, wholly)[block]
    return PageTemplates(
        nodes, 1.0 - judgement.probability[block], kept, main & ~repeated, repeated, judgement
    )
