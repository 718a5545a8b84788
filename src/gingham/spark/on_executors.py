"""Finals of a stream on the executors: the same functions as on the driver, over some groups."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gingham.core import names
from gingham.finals.answer import answer
from gingham.finals.condense import condense
from gingham.finals.floors import Floors, needed
from gingham.finals.frames import Due
from gingham.finals.record_table import RecordTable
from gingham.finals.row_counts import RowsDue
from gingham.finals.shards import no_shards
from gingham.plan.bound import BoundQuery
from gingham.plan.codebook import Codebook
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest
from gingham.spark.rows_to_shards import in_grids_sql

_BUCKET = "__bucket"
_BUCKETS = 64


def answer_due_on_executors(
    query: BoundQuery, shards: DataFrame, forest: Forest, codebook: Codebook, due: Due | RowsDue
) -> DataFrame:
    """Compute a query's aggregates on the executors, for the windows that are due.

    `shards` have instants in place of codes, and numbers of the codebook; `__fresh` marks those of
    the last batch.
    """
    low, high = due.reach(query.window)
    in_grid = in_grids_sql(names.CELL, codebook.layouts([forest.grid_of(query)]))
    reached = shards.where(in_grid).where(
        f"{names.INSTANT} >= {low}L AND {names.INSTANT} < {high}L"
    )

    def compute(table: pa.Table) -> pa.Table:
        """Answer the due windows for the groups of one bucket, on an executor."""
        fresh = table[names.FRESH].to_numpy(zero_copy_only=False).astype(bool)
        complete = pa.concat_tables([table, no_shards(codebook)], promote_options="default")
        records = RecordTable(complete, forest, codebook, fresh)
        return answer(query, records, ConditionCache(), due)

    bucket = _bucket_of_keys(query, forest)
    buckets = reached.withColumn(_BUCKET, bucket).groupBy(_BUCKET)
    return buckets.applyInArrow(compute, schema=from_arrow_schema(query.slots))


def condense_on_executors(
    shards: DataFrame, forest: Forest, codebook: Codebook, floors: Floors
) -> DataFrame:
    """Merge shards of the same instant, cell and keys into one, on the executors.

    Only those are left that are still needed.
    """
    keys = [k for i in range(len(forest.keys)) if (k := names.key(i)) in shards.columns]
    bucket = F.pmod(F.hash(names.INSTANT, *keys), F.lit(_BUCKETS))
    columns = shards.columns

    def compute(table: pa.Table) -> pa.Table:
        """Merge the shards of one bucket, on an executor."""
        kept = table.filter(pa.array(needed(table, floors, codebook))).select(columns)
        return condense(kept, forest, codebook).select(columns)

    return shards.withColumn(_BUCKET, bucket).groupBy(_BUCKET).applyInArrow(compute, shards.schema)


def _bucket_of_keys(query: BoundQuery, forest: Forest) -> Column:
    """The Spark column by which shards are shuffled: one bucket has all shards of a group."""
    keys = [names.key(forest.keys.index(k)) for k in forest.grid_of(query).keys]
    return F.pmod(F.hash(*keys), F.lit(_BUCKETS)) if keys else F.lit(0)
