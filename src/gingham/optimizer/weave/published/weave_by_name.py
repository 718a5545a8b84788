"""Weaving by a named method: the engine's own and the published ones (CIKM 2011 and 2015)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

from gingham.core.errors import QueryError
from gingham.optimizer import weave as engine
from gingham.optimizer.weave.edge_sets import AnyWindow, checked_rate, read_windows
from gingham.optimizer.weave.published.baselines import no_share, random_trees
from gingham.optimizer.weave.published.counted_share import counted_share
from gingham.optimizer.weave.published.exhaustive import exhaustive
from gingham.optimizer.weave.published.incremental_plan import IncrementalPlan, incremental
from gingham.optimizer.weave.published.insert_then_weave import insert_then_weave
from gingham.optimizer.weave.published.local_search import local_search, local_search_random
from gingham.optimizer.weave.published.weave_share import weave_share
from gingham.optimizer.weave.scalable import scalable
from gingham.optimizer.weave.tree_cost import Cost, Operations
from gingham.optimizer.weave.weaving_problem import Partition, Problem, one_tree, trees_of
from gingham.optimizer.weave.woven_plan import WovenPlan

METHODS: dict[str, Callable[..., Partition]] = {
    "no_share": no_share,
    "shared": one_tree,
    "random": random_trees,
    "insert_then_weave": insert_then_weave,
    "local_search": local_search,
    "local_search_random": local_search_random,
    "exhaustive": exhaustive,
    "weave_share": weave_share,
    "counted_share": counted_share,
    "scalable": scalable,
}


@overload
def weave(
    windows: Iterable[AnyWindow],
    *,
    rate: float,
    method: Literal["incremental"],
    cost: Cost | None = None,
    budget: float = 60.0,
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
    """Weave windows with a method of METHODS, or "incremental" for a plan that can be changed.

    Arguments mean what they mean to the engine's `gingham.optimizer.weave.weave`, which is the
    method "scalable"; `options` are those of the method.

    >>> plan = weave([(16, 4), (10, 5), (8, 4)], rate=1.2, method="exhaustive")
    >>> round(plan.cost, 9)
    4.3
    """
    model, rate = cost or Operations(), checked_rate(rate)
    if method == "incremental":
        tolerance = options.pop("tolerance", 0.2)

        def from_scratch(again: Iterable[AnyWindow]) -> WovenPlan:
            return engine.weave(again, rate=rate, cost=model, budget=budget, **options)

        return incremental(from_scratch(windows), tolerance, from_scratch)
    if method not in METHODS:
        raise QueryError(
            f"there is no way {method!r} to weave",
            "its name is none of ours",
            ", ".join([*METHODS, "incremental"]),
        )
    if method == "scalable":
        return engine.weave(
            windows, rate=rate, cost=model, factors=factors, budget=budget, **options
        )
    started = time.monotonic()
    problem = Problem(read_windows(windows, factors), model, rate, started + budget, seed)
    partition = METHODS[method](problem, **options)
    until = max(started + budget, time.monotonic())
    trees = trees_of(problem, partition, until)
    return WovenPlan(trees, rate, method, partition.notices, partition.operations, model)
