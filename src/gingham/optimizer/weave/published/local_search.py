"""Local search: one window at a time moves to the tree where it costs least."""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Ints
from gingham.optimizer.weave.edge_measures import EncodedEdges
from gingham.optimizer.weave.published.baselines import no_share, random_trees
from gingham.optimizer.weave.weaving_problem import Partition, Problem

MOVES_PER_WINDOW = 10


def local_search(problem: Problem, moves: int | None = None) -> Partition:
    """Weave by local search: move windows between trees, from a tree for each window on."""
    return _move_windows(problem, no_share(problem), moves)


def local_search_random(problem: Problem, moves: int | None = None) -> Partition:
    """Weave by local search: move windows between trees, from random trees on."""
    return _move_windows(problem, random_trees(problem), moves)


def _move_windows(problem: Problem, start: Partition, moves: int | None) -> Partition:
    """Move windows between trees in random order until no move saves anything or time is up."""
    most = MOVES_PER_WINDOW * len(problem.windows) if moves is None else moves
    forest = _Forest(problem, start.tree_of_window)
    order = np.random.default_rng(problem.seed).permutation(len(problem.windows)).tolist()
    tried, settled = 0, 0
    while tried < most and settled < len(order) and not problem.out_of_time:
        settled = 0 if forest.move(order[tried % len(order)]) else settled + 1
        tried += 1
    notices = ()
    if settled < len(order):
        notices = (f"local search stopped early, after {tried:,} of at most {most:,} steps",)
    numbers = np.unique(forest.tree_of_window, return_inverse=True)[1]
    return Partition(numbers, operations=forest.compared, notices=notices)


class _Forest:
    """Trees as sets of windows, with the edge rates and factors to price a move."""

    def __init__(self, problem: Problem, tree_of_window: Ints) -> None:
        self._problem = problem
        self.compared = 0
        self.tree_of_window = tree_of_window.copy()
        n = len(problem.windows) + 1  # one tree is always empty, for a window that is best alone
        self._sets = problem.sets.of_window.tolist()
        self._members: list[dict[int, int]] = [{} for _ in range(n)]  # edge set: windows with it
        self._factors = np.zeros(n)
        self._edges = np.zeros(n)
        self._encoded: list[EncodedEdges | None] = [None] * n
        for i, tree in enumerate(tree_of_window.tolist()):
            self._count(tree, self._sets[i], 1)
            self._factors[tree] += problem.windows.factors[i]
        for tree in set(tree_of_window.tolist()):
            self._encoded[tree], self._edges[tree] = self._measured(tree)

    def _count(self, tree: int, edge_set: int, more: int) -> None:
        """Change the number of windows with an edge set in a tree."""
        members = self._members[tree]
        members[edge_set] = members.get(edge_set, 0) + more
        if not members[edge_set]:
            del members[edge_set]

    def _measured(self, tree: int) -> tuple[EncodedEdges | None, float]:
        """The encoded edges and the edge rate of a tree."""
        if not self._members[tree]:
            return None, 0.0
        measure = self._problem.measure
        encoded = measure.union([self._problem.encoded[i] for i in self._members[tree]])
        return encoded, measure.rate(encoded)

    def move(self, window: int) -> bool:
        """Move a window to the tree where it costs least; False if that is its own tree."""
        problem, measure = self._problem, self._problem.measure
        home, edge_set = int(self.tree_of_window[window]), self._sets[window]
        factor = float(problem.windows.factors[window])
        encoded = problem.encoded[edge_set]
        own_rate = measure.rate(encoded)

        before = self._price(home)
        self._count(home, edge_set, -1)
        self._factors[home] -= factor
        unchanged = self._encoded[home], self._edges[home]
        if edge_set not in self._members[home]:
            self._encoded[home], self._edges[home] = self._measured(home)
        leaving = before - self._price(home)

        trees = [tree for tree, edges in enumerate(self._encoded) if edges is not None]
        self.compared += len(trees)
        common = measure.overlaps(encoded, [self._encoded[tree] for tree in trees])[0]
        edges, factors = self._edges[trees], self._factors[trees]
        with_it = problem.cost.tree(edges + own_rate - common, factors + factor, problem.rate)
        joining = with_it - problem.cost.tree(edges, factors, problem.rate)
        best = int(np.argmin(joining)) if trees else -1
        alone = problem.price(own_rate, factor)
        target, price = home, leaving
        if trees and joining[best] < min(price, alone) - 1e-12 * before:
            target, price = trees[best], float(joining[best])
        elif alone < price - 1e-12 * before and self._members[home]:
            target = next(tree for tree, edges in enumerate(self._encoded) if edges is None)
        self._count(target, edge_set, 1)
        self._factors[target] += factor
        if target == home:
            self._encoded[home], self._edges[home] = unchanged
            return False
        self._encoded[target], self._edges[target] = self._measured(target)
        self.tree_of_window[window] = target
        return True

    def _price(self, tree: int) -> float:
        """The cost of a tree as it is now; none if it has no window."""
        if not self._members[tree]:
            return 0.0
        return self._problem.price(float(self._edges[tree]), float(self._factors[tree]))
