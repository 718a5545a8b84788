"""Which windows share slices: one function for all ways to decide it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

from gingham.core.errors import QueryError
from gingham.optimizer.weave.cost import Cost, Operations
from gingham.optimizer.weave.edge_sets import AnyWindow, checked_rate, read_windows
from gingham.optimizer.weave.exhaustive import exhaustive
from gingham.optimizer.weave.incremental import IncrementalPlan, incremental
from gingham.optimizer.weave.insert import insert_then_weave
from gingham.optimizer.weave.local import local_search, local_search_random
from gingham.optimizer.weave.many import scalable
from gingham.optimizer.weave.plan import WovenPlan, WovenTree
from gingham.optimizer.weave.problem import Partition, Problem, grown
from gingham.optimizer.weave.share import weave_share
from gingham.optimizer.weave.simple import no_share, random_trees, shared

METHODS: dict[str, Callable[..., Partition]] = {
    "no_share": no_share,
    "shared": shared,
    "random": random_trees,
    "insert_then_weave": insert_then_weave,
    "local_search": local_search,
    "local_search_random": local_search_random,
    "exhaustive": exhaustive,
    "weave_share": weave_share,
    "scalable": scalable,
}

# Exact edge rates of a plan that was found on a sample may take this part of the time.
_FOR_RATES = 0.05


@overload
def weave(
    windows: Iterable[AnyWindow],
    *,
    rate: float,
    method: Literal["incremental"],
    cost: Cost | None = None,
    budget: float = 60.0,
    seed: int = 0,
    tolerance: float = 0.2,
) -> IncrementalPlan: ...


@overload
def weave(
    windows: Iterable[AnyWindow],
    *,
    rate: float,
    method: str = "scalable",
    cost: Cost | None = None,
    factors: Sequence[float] | None = None,
    budget: float = 60.0,
    seed: int = 0,
    **options: Any,
) -> WovenPlan: ...


def weave(
    windows: Iterable[AnyWindow],
    *,
    rate: float,
    method: str = "scalable",
    cost: Cost | None = None,
    factors: Sequence[float] | None = None,
    budget: float = 60.0,
    seed: int = 0,
    **options: Any,
) -> WovenPlan:
    """Decide which windows share a tree of slices, for a stream of `rate` rows per unit of time.

    Windows are pairs (range, slide) in any unit of time, or windows of queries, for which the
    rate is rows per second. `factors` stand in for range / slide of each window where the cost asks
    for something else that adds up over the windows of a tree. After `budget` seconds the search
    stops with the best plan so far, and the plan's notices say so.

    >>> plan = weave([(16, 4), (10, 5), (8, 4)], rate=1.2)
    >>> round(plan.cost, 9), [tree.windows for tree in plan.trees]
    (4.3, [((16, 4), (8, 4)), ((10, 5),)])
    """
    model, rate = cost or Operations(), checked_rate(rate)
    if method == "incremental":
        tolerance = options.pop("tolerance", 0.2)

        def from_scratch(again: Iterable[AnyWindow]) -> WovenPlan:
            return weave(again, rate=rate, cost=model, budget=budget, seed=seed, **options)

        return incremental(from_scratch(windows), tolerance, from_scratch)
    if method not in METHODS:
        raise QueryError(
            f"there is no way {method!r} to weave",
            "its name is none of ours",
            ", ".join([*METHODS, "incremental"]),
        )
    started = time.monotonic()
    for_rates = _FOR_RATES * budget if method == "scalable" else 0.0
    problem = Problem(
        read_windows(windows, factors), model, rate, started + budget - for_rates, seed
    )
    partition = METHODS[method](problem, **options)
    until = max(started + budget, time.monotonic())
    trees, notices = grown(problem, partition, until), partition.notices
    if method == "scalable" and _one_may_cost_less(problem, trees):
        one = grown(problem, shared(problem), until)
        if one[0].cost < sum(tree.cost for tree in trees):
            # Merging pairs only as long as each merge pays may end before all have paid together.
            trees, notices = one, (*notices, "one tree: it costs less than where merges ended")
    return WovenPlan(trees, rate, method, notices, partition.operations, model)


def _one_may_cost_less(problem: Problem, trees: Sequence[WovenTree]) -> bool:
    """Whether a tree of all windows may: its edges are at least those of any other."""
    if len(trees) == 1:
        return False
    densest = max(float(tree.edge_rate) for tree in trees)
    least = problem.price(densest, float(problem.windows.factors.sum()))
    return least < sum(tree.cost for tree in trees)
