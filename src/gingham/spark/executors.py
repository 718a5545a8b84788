"""Finals inside executors: the same functions, over the shards of some groups at a time."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gingham.core import names
from gingham.finals.answer import Cells, answer
from gingham.finals.shards import ShardTable, located
from gingham.plan.bound import BoundQuery
from gingham.plan.slices import Slices
from gingham.plan.tree import Tree
from gingham.spark.shards import cell_of

_BUCKET = "__bucket"
_SHARDS_PER_BUCKET = 100_000


def answer_in_executors(
    query: BoundQuery, shards: DataFrame, count: int, tree: Tree, slices: Slices
) -> DataFrame:
    """The query's slots, computed where the shards are: no shard reaches the driver."""
    grid = tree.grid_of(query)
    last = grid.offset + grid.cells - 1
    own = shards.where(f"{cell_of(tree, slices)} BETWEEN {grid.offset}L AND {last}L")
    keys = [names.key(tree.keys.index(k)) for k in grid.keys]
    buckets = max(1, count // _SHARDS_PER_BUCKET)
    bucket = F.pmod(F.hash(*keys), F.lit(buckets)) if keys else F.lit(0)
    grouped = own.withColumn(_BUCKET, bucket).groupBy(_BUCKET)
    return grouped.applyInArrow(
        _answer_of(query, tree, slices), schema=from_arrow_schema(query.slots)
    )


def _answer_of(query: BoundQuery, tree: Tree, slices: Slices) -> Callable[[pa.Table], pa.Table]:
    def compute(table: pa.Table) -> pa.Table:
        return answer(query, ShardTable(located(table, tree, slices), tree), Cells())

    return compute
