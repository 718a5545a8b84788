"""One shared run over a static DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gingham.core.arrays import Ints
from gingham.core.errors import GinghamError
from gingham.core.stopwatch import Stopwatch
from gingham.finals.answer import answer
from gingham.finals.record_table import ShardReader
from gingham.finals.shards import ShardTable, no_shards
from gingham.plan.bound import BoundQuery
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest, Plan
from gingham.plan.forest_records import ForestRecords
from gingham.plan.grid import Grid
from gingham.plan.slices import Slices, sliced
from gingham.spark.answers import (
    Answers,
    CollectedAnswer,
    FailedAnswer,
    LazyAnswer,
    QueryAnswer,
    Statistics,
)
from gingham.spark.far_answers import FarAnswers, answer_packed_shards, answer_shards
from gingham.spark.fill_by_columns import counts_by_grid, fill_by_columns, tables_by_grid
from gingham.spark.fill_partition import GRID
from gingham.spark.outputs_together import OutputsTogether
from gingham.spark.packed_tables import collect_packed
from gingham.spark.rows_to_records import rows_to_records
from gingham.spark.rows_to_shards import in_grids_sql, rows_to_shards, shard_cell_sql
from gingham.spark.spark_errors import failed_answer
from gingham.spark.spark_session import with_compiled_methods, without_adaptive_planning

MOST_SHARDS_ON_DRIVER = 2_000_000  # some hundred bytes each


def run_shared(
    spark: SparkSession,
    plan: Plan,
    enriched: DataFrame,
    event_time: str,
    find_instant: Callable[[], int],
    *,
    most_on_driver: int = MOST_SHARDS_ON_DRIVER,
    cells: ConditionCache,
    folded_cells: Mapping[int, Ints],
    forest_records: ForestRecords | None = None,
) -> Answers:
    """Run a plan as Spark jobs: one pass over a static DataFrame answers all its queries.

    `find_instant` gives an instant at which there is data; it is called only if edges must be
    listed. `cells` caches the cells in which conditions hold, `folded_cells` are those of
    `rows_to_shards`. Shards are shuffled, or the records of `forest_records`.
    """
    forest, watch = plan.forest, Stopwatch()
    made: list[_Made] = []
    if forest.by_cells.grids:
        reader = ShardReader(forest.by_cells, forest_records)
        slices = sliced(forest.by_cells.trees, lambda: (find_instant(), None))
        watch.lap("slices")
        shards = (
            rows_to_shards(enriched, reader.forest, slices, event_time, folded_cells=folded_cells)
            if forest_records is None
            else rows_to_records(enriched, reader.forest, forest_records, slices, event_time)
        )
        made.append(_made_by_cells(spark, shards, reader, slices, most_on_driver))
        watch.lap("shards")
    if forest.by_columns.grids:
        packed = fill_by_columns(enriched, forest, event_time)
        with with_compiled_methods(spark):
            made.append(_made_by_columns(packed, forest, most_on_driver))
        watch.lap("shards")
    on_executors = frozenset(grid for part in made for grid in part.on_executors)
    answers: dict[str, QueryAnswer] = {}
    releases = [part.release for part in made]
    for part in made:
        own = part.queries
        local = [q for q in own if forest.grid_of(q) not in on_executors]
        answers |= _answer_on_driver(spark, local, part.table, cells)
        distant = [q for q in own if forest.grid_of(q) in on_executors]
        if part.answered is not None and distant:
            far = FarAnswers(spark, part.answered(distant), distant, most_on_driver)
            answers |= {query.name: LazyAnswer(query.name, far) for query in distant}
            releases.append(far.release)
    watch.lap("finals")
    statistics = Statistics(
        queries=len(forest.queries),
        shards=sum(part.shards for part in made),
        grids=len(forest.grids),
        cells=forest.cells,
        partials=len(forest.columns),
        in_executors=tuple(q.name for q in forest.queries if forest.grid_of(q) in on_executors),
        seconds=watch.laps,
        fragments=() if forest_records is None else forest_records.notices,
    )

    def release() -> None:
        """Free the shards that executors keep."""
        for free in releases:
            free()

    if not on_executors:
        release()
    in_order = {query.name: answers[query.name] for query in forest.queries}
    return Answers(in_order, statistics, release if on_executors else lambda: None)


@dataclass(frozen=True, slots=True)
class _Made:
    """Shards that were made in one way: those on the driver, and how to answer from others."""

    queries: tuple[BoundQuery, ...]
    table: ShardTable
    shards: int
    on_executors: frozenset[Grid] = frozenset()
    answered: Callable[[Sequence[BoundQuery]], DataFrame] | None = None  # from shards elsewhere
    release: Callable[[], object] = lambda: None


def _made_by_cells(
    spark: SparkSession,
    shards: DataFrame,
    reader: ShardReader,
    slices: Mapping[int, Slices],
    most_on_driver: int,
) -> _Made:
    """Let Spark make shards by cells, and collect those of small grids."""
    if not reader.forest.keys:
        # Without keys there are at most slices x cells shards, so they may come at once, and
        # planning again after every stage would cost more than it could save.
        with without_adaptive_planning(spark):
            table = shards.toArrow()
        return _Made(reader.forest.queries, reader.table(table, slices), table.num_rows)
    shards = shards.persist(StorageLevel.MEMORY_AND_DISK)
    counts = _count_shards(shards, reader, slices)
    on_executors = grids_for_executors(counts, most_on_driver)
    cell, grids = shard_cell_sql(reader.layout, slices), map(reader.grid_layout, on_executors)
    table = shards.where(f"NOT {in_grids_sql(cell, grids)}").toArrow()
    return _Made(
        queries=reader.forest.queries,
        table=reader.table(table, slices),
        shards=sum(counts.values()),
        on_executors=on_executors,
        answered=lambda queries: answer_shards(queries, shards, counts, reader, slices),
        release=shards.unpersist,
    )


def _made_by_columns(packed: DataFrame, forest: Forest, most_on_driver: int) -> _Made:
    """Let Spark make shards by columns, and collect those of small grids."""
    own = forest.by_columns
    packed = packed.persist(StorageLevel.MEMORY_AND_DISK)
    counts = counts_by_grid(packed, own.grids)
    on_executors = grids_for_executors(counts, most_on_driver)
    remote = ", ".join(str(grid.number) for grid in on_executors)
    table = collect_packed(packed.where(f"{GRID} NOT IN ({remote})") if remote else packed)
    return _Made(
        queries=own.queries,
        table=ShardTable(no_shards(forest.codebook), forest, apart=tables_by_grid(table)),
        shards=sum(counts.values()),
        on_executors=on_executors,
        answered=lambda queries: answer_packed_shards(queries, packed, counts, forest),
        release=packed.unpersist,
    )


def grids_for_executors(counts: Mapping[Grid, int], most: int) -> frozenset[Grid]:
    """The largest grids, to stay on executors so that `most` shards are left to the driver.

    `counts` are the numbers of shards of all grids.
    """
    on_executors: set[Grid] = set()
    for grid in sorted(counts, key=lambda g: counts[g], reverse=True):
        if sum(n for g, n in counts.items() if g not in on_executors) <= most:
            break
        on_executors.add(grid)
    return frozenset(on_executors)


def _answer_on_driver(
    spark: SparkSession, queries: Iterable[BoundQuery], table: ShardTable, cells: ConditionCache
) -> dict[str, QueryAnswer]:
    """Answer queries from collected shards on the driver; one that fails affects no other."""
    aggregated: dict[str, pa.Table] = {}
    answers: dict[str, QueryAnswer] = {}
    # Queries with the same condition one after the other: what they share is cached briefly.
    in_order = sorted(queries, key=lambda q: q.where.sql)
    for query in in_order:
        try:
            aggregated[query.name] = answer(query, table, cells)
        except GinghamError as error:
            answers[query.name] = FailedAnswer(error)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is this query's alone)
            answers[query.name] = FailedAnswer(failed_answer(error))
    answered = {q.name: q.query for q in in_order if q.name in aggregated}
    outputs = OutputsTogether(spark, answered, aggregated)
    return answers | {n: CollectedAnswer(spark, q, outputs) for n, q in answered.items()}


def _count_shards(
    shards: DataFrame, reader: ShardReader, slices: Mapping[int, Slices]
) -> dict[Grid, int]:
    """Count the shards of each grid with a Spark job."""
    forest = reader.forest
    branches = " ".join(
        f"WHEN {shard_cell_sql(reader.layout, slices)} < {numbers.offset + numbers.cells}L THEN {i}"
        for i, numbers in enumerate(reader.layout.grids)
    )
    counted = shards.groupBy(F.expr(f"CASE {branches} END").alias("grid")).count().collect()
    return dict.fromkeys(forest.grids, 0) | {forest.grids[r["grid"]]: r["count"] for r in counted}
