"""What Weave Share looks at, with and without its three optimizations (Guirguis et al., Figure 14).

All variants merge the same trees in the same order, so one run tells what each would look at; the
naive one alone would take hours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gingham.algebra.edges import normalized
from gingham.core.arrays import Ints
from gingham.optimizer.weave.edge_sets import read_windows
from gingham.optimizer.weave.weaver import NO_GAIN, rounded_gains
from gingham.optimizer.weave.woven_plan import window_classes

VARIANTS = NONE, LOOKUP, BITMAP, ALL = "none", "lookup", "lookup, bitmap", "all three"


def edges_looked_at(windows: Sequence[tuple[int, int]], rate: float) -> dict[str, int]:
    """Count the edges that each variant looks at to weave the windows.

    Without bitmaps every edge of the second tree is checked against every residue class of the
    first; with them it is one probe. Without the table all pairs are compared in every round.
    """
    classes = [window_classes(window) for window in windows]
    factors = read_windows(windows).factors.astype(float).copy()
    periods = np.array([slides[0][0] for slides in classes], dtype=np.int64)
    bits = np.zeros((len(windows), math.lcm(*periods.tolist())), dtype=np.float32)
    for marked, own in zip(bits, classes, strict=True):
        for slide, residue in own:
            marked[residue::slide] = 1
    edges = bits.mean(axis=1, dtype=np.float64)
    alive = np.ones(len(windows), dtype=bool)
    found: dict[str, int] = dict.fromkeys(VARIANTS, 0)

    def gains(i: Ints, j: Ints) -> np.ndarray:
        common = np.einsum("ij,ij->i", bits[i], bits[j]).astype(float) / bits.shape[1]
        together = edges[i] + edges[j] - common
        apart = 2 * rate + edges[i] * factors[i] + edges[j] * factors[j]
        return rounded_gains(apart - rate - together * (factors[i] + factors[j]), rate)

    def add(i: Ints, j: Ints, variants: Sequence[str]) -> None:
        period = np.lcm(periods[i], periods[j])
        checked = np.array([len(classes[k]) for k in i.tolist()])
        looks = {
            NONE: np.rint(edges[j] * period) * checked,
            LOOKUP: np.rint(edges[j] * period) * checked,
            BITMAP: np.rint(edges[j] * period),
            ALL: np.rint(np.minimum(edges[i], edges[j]) * period),
        }
        for variant in variants:
            found[variant] += int(looks[variant].sum())

    savings = np.full((len(windows), len(windows)), -np.inf)
    for i in range(len(windows) - 1):
        others = np.arange(i + 1, len(windows))
        savings[i, others] = gains(np.full(len(others), i), others)
    add(*np.triu_indices(len(windows), 1), VARIANTS)
    while alive.sum() > 1:
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(savings)), savings.shape))
        if savings[i, j] <= NO_GAIN:
            break
        bits[i] = np.maximum(bits[i], bits[j])
        edges[i], factors[i] = bits[i].mean(dtype=np.float64), factors[i] + factors[j]
        classes[i] = normalized(classes[i] + classes[j])
        periods[i] = np.lcm(periods[i], periods[j])
        alive[j] = False
        savings[j, :] = savings[:, j] = -np.inf
        left = np.flatnonzero(alive)
        others = left[left != i]
        low, high = np.minimum(others, i), np.maximum(others, i)
        savings[low, high] = gains(low, high)
        add(low, high, (LOOKUP, BITMAP, ALL))
        first, second = np.triu_indices(len(left), 1)
        add(left[first], left[second], (NONE,))
    return found
