"""The best choice of subtrees as segments, found exactly.

Correlation clustering (Bansal, Blum and Chawla, 2004) where the clusters are subtrees. Two leaves
part at the lowest row that has both below it, and what it is worth to keep them in one segment is
a number of that row alone. The gain of a row is that worth, summed over all pairs of leaves that
part there:

    whole(v) = gain(v) + Σ_children whole(c)
    best(v)  = max(whole(v), Σ_children best(c))

so from the leaves up every row is either one segment or opened to its children, and the greatest
sum over all such choices takes one step for each row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.skeleton import Skeleton

__all__ = ["best_subtrees", "worth_of"]


def best_subtrees(skeleton: Skeleton, gain: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say of each inner row whether it is opened; of equally good choices fewer are.

    Rows below one that is not opened are not opened either.

    Parameters
    ----------
    skeleton
        The page's rows.
    gain
        Of each inner row what it is worth that the leaves that part there stay together.
    """
    inner = skeleton.inner
    parent = skeleton.parent[:inner].tolist()
    whole: list[float] = gain.tolist()
    apart = [0.0] * inner  # the sum of the children's best
    opened = np.zeros(inner, dtype=bool)
    for row in range(inner - 1, -1, -1):
        opened[row] = apart[row] > whole[row]
        if (above := parent[row]) >= 0:
            whole[above] += whole[row]
            apart[above] += max(apart[row], whole[row])
    for row, above in enumerate(parent):
        opened[row] &= above < 0 or opened[above]
    return opened


def worth_of(skeleton: Skeleton, gain: NDArray[np.float64], opened: NDArray[np.bool_]) -> float:
    """Return what a choice is worth: the gains of all rows that are in segments."""
    return float(gain[~opened[: skeleton.inner]].sum())
