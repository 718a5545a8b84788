"""The weight of a query says how hard it is to estimate: its relative variance, times eight.

That is the variance of one copy of its estimate over its squared answer: measured from sketches of
an earlier window, or guessed from histograms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Bools, Floats, Ints
from gingham.core.errors import GinghamError
from gingham.estimates.algebra.join_query import Join, JoinQuery, JoinTree, join_trees
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.algebra.sketches import Sketches, samples

BUCKETS = 200
# The paper's constant; it is the same for all queries and changes no allocation.
SCALE = 8.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """The rows of a relation in each bucket of integer join keys; `edges` bound the buckets.

    `by_fragment` has the rows of each fragment apart, where queries select fragments.
    """

    edges: Floats
    rows: Floats
    by_fragment: Mapping[int, Floats] | None = None

    @classmethod
    def of(
        cls,
        keys: Ints,
        counts: Ints | None = None,
        buckets: int = BUCKETS,
        *,
        fragments: Ints | None = None,
    ) -> Histogram:
        """Count rows in buckets of equal width between the least and the largest join key."""
        if not len(keys):
            return cls(np.array([0.0, 1.0]), np.zeros(1))
        low, high = int(keys.min()), int(keys.max()) + 1
        steps = min(buckets, high - low)
        edges = np.floor(np.linspace(low, high, steps + 1))
        bucket = np.searchsorted(edges, keys, side="right") - 1
        weights = np.ones(len(keys)) if counts is None else counts

        def rows(selected: Bools) -> Floats:
            sums = np.bincount(bucket[selected], weights=weights[selected], minlength=steps)
            return sums.astype(np.float64)

        by_fragment = None
        if fragments is not None:
            by_fragment = {int(f): rows(fragments == f) for f in np.unique(fragments)}
        return cls(edges, rows(np.ones(len(keys), dtype=np.bool_)), by_fragment)

    def selected(self, selection: frozenset[int] | None) -> Histogram:
        """The histogram of some fragments; without `by_fragment` that of all rows stands for it."""
        if selection is None or self.by_fragment is None:
            return self
        selected = [rows for fragment, rows in self.by_fragment.items() if fragment in selection]
        return Histogram(self.edges, np.sum([np.zeros_like(self.rows), *selected], axis=0))

    def frequencies(self, edges: Floats) -> Floats:
        """The share of all rows that one join key of each finer bucket has, if evenly spread."""
        total = self.rows.sum()
        if not total:
            return np.zeros(len(edges) - 1)
        each = self.rows / np.diff(self.edges) / total
        bucket = np.searchsorted(self.edges, edges[:-1], side="right") - 1
        inside = (bucket >= 0) & (bucket < len(each))
        return np.where(inside, each[np.clip(bucket, 0, len(each) - 1)], 0.0)


def histogram_weights(
    queries: Iterable[JoinQuery | Sequence[Join]],
    statistics: Mapping[str, Mapping[str, Histogram]],
) -> dict[str, float]:
    """Guess how hard join queries are to estimate, as if a relation's attributes were independent.

    Then the second moment of an estimate is a product over joins. A join that seems empty weighs
    as much as the heaviest that does not. Only the rows that a query selects count.
    `statistics` has a histogram for each relation and attribute.
    """
    guessed = {tree.name: _guess_weight(tree, statistics) for tree in join_trees(queries)}
    heaviest = max((weight for weight in guessed.values() if math.isfinite(weight)), default=1.0)
    return {name: min(weight, heaviest) for name, weight in guessed.items()}


def sketch_weights(plan: SharingPlan, sketches: Sketches) -> dict[str, float]:
    """Measure how hard a plan's queries are to estimate by how copies of estimates spread.

    A query whose copies do not tell keeps the weight that it has in the plan.
    """
    measured: dict[str, float] = {}
    for query in plan.copies:
        weight = weight_of(samples(plan, sketches, query))
        measured[query] = plan.weights[query] if weight is None else weight
    return measured


def weight_of(values: Floats) -> float | None:
    """Measure a join query's weight from samples of its estimate; None if these are equal or few.

    The answer is taken as two standard errors larger than the mean, so that a query about which
    little is known does not starve the others.
    """
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    if not variance:
        return None
    answer = abs(float(values.mean())) + 2 * math.sqrt(variance / len(values))
    return SCALE * variance / answer**2


def ratio_weight_of(sums: Floats, counts: Floats) -> float | None:
    """Measure the weight of an average from samples of its sum and its count, copy by copy.

    What spreads is the sum less what the count makes of it: where both are too large at once, the
    average is not.
    """
    if not (rows := float(counts.mean())):
        return None
    total = float(sums.mean())
    return weight_of(sums - total / rows * counts + total)


def _guess_weight(tree: JoinTree, statistics: Mapping[str, Mapping[str, Histogram]]) -> float:
    """Guess the weight of one join query from histograms; infinite if a join seems empty."""
    second = 1.0  # the second moment of the estimate, relative to the squared answer
    for edge in tree.edges:
        sides = [_join_histogram(tree, slot, statistics) for slot in edge]
        edges = np.unique(np.concatenate([side.edges for side in sides]))
        p, q = (side.frequencies(edges) for side in sides)
        width = np.diff(edges)
        joined = float((p * q * width).sum())
        if not joined:
            return math.inf
        alone = float((p * p * width).sum() * (q * q * width).sum())
        twice = float((p * p * q * q * width).sum())
        # Signs cancel unless two pairs of rows agree as joined, crosswise, or within each side.
        second *= 2 + (alone - 2 * twice) / joined**2
    return max(SCALE * (second - 1), 1e-9)


def _join_histogram(
    tree: JoinTree, slot: tuple[int, int], statistics: Mapping[str, Mapping[str, Histogram]]
) -> Histogram:
    """Look up the histogram of a join attribute, of the rows that the query selects."""
    occurrence = tree.occurrences[slot[0]]
    attribute = occurrence.attributes[slot[1]]
    try:
        return statistics[occurrence.relation][attribute].selected(occurrence.selection)
    except KeyError:
        raise GinghamError(
            f"no histogram of {occurrence.relation}.{attribute}",
            f"query {tree.name!r} joins on it",
            "give one, or plan without weights",
        ) from None
