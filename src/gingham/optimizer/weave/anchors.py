"""Residue classes that several edge sets share: what they have in common counts only once."""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Floats, Ints
from gingham.optimizer.weave.edge_sets import EdgeSets

_MOST_CELLS = 100_000_000


class Anchors:
    """Smaller residues that more than one edge set has: mostly zero, where windows start.

    The sum of what two trees have in common with a third counts what an anchor of both has in
    common with it twice.
    """

    def __init__(self, sets: EdgeSets) -> None:
        pairs, index, count = np.unique(
            np.stack([sets.slides, sets.lows]), axis=1, return_inverse=True, return_counts=True
        )
        several = np.flatnonzero(count > 1)
        if len(several) * len(sets) > _MOST_CELLS:
            several = several[:0]
        number = np.full(len(count), -1)
        number[several] = np.arange(len(several))
        self._of_tree = [{i} if i >= 0 else set[int]() for i in number[index.ravel()].tolist()]
        anchors = pairs[:, several]
        # What each anchor has in common with each tree, and with each anchor.
        self._with_trees = np.empty((len(several), len(sets)), dtype=np.float32)
        self._with_anchors = np.empty((len(several), len(several)), dtype=np.float32)
        two = sets.lows != sets.highs
        for i, (slide, low) in enumerate(anchors.T.tolist()):
            common = np.gcd(sets.slides, slide)
            meets = ((sets.lows - low) % common == 0).astype(np.int8)
            meets += ((sets.highs - low) % common == 0) & two
            self._with_trees[i] = meets * (common / slide / sets.slides) * sets.ticks
            common = np.gcd(anchors[0], slide)
            meets = (anchors[1] - low) % common == 0
            self._with_anchors[i] = meets * (common / slide / anchors[0]) * sets.ticks

    def merge(self, x: int, y: int) -> Floats | None:
        """Put y into x; what the sums over x and y count twice of each tree."""
        both = self._of_tree[x] & self._of_tree[y]
        self._of_tree[x] |= self._of_tree[y]
        self._with_trees[:, x] += self._with_trees[:, y]
        if not both:
            return None
        shared = list(both)
        self._with_trees[:, x] -= self._with_anchors[:, shared].sum(axis=1)
        # A little less than that, since bounds must not fall short by rounding.
        return self._with_trees[shared].sum(axis=0, dtype=np.float64) * (1 - 1e-5)

    def keep(self, trees: Ints) -> None:
        """Forget all other trees."""
        self._of_tree = [self._of_tree[i] for i in trees]
        self._with_trees = self._with_trees[:, trees]
