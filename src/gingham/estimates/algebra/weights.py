"""How hard a query is: the variance of its estimate relative to its squared answer, times eight.

Known from sketches of an earlier window, or guessed from histograms.
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
# The constant of the paper; it is the same for all queries and changes no allocation.
SCALE = 8.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """Rows by buckets of whole-numbered keys; `edges` has the first key of each bucket.

    `parts` has the rows of each fragment apart, if queries select some.
    """

    edges: Floats
    rows: Floats
    parts: Mapping[int, Floats] | None = None

    @classmethod
    def of(
        cls,
        keys: Ints,
        counts: Ints | None = None,
        buckets: int = BUCKETS,
        *,
        fragments: Ints | None = None,
    ) -> Histogram:
        """Buckets of equal width between the least and the largest key."""
        if not len(keys):
            return cls(np.array([0.0, 1.0]), np.zeros(1))
        low, high = int(keys.min()), int(keys.max()) + 1
        steps = min(buckets, high - low)
        edges = np.floor(np.linspace(low, high, steps + 1))
        place = np.searchsorted(edges, keys, side="right") - 1
        weights = np.ones(len(keys)) if counts is None else counts

        def rows(some: Bools) -> Floats:
            found = np.bincount(place[some], weights=weights[some], minlength=steps)
            return found.astype(np.float64)

        parts = None
        if fragments is not None:
            parts = {int(part): rows(fragments == part) for part in np.unique(fragments)}
        return cls(edges, rows(np.ones(len(keys), dtype=np.bool_)), parts)

    def selected(self, selection: frozenset[int] | None) -> Histogram:
        """The rows of some fragments; all rows, as a fair sample, if they are not known apart."""
        if selection is None or self.parts is None:
            return self
        some = [rows for part, rows in self.parts.items() if part in selection]
        return Histogram(self.edges, np.sum([np.zeros_like(self.rows), *some], axis=0))

    def frequencies(self, edges: Floats) -> Floats:
        """The part of all rows that one key of each finer bucket has, if keys are spread evenly."""
        total = self.rows.sum()
        if not total:
            return np.zeros(len(edges) - 1)
        each = self.rows / np.diff(self.edges) / total
        place = np.searchsorted(self.edges, edges[:-1], side="right") - 1
        inside = (place >= 0) & (place < len(each))
        return np.where(inside, each[np.clip(place, 0, len(each) - 1)], 0.0)


def histogram_weights(
    queries: Iterable[JoinQuery | Sequence[Join]],
    statistics: Mapping[str, Mapping[str, Histogram]],
) -> dict[str, float]:
    """Weights as they would be if the attributes of a relation were independent.

    Then the second moment of an estimate is a product over joins. A join that seems empty weighs
    as much as the heaviest that does not. Only rows that a query selects are looked at.
    """
    found = {tree.name: _weight(tree, statistics) for tree in join_trees(queries)}
    heaviest = max((weight for weight in found.values() if math.isfinite(weight)), default=1.0)
    return {name: min(weight, heaviest) for name, weight in found.items()}


def sketch_weights(plan: SharingPlan, sketches: Sketches) -> dict[str, float]:
    """Weights from the spread of estimates that were made with a plan.

    An answer is taken for two standard errors larger than it seems, so that a query about which
    little is known does not starve the others.
    """
    found: dict[str, float] = {}
    for query in plan.copies:
        weight = weight_of(samples(plan, sketches, query))
        found[query] = plan.weights[query] if weight is None else weight
    return found


def weight_of(values: Floats) -> float | None:
    """A weight from samples of one query; None if they do not tell."""
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    if not variance:
        return None
    answer = abs(float(values.mean())) + 2 * math.sqrt(variance / len(values))
    return SCALE * variance / answer**2


def _weight(tree: JoinTree, statistics: Mapping[str, Mapping[str, Histogram]]) -> float:
    second = 1.0
    for edge in tree.edges:
        sides = [_histogram(tree, slot, statistics) for slot in edge]
        edges = np.unique(np.concatenate([side.edges for side in sides]))
        p, q = (side.frequencies(edges) for side in sides)
        width = np.diff(edges)
        joined = float((p * q * width).sum())
        if not joined:
            return math.inf
        alone = float((p * p * width).sum() * (q * q * width).sum())
        twice = float((p * p * q * q * width).sum())
        # Two pairs of rows agree on a join as they should, crosswise, or each side within itself.
        second *= 2 + (alone - 2 * twice) / joined**2
    return max(SCALE * (second - 1), 1e-9)


def _histogram(
    tree: JoinTree, slot: tuple[int, int], statistics: Mapping[str, Mapping[str, Histogram]]
) -> Histogram:
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
