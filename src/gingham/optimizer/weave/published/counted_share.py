"""Weave Share that only counts edges, as Shein et al. (CIKM 2015) run it to compare F1 with BS.

Everything is plain Python, one step of a loop for one operation, so that the time that a plan takes
is that of counting. It never stops before its end.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gingham.algebra.edges import ResidueClass
from gingham.algebra.edges.published.f1 import count_by_groups
from gingham.optimizer.weave.weaver import NO_GAIN
from gingham.optimizer.weave.weaving_problem import Partition, Problem, tree_of_each_window

# Classes without duplicates and their composite period in; edges in one period and operations out.
CountEdges = Callable[[Sequence[ResidueClass], int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree of edge sets: residue classes, edges per tick, overlap factor and cost."""

    members: tuple[int, ...]
    classes: tuple[ResidueClass, ...]
    edges: float
    factor: float
    price: float


def counted_share(problem: Problem, *, count: CountEdges = count_by_groups) -> Partition:
    """Weave Share with a table of savings, edges being counted by `count` and by nothing else.

    Equal edge sets are one tree from the start: no merge saves more than that of two such trees.
    """
    greedy = _Greedy(problem, count)
    trees = greedy.merge_all()
    return Partition(
        tree_of_each_window(problem, [tree.members for tree in trees]),
        [tree.edges * problem.windows.ticks for tree in trees],
        exact=True,
        how="Weave Share",
        operations=greedy.operations,
    )


class _Greedy:
    """The trees while they are merged, and the savings of all pairs that save something."""

    def __init__(self, problem: Problem, count: CountEdges) -> None:
        self._problem = problem
        self._count = count
        self._ticks = problem.windows.ticks
        self._empty = problem.price(0.0, 0.0)
        self._trees = {i: self._single(i) for i in range(len(problem.sets))}
        self._pairs: list[tuple[float, int, int, int, _Tree, _Tree, _Tree]] = []
        self._compared = 0
        self.operations = 0

    def merge_all(self) -> list[_Tree]:
        """Merge the pair that saves most, of equal ones the first, while one saves something."""
        numbers = list(self._trees)
        for position, i in enumerate(numbers):
            for j in numbers[position + 1 :]:
                self._compare(i, j)
        while self._pairs:
            _, i, j, _, one, other, both = heapq.heappop(self._pairs)
            # A pair is of the past once one of its trees was merged with another.
            if self._trees.get(i) is one and self._trees.get(j) is other:
                del self._trees[j]
                self._trees[i] = both
                for k in self._trees:
                    if k != i:
                        self._compare(min(i, k), max(i, k))
        return list(self._trees.values())

    def _single(self, number: int) -> _Tree:
        classes = self._problem.sets.classes(number)
        edges, factor = len(classes) / classes[0][0], float(self._problem.sets.factors[number])
        return _Tree((number,), classes, edges, factor, self._price(edges, factor))

    def _compare(self, i: int, j: int) -> None:
        """Count the edges of two trees together; remember the pair if it saves something."""
        one, other = self._trees[i], self._trees[j]
        classes = _union(one.classes, other.classes)
        period = math.lcm(*[slide for slide, _ in classes])
        counted, operations = self._count(classes, period)
        self._compared += 1
        self.operations += operations
        edges, factor = counted / period, one.factor + other.factor
        price = self._price(edges, factor)
        saving = round((one.price + other.price - price) / self._empty, 10) if self._empty else 0.0
        if saving > NO_GAIN:
            both = _Tree(one.members + other.members, classes, edges, factor, price)
            # The number of the comparison: trees themselves have no order.
            heapq.heappush(self._pairs, (-saving, i, j, self._compared, one, other, both))

    def _price(self, edges: float, factor: float) -> float:
        return float(self._problem.price(edges * self._ticks, factor))


def _union(one: Sequence[ResidueClass], other: Sequence[ResidueClass]) -> tuple[ResidueClass, ...]:
    """The classes of both trees without those that are within a class of the other tree."""
    mine = _outside(one, other)
    return (*mine, *_outside(other, mine))


def _outside(classes: Sequence[ResidueClass], coarse: Sequence[ResidueClass]) -> list[ResidueClass]:
    """The classes that are within none of the coarse ones."""
    outside: list[ResidueClass] = []
    for slide, residue in classes:
        for length, start in coarse:
            if slide % length == 0 and residue % length == start:
                break
        else:
            outside.append((slide, residue))
    return outside
