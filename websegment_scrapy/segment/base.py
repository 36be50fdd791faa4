"""The ``Segmenter`` protocol: a page in, a partition of its leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["Segmenter"]


@runtime_checkable
class Segmenter(Protocol):
    """A segmentation engine.

    An engine holds its parameters and nothing about any page: the same tree gives the same
    labels in any process and in any order.
    """

    @property
    def name(self) -> str:
        """The name under which users ask for the engine."""
        ...

    def segment(self, tree: PageTree) -> NDArray[np.int32]:
        """Return one label for each of ``tree.leaves``; equal labels are one segment."""
        ...
