"""The cheapest of all partitions of windows into trees, for up to 16 distinct edge sets."""

from __future__ import annotations

import numpy as np

from gingham.algebra.edges import ResidueClass
from gingham.algebra.edges.merged_terms import intersection
from gingham.core.arrays import Floats, Ints
from gingham.core.errors import BudgetError
from gingham.optimizer.weave.edge_sets import EdgeSets
from gingham.optimizer.weave.weaving_problem import Partition, Problem, tree_of_each_window

MOST_SETS = 16


def exhaustive(problem: Problem) -> Partition:
    """Find the cheapest trees of windows by dynamic programming over all subsets of edge sets.

    Windows with equal edges share a tree: some cheapest partition has this property.
    """
    sets = problem.sets
    n = len(sets)
    if n > MOST_SETS:
        raise BudgetError(
            f"an exhaustive search over {n} different edge sets",
            f"their partitions are too many; {MOST_SETS} is the most",
            "method='scalable'",
        )
    rates = _rates_of_subsets(sets)
    factors = _sums_of_subsets(sets.factors)
    prices = problem.cost.tree(rates, factors, problem.rate)
    trees = _cheapest_partition(prices, n)
    members = [[i for i in range(n) if tree >> i & 1] for tree in trees]
    return Partition(
        tree_of_each_window(problem, members),
        [float(rates[tree]) for tree in trees],
        exact=True,
        how="inclusion and exclusion",
        operations=3**n,
    )


def _rates_of_subsets(sets: EdgeSets) -> Floats:
    """Compute the edge rate of every subset of edge sets, by inclusion and exclusion."""
    meets = np.zeros(1 << len(sets))
    common: list[list[ResidueClass]] = [[(1, 0)]]
    for i in range(len(sets)):
        for subset in range(1 << i):
            intersections = [
                both_classes
                for one in common[subset]
                for other in sets.classes(i)
                if (both_classes := intersection(one, other)) is not None
            ]
            common.append(intersections)
            sign = -1 if subset.bit_count() % 2 else 1
            meets[1 << i | subset] = sign * sum(1 / slide for slide, _ in intersections)
    return _sums_over_subsets(meets, len(sets)) * sets.ticks


def _sums_over_subsets(values: Floats, n: int) -> Floats:
    """For each set of edge sets, the sum of the values of its subsets (a zeta transform)."""
    for i in range(n):
        halves = values.reshape(-1, 2, 1 << i)
        halves[:, 1] += halves[:, 0]
    return values


def _sums_of_subsets(values: Floats) -> Floats:
    """For each set of edge sets, the sum of the values of its members."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _cheapest_partition(prices: Floats, n: int) -> list[int]:
    """Find the cheapest partition into trees: for each subset the best tree of its first member."""
    best = np.zeros(1 << n)
    choice = np.zeros(1 << n, dtype=np.int64)
    for subset in range(1, 1 << n):
        first = subset & -subset
        trees = first | _subsets_of(subset ^ first)
        totals = prices[trees] + best[subset ^ trees]
        cheapest = int(np.argmin(totals))
        best[subset], choice[subset] = totals[cheapest], trees[cheapest]
    trees, left = [], (1 << n) - 1
    while left:
        trees.append(int(choice[left]))
        left ^= trees[-1]
    return trees


def _subsets_of(of: int) -> Ints:
    """All subsets of a set of edge sets, as bits."""
    subsets = np.zeros(1, dtype=np.int64)
    while of:
        bit = of & -of
        subsets = np.concatenate([subsets, subsets | bit])
        of ^= bit
    return subsets
