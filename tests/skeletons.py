"""Random skeletons and energies with no page behind them."""

from __future__ import annotations

import numpy as np

from websegment_scrapy.page.skeleton import Skeleton
from websegment_scrapy.segment.energy import Energy, make_energy


def random_skeleton(rng: np.random.Generator, leaves: int) -> Skeleton:
    """Split ranges of leaves at random until only leaves are left."""
    low, high, parent = [], [], []
    leaf_parent = np.full(leaves, -1, dtype=np.int32)

    def split(start: int, stop: int, above: int) -> None:
        if stop - start == 1:
            leaf_parent[start] = above
            return
        row = len(low)
        low.append(start)
        high.append(stop)
        parent.append(above)
        parts = int(rng.integers(2, min(4, stop - start) + 1))
        cuts = np.sort(rng.choice(np.arange(start + 1, stop), parts - 1, replace=False))
        for first, last in zip([start, *cuts], [*cuts, stop], strict=True):
            split(int(first), int(last), row)

    split(0, leaves, -1)
    inner = len(low)
    positions = np.arange(leaves)
    parents = np.concatenate((np.array(parent, dtype=np.int32), leaf_parent))
    lows, highs = np.array(low, dtype=np.int32), np.array(high, dtype=np.int32)
    depth = np.zeros(inner + leaves, dtype=np.int32)
    for row in range(inner + leaves):
        depth[row] = 0 if parents[row] < 0 else depth[parents[row]] + 1
    return Skeleton(
        inner=inner,
        low=np.concatenate((lows, positions)).astype(np.int32),
        high=np.concatenate((highs, positions + 1)).astype(np.int32),
        parent=parents,
        end=np.searchsorted(lows, highs).astype(np.int32),
        depth=depth,
        top=np.zeros(inner + leaves, dtype=np.int32),
        bottom=np.zeros(inner + leaves, dtype=np.int32),
        row_of_node=np.zeros(0, dtype=np.int32),
    )


def random_energy(
    rng: np.random.Generator,
    leaves: int,
    *,
    everywhere: bool = False,
    order: np.ndarray | None = None,
) -> Energy:
    """One label for each row, usable below the row (or everywhere), with random costs."""
    skeleton = random_skeleton(rng, leaves)
    rows = np.arange(skeleton.inner + leaves, dtype=np.int32)
    domain = np.zeros(len(rows), dtype=np.int32) if everywhere else rows
    leaf_costs, node_costs = [], []
    for row in domain:
        leaf_costs.append(rng.random(skeleton.high[row] - skeleton.low[row]))
        inside = skeleton.end[row] - row if row < skeleton.inner else 0
        node_costs.append(rng.random(inside))
    mixed = rng.random(skeleton.inner) * 2
    pairs = np.array(
        [(p, q) for p in range(leaves) for q in range(p + 1, leaves) if rng.random() < 0.5],
        dtype=np.int32,
    ).reshape(-1, 2)
    weights = rng.random(len(pairs)) * rng.choice([0.1, 0.5])
    if order is not None:
        domain = domain[order]
        leaf_costs = [leaf_costs[label] for label in order]
        node_costs = [node_costs[label] for label in order]
    return make_energy(
        skeleton,
        domain,
        np.concatenate(leaf_costs),
        np.concatenate(node_costs),
        mixed,
        pairs,
        weights,
    )
