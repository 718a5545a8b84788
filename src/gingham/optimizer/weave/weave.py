"""Decide which windows share a tree of slices, so that the trees cost least in all."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from gingham.optimizer.weave.edge_sets import AnyWindow, checked_rate, read_windows
from gingham.optimizer.weave.scalable import scalable
from gingham.optimizer.weave.tree_cost import Cost, Operations
from gingham.optimizer.weave.weaving_problem import Problem, one_tree, trees_of
from gingham.optimizer.weave.woven_plan import WovenPlan, WovenTree

# Exact edge rates of a plan that was found on a sample may take this part of the time.
_FOR_RATES = 0.05


def weave(
    windows: Iterable[AnyWindow],
    *,
    rate: float,
    cost: Cost | None = None,
    factors: Sequence[float] | None = None,
    budget: float = 60.0,
) -> WovenPlan:
    """Decide which windows share a tree of slices, for a stream of `rate` rows per unit of time.

    Windows are pairs (range, slide) in any unit of time, or windows of queries, for which the
    rate is rows per second. `factors` replace range / slide of each window for a cost that adds up
    something else over the windows of a tree. After `budget` seconds the search stops with the
    best plan so far, and the plan's notices say so.

    >>> plan = weave([(16, 4), (10, 5), (8, 4)], rate=1.2)
    >>> round(plan.cost, 9), [tree.windows for tree in plan.trees]
    (4.3, [((16, 4), (8, 4)), ((10, 5),)])
    """
    model, rate = cost or Operations(), checked_rate(rate)
    started = time.monotonic()
    until = started + (1 - _FOR_RATES) * budget
    problem = Problem(read_windows(windows, factors), model, rate, until)
    partition = scalable(problem)
    until = max(started + budget, time.monotonic())
    trees, notices = trees_of(problem, partition, until), partition.notices
    if _one_tree_may_cost_less(problem, trees):
        single = trees_of(problem, one_tree(problem), until)
        if single[0].cost < sum(tree.cost for tree in trees):
            # Each merge has to pay for itself, so merging may stop though merging all would pay.
            trees, notices = single, (*notices, "one tree: it costs less than where merges ended")
    return WovenPlan(trees, rate, "scalable", notices, partition.operations, model)


def _one_tree_may_cost_less(problem: Problem, trees: Sequence[WovenTree]) -> bool:
    """Whether one tree of all windows may cost less; it has at least the edges of any tree."""
    if len(trees) == 1:
        return False
    densest = max(float(tree.edge_rate) for tree in trees)
    least = problem.price(densest, float(problem.windows.factors.sum()))
    return least < sum(tree.cost for tree in trees)
