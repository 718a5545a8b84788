"""What the optimizer must know of the rows: how many there are, and how they spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from gingham.optimizer import optimize
from gingham.optimizer.choose_trees import by_clock, several_trees_may_gain
from gingham.optimizer.choose_ways import have_little_in_common, needs_a_trial
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.row_statistics import RowStatistics, Trial
from gingham.spark.fill_by_columns import try_columns
from gingham.spark.lookup_tables import LookupTables
from gingham.spark.measure_rows import sample_rows
from gingham.spark.spark_errors import SPARK_ERRORS


def measure_statistics(
    stream: str,
    queries: Sequence[BoundQuery],
    rows: DataFrame,
    time: str,
    lookups: LookupTables,
    cost: Cost,
    count: Callable[[], RowStatistics],
) -> RowStatistics:
    """Count a stream's rows; sample how they spread if there is more than one way to weave.

    `count` counts them. If Spark raises here nothing is known: the run raises as well, and copes.
    """
    try:
        statistics = count()
        if needs_a_trial(queries):
            trial = _trial(stream, queries, rows, time, lookups, cost)
            statistics = replace(statistics, trial=trial)
        if have_little_in_common(queries) or not several_trees_may_gain(queries, cost, statistics):
            return statistics
        # Where grids cost nothing, every set of attributes has one of its own.
        free, clocks = replace(cost, grid=0.0), list(by_clock(queries))
        one_tree = {query.name: clocks.index(query.window.clock) for query in queries}
        apart = optimize(stream, queries, free, statistics, trees=one_tree)
        enriched = lookups.enrich(rows, apart.joins, apart.columns)
        return replace(statistics, sample=sample_rows(enriched, apart.forest, time))
    except SPARK_ERRORS:
        return RowStatistics()


def _trial(
    stream: str,
    queries: Sequence[BoundQuery],
    rows: DataFrame,
    time: str,
    lookups: LookupTables,
    cost: Cost,
) -> Trial:
    """Look at some rows the way columns would."""
    plan = optimize(stream, queries, cost, way="columns")
    enriched = lookups.enrich(rows, plan.joins, plan.columns)
    return try_columns(enriched, plan.forest, time)


def have_different_edges(queries: Sequence[BoundQuery]) -> bool:
    """Whether the windows of some queries differ, so that there is anything to weave."""
    return len({(query.window.classes, query.window.clock) for query in queries}) > 1


def is_worth_a_look(queries: Sequence[BoundQuery]) -> bool:
    """Whether the plan of a batch run depends on its rows: how to weave, or which way to go."""
    return have_different_edges(queries) or needs_a_trial(queries)
