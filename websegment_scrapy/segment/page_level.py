"""The engine ``pagelevel``: sections of isotonic smoothing (PageLevel paper, sections 4 and 6.1).

Smoothing the templateness of a page's nodes divides the page into sections of equal score, a
by-product that the paper measures as a segmentation. A leaf belongs to the section of its nearest
ancestor that starts one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from websegment_scrapy.template.pagelevel import PageLevelModel, templateness

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["PageLevel"]


@dataclass(frozen=True, slots=True)
class PageLevel:
    """Segments by the sections of PageLevel Smooth.

    Parameters
    ----------
    name
        The engine's name.
    model
        A model; by default the one shipped for the page's kind of layout.
    """

    name: str = "pagelevel"
    model: PageLevelModel | None = None

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each leaf."""
        return templateness(tree, model=self.model).sections[tree.leaves]
