"""One shared run over a static DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gingham.core.arrays import Ints
from gingham.core.errors import GinghamError
from gingham.core.stopwatch import Stopwatch
from gingham.finals.answer import answer
from gingham.finals.records import Read
from gingham.finals.shards import ShardTable
from gingham.plan.bound import BoundQuery
from gingham.plan.cells import Cells
from gingham.plan.forest import Grid, Plan
from gingham.plan.records import Reduced
from gingham.plan.slices import Slices, sliced
from gingham.spark.answers import Answers, Slots, Statistics
from gingham.spark.executors import answer_in_executors
from gingham.spark.send_records import records
from gingham.spark.session import planned_once
from gingham.spark.shards import cell_of, in_grids, shards

MOST_SHARDS_ON_DRIVER = 1_000_000


def run(
    spark: SparkSession,
    plan: Plan,
    enriched: DataFrame,
    event_time: str,
    around: Callable[[], int],
    *,
    most_on_driver: int = MOST_SHARDS_ON_DRIVER,
    cells: Cells,
    folds: Mapping[int, Ints],
    reduced: Reduced | None = None,
) -> Answers:
    """Answer all queries of a plan from one pass over the rows.

    `around` finds an instant at which there is data; it is asked only if edges must be listed.
    `cells` are what conditions are known to be in cells, `folds` those of `shards`. What is
    shuffled are shards, or records if fragments are `reduced` to such.
    """
    forest, watch = plan.forest, Stopwatch()
    read = Read(forest, reduced)
    slices = sliced(forest.trees, lambda: (around(), None))
    watch.lap("slices")
    made = (
        shards(enriched, forest, slices, event_time, folds=folds)
        if reduced is None
        else records(enriched, forest, reduced, slices, event_time)
    )
    if not forest.keys:
        # Without keys there are at most slices x cells shards, so they may come at once, and
        # planning again after every stage would cost more than it could save.
        with planned_once(spark):
            table, far, counts = made.toArrow(), frozenset[Grid](), {}
    else:
        made = made.persist(StorageLevel.MEMORY_AND_DISK)
        counts = count_shards(made, read, slices)
        far = too_large(counts, most_on_driver)
        away = in_grids(cell_of(read.layout, slices), [read.numbers(grid) for grid in far])
        table = made.where(f"NOT {away}").toArrow()
    watch.lap("shards")
    here = [q for q in forest.queries if forest.grid_of(q) not in far]
    slots: dict[str, Slots] = dict(answers_here(here, read.table(table, slices), cells))
    for query in forest.queries:
        grid = forest.grid_of(query)
        if grid in far:
            slots[query.name] = answer_in_executors(query, made, counts[grid], read, slices)
    watch.lap("finals")
    statistics = Statistics(
        queries=len(forest.queries),
        shards=sum(counts.values()) if forest.keys else table.num_rows,
        grids=len(forest.grids),
        cells=forest.cells,
        partials=len(forest.columns),
        in_executors=tuple(q.name for q in forest.queries if forest.grid_of(q) in far),
        seconds=watch.laps,
        fragments=() if reduced is None else reduced.notices,
    )
    release = made.unpersist if far else _nothing
    if forest.keys and not far:
        made.unpersist()
    queries = {q.name: q.query for q in forest.queries}
    return Answers(spark, queries, slots, statistics, release)


def answers_here(
    queries: Iterable[BoundQuery], table: ShardTable, cells: Cells
) -> Mapping[str, pa.Table | GinghamError]:
    """Finals in this process; a query that fails does not touch the others."""
    found: dict[str, pa.Table | GinghamError] = {}
    # Queries with the same condition one after the other: what they share is kept for a while only.
    for query in sorted(queries, key=lambda q: q.where.sql):
        try:
            found[query.name] = answer(query, table, cells)
        except GinghamError as error:
            found[query.name] = error
    return found


def count_shards(made: DataFrame, read: Read, slices: Mapping[int, Slices]) -> dict[Grid, int]:
    """How many shards each grid has."""
    forest = read.forest
    branches = " ".join(
        f"WHEN {cell_of(read.layout, slices)} < {numbers.offset + numbers.cells}L THEN {i}"
        for i, numbers in enumerate(read.layout.grids)
    )
    counted = made.groupBy(F.expr(f"CASE {branches} END").alias("grid")).count().collect()
    return dict.fromkeys(forest.grids, 0) | {forest.grids[r["grid"]]: r["count"] for r in counted}


def too_large(counts: Mapping[Grid, int], most: int) -> frozenset[Grid]:
    """The grids with so many shards that they stay in executors: the largest ones."""
    far: set[Grid] = set()
    for grid in sorted(counts, key=lambda g: counts[g], reverse=True):
        if sum(n for g, n in counts.items() if g not in far) <= most:
            break
        far.add(grid)
    return frozenset(far)


def _nothing() -> None:
    pass
