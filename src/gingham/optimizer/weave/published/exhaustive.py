"""The best of all plans, for few edge sets."""

from __future__ import annotations

import numpy as np

from gingham.algebra.edges import ResidueClass
from gingham.algebra.edges.merged_terms import intersection
from gingham.core.arrays import Floats, Ints
from gingham.core.errors import BudgetError
from gingham.optimizer.weave.edge_sets import EdgeSets
from gingham.optimizer.weave.weaving_problem import Partition, Problem, of_set_trees

MOST_SETS = 16


def exhaustive(problem: Problem) -> Partition:
    """Try all partitions; windows with equal edges share a tree in some best one of them."""
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
    trees = _cheapest(prices, n)
    members = [[i for i in range(n) if tree >> i & 1] for tree in trees]
    return Partition(
        of_set_trees(problem, members),
        [float(rates[tree]) for tree in trees],
        exact=True,
        how="inclusion and exclusion",
        operations=3**n,
    )


def _rates_of_subsets(sets: EdgeSets) -> Floats:
    """The edge rate of every subset, by inclusion and exclusion."""
    meets = np.zeros(1 << len(sets))
    common: list[list[ResidueClass]] = [[(1, 0)]]
    for i in range(len(sets)):
        for subset in range(1 << i):
            both = [
                found
                for one in common[subset]
                for other in sets.classes(i)
                if (found := intersection(one, other)) is not None
            ]
            common.append(both)
            sign = -1 if subset.bit_count() % 2 else 1
            meets[1 << i | subset] = sign * sum(1 / slide for slide, _ in both)
    return _sums_over_subsets(meets, len(sets)) * sets.ticks


def _sums_over_subsets(values: Floats, n: int) -> Floats:
    for i in range(n):
        halves = values.reshape(-1, 2, 1 << i)
        halves[:, 1] += halves[:, 0]
    return values


def _sums_of_subsets(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _cheapest(prices: Floats, n: int) -> list[int]:
    """The cheapest partition of the whole: for each subset, the best tree of its first member."""
    best = np.zeros(1 << n)
    choice = np.zeros(1 << n, dtype=np.int64)
    for subset in range(1, 1 << n):
        first = subset & -subset
        trees = first | _subsets(subset ^ first)
        totals = prices[trees] + best[subset ^ trees]
        found = int(np.argmin(totals))
        best[subset], choice[subset] = totals[found], trees[found]
    trees, left = [], (1 << n) - 1
    while left:
        trees.append(int(choice[left]))
        left ^= trees[-1]
    return trees


def _subsets(of: int) -> Ints:
    found = np.zeros(1, dtype=np.int64)
    while of:
        bit = of & -of
        found = np.concatenate([found, found | bit])
        of ^= bit
    return found
