"""Finals inside executors: the same functions, over the shards of some groups at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gingham.core import names
from gingham.finals.answer import answer
from gingham.finals.condense import condense
from gingham.finals.frames import Due
from gingham.finals.records import Read
from gingham.finals.shards import ShardTable, no_shards
from gingham.plan.bound import BoundQuery
from gingham.plan.cells import Cells
from gingham.plan.forest import Forest
from gingham.plan.slices import Slices
from gingham.spark.shards import cell_of, in_grids

_BUCKET = "__bucket"
_SHARDS_PER_BUCKET = 100_000
_BUCKETS = 64  # where nobody counted the shards


def answer_due(query: BoundQuery, shards: DataFrame, forest: Forest, due: Due) -> DataFrame:
    """The slots of windows that are due, from shards with instants; `__fresh` tells the last."""
    grid = forest.grid_of(query)
    low, high = due.reach(query.window)
    own = shards.where(in_grids(names.CELL, [grid])).where(
        f"{names.INSTANT} >= {low}L AND {names.INSTANT} < {high}L"
    )
    keys = [names.key(forest.keys.index(k)) for k in grid.keys]
    bucket = F.pmod(F.hash(*keys), F.lit(_BUCKETS)) if keys else F.lit(0)

    def compute(table: pa.Table) -> pa.Table:
        fresh = table[names.FRESH].to_numpy(zero_copy_only=False).astype(bool)
        whole = pa.concat_tables([table, no_shards(forest)], promote_options="default")
        return answer(query, ShardTable(whole, forest, fresh), Cells(), due)

    grouped = own.withColumn(_BUCKET, bucket).groupBy(_BUCKET)
    return grouped.applyInArrow(compute, schema=from_arrow_schema(query.slots))


def condense_in_executors(shards: DataFrame, forest: Forest) -> DataFrame:
    """Shards of the same instant, cell and group as one, where they are."""
    keys = [k for i in range(len(forest.keys)) if (k := names.key(i)) in shards.columns]
    bucket = F.pmod(F.hash(names.INSTANT, *keys), F.lit(_BUCKETS))
    columns = shards.columns

    def compute(table: pa.Table) -> pa.Table:
        return condense(table.select(columns), forest).select(columns)

    return shards.withColumn(_BUCKET, bucket).groupBy(_BUCKET).applyInArrow(compute, shards.schema)


def answer_in_executors(
    query: BoundQuery, shards: DataFrame, count: int, read: Read, slices: Mapping[int, Slices]
) -> DataFrame:
    """The query's slots, computed where the shards are: no shard reaches the driver."""
    forest = read.forest
    grid = forest.grid_of(query)
    own = shards.where(in_grids(cell_of(read.layout, slices), [read.numbers(grid)]))
    keys = [names.key(forest.keys.index(k)) for k in grid.keys]
    buckets = max(1, count // _SHARDS_PER_BUCKET)
    bucket = F.pmod(F.hash(*keys), F.lit(buckets)) if keys else F.lit(0)
    grouped = own.withColumn(_BUCKET, bucket).groupBy(_BUCKET)
    return grouped.applyInArrow(
        _answer_of(query, read, slices), schema=from_arrow_schema(query.slots)
    )


def _answer_of(
    query: BoundQuery, read: Read, slices: Mapping[int, Slices]
) -> Callable[[pa.Table], pa.Table]:
    def compute(table: pa.Table) -> pa.Table:
        return answer(query, read.table(table, slices), Cells())

    return compute
