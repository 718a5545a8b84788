"""Local search: one window at a time moves to the tree where it costs least."""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Ints
from gingham.optimizer.weave.edge_measures import Row
from gingham.optimizer.weave.published.baselines import no_share, random_trees
from gingham.optimizer.weave.weaving_problem import Partition, Problem

TIMES = 10  # as many moves as ten times the merges that weaving may need


def local_search(problem: Problem, moves: int | None = None) -> Partition:
    """Start with a tree for each window."""
    return _search(problem, no_share(problem), moves)


def local_search_random(problem: Problem, moves: int | None = None) -> Partition:
    """Start with random trees."""
    return _search(problem, random_trees(problem), moves)


def _search(problem: Problem, start: Partition, moves: int | None) -> Partition:
    most = TIMES * len(problem.windows) if moves is None else moves
    forest = _Forest(problem, start.tree_of_window)
    order = np.random.default_rng(problem.seed).permutation(len(problem.windows)).tolist()
    tried, settled = 0, 0
    while tried < most and settled < len(order) and not problem.late:
        settled = 0 if forest.move(order[tried % len(order)]) else settled + 1
        tried += 1
    notices = ()
    if settled < len(order):
        notices = (f"local search stopped early, after {tried:,} of at most {most:,} steps",)
    numbers = np.unique(forest.tree_of_window, return_inverse=True)[1]
    return Partition(numbers, operations=forest.looked_at, notices=notices)


class _Forest:
    """Trees as sets of windows, which move between them."""

    def __init__(self, problem: Problem, tree_of_window: Ints) -> None:
        self._problem = problem
        self.looked_at = 0
        self.tree_of_window = tree_of_window.copy()
        n = len(problem.windows) + 1  # one is always empty, to move to
        self._sets = problem.sets.of_window.tolist()
        self._members: list[dict[int, int]] = [{} for _ in range(n)]  # edge set: windows with it
        self._factors = np.zeros(n)
        self._edges = np.zeros(n)
        self._rows: list[Row | None] = [None] * n
        for i, tree in enumerate(tree_of_window.tolist()):
            self._count(tree, self._sets[i], 1)
            self._factors[tree] += problem.windows.factors[i]
        for tree in set(tree_of_window.tolist()):
            self._rows[tree], self._edges[tree] = self._grow(tree)

    def _count(self, tree: int, edge_set: int, more: int) -> None:
        members = self._members[tree]
        members[edge_set] = members.get(edge_set, 0) + more
        if not members[edge_set]:
            del members[edge_set]

    def _grow(self, tree: int) -> tuple[Row | None, float]:
        if not self._members[tree]:
            return None, 0.0
        measure = self._problem.measure
        row = measure.union([self._problem.rows[i] for i in self._members[tree]])
        return row, measure.rate(row)

    def move(self, window: int) -> bool:
        """Move a window to where it saves most; False if it stands there already."""
        problem, measure = self._problem, self._problem.measure
        home, edge_set = int(self.tree_of_window[window]), self._sets[window]
        factor = float(problem.windows.factors[window])
        row = problem.rows[edge_set]
        own = measure.rate(row)

        before = self._price(home)
        self._count(home, edge_set, -1)
        self._factors[home] -= factor
        stays = self._rows[home], self._edges[home]
        if edge_set not in self._members[home]:
            self._rows[home], self._edges[home] = self._grow(home)
        leaving = before - self._price(home)

        trees = [tree for tree, found in enumerate(self._rows) if found is not None]
        self.looked_at += len(trees)
        common = measure.overlaps(row, [self._rows[tree] for tree in trees])[0]
        edges, factors = self._edges[trees], self._factors[trees]
        with_it = problem.cost.tree(edges + own - common, factors + factor, problem.rate)
        joining = with_it - problem.cost.tree(edges, factors, problem.rate)
        best = int(np.argmin(joining)) if trees else -1
        alone = problem.price(own, factor)
        target, price = home, leaving
        if trees and joining[best] < min(price, alone) - 1e-12 * before:
            target, price = trees[best], float(joining[best])
        elif alone < price - 1e-12 * before and self._members[home]:
            target = next(tree for tree, found in enumerate(self._rows) if found is None)
        self._count(target, edge_set, 1)
        self._factors[target] += factor
        if target == home:
            self._rows[home], self._edges[home] = stays
            return False
        self._rows[target], self._edges[target] = self._grow(target)
        self.tree_of_window[window] = target
        return True

    def _price(self, tree: int) -> float:
        if not self._members[tree]:
            return 0.0
        return self._problem.price(float(self._edges[tree]), float(self._factors[tree]))
