"""Anchors: residue classes of several edge sets, whose overlaps a sum would count twice."""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Floats, Ints
from gingham.optimizer.weave.edge_sets import EdgeSets

_MOST_ENTRIES = 100_000_000


class Anchors:
    """Residue classes that several edge sets have as their smaller residue, mostly zero.

    If two trees share an anchor, the sum of their overlaps with a third tree counts the anchor's
    overlap with that tree twice; `merge` tells how much to subtract.
    """

    def __init__(self, sets: EdgeSets) -> None:
        pairs, index, count = np.unique(
            np.stack([sets.slides, sets.lows]), axis=1, return_inverse=True, return_counts=True
        )
        several = np.flatnonzero(count > 1)
        if len(several) * len(sets) > _MOST_ENTRIES:
            several = several[:0]
        number = np.full(len(count), -1)
        number[several] = np.arange(len(several))
        self._of_tree = [{i} if i >= 0 else set[int]() for i in number[index.ravel()].tolist()]
        anchors = pairs[:, several]
        # The overlaps of each anchor with each tree, and with each anchor.
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
        """Merge tree y into x; return which overlaps with other trees the sum counts twice."""
        both = self._of_tree[x] & self._of_tree[y]
        self._of_tree[x] |= self._of_tree[y]
        self._with_trees[:, x] += self._with_trees[:, y]
        if not both:
            return None
        shared = list(both)
        self._with_trees[:, x] -= self._with_anchors[:, shared].sum(axis=1)
        # A little less, so that rounding never makes an upper bound too low.
        return self._with_trees[shared].sum(axis=0, dtype=np.float64) * (1 - 1e-5)

    def keep(self, trees: Ints) -> None:
        """Keep the anchors of these trees only, renumbered in this order."""
        self._of_tree = [self._of_tree[i] for i in trees]
        self._with_trees = self._with_trees[:, trees]
