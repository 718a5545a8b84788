"""A micro-batch of rows becomes shards, in one Spark job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.finals.shards import located, no_shards
from gingham.finals.windows import NEVER
from gingham.plan.slices import Slices, horizon, periodic
from gingham.plan.tree import Plan, Tree
from gingham.spark.alone import micros
from gingham.spark.enrich import Lookups
from gingham.spark.run import first_instant
from gingham.spark.session import planned_once
from gingham.spark.shards import shards

# Batches of up to so many rows are grouped in one task, and without generating code for them.
FEW_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Shards, and what was counted on the way."""

    shards: pa.Table
    rows: int
    late: int
    timeless: int  # rows without a time, which are in no window
    latest: int
    cells: np.ndarray  # rows in each cell


@dataclass(frozen=True, slots=True)
class Near:
    """An instant, and how far from it most rows of a batch lie."""

    instant: int
    reach: int | None = None


def collect(
    df: DataFrame,
    plan: Plan | None,
    lookups: Lookups,
    time: str,
    watermark: int,
    near: Near | None,
    *,
    few: bool,
) -> Batch:
    """Code and group the rows of a batch; `near` tells when they are expected, if anything does."""
    watched = {
        names.ROWS: "count(1)",
        names.LATE: f"count_if({names.TIME} < {watermark}L)",
        names.LATEST: f"max({names.TIME})",
    }
    if plan is None:
        return _only_counted(df, time, watched)
    tree = plan.tree
    slices = periodic(tree.classes)
    if slices is None:
        near = near or Near(first_instant(df, time))
        slices = horizon(tree.classes, near.instant, near.reach)
    enriched = lookups.enrich(df, plan.joins, plan.columns)
    if few:
        enriched = enriched.coalesce(1)
    with planned_once(df.sparkSession, few=few):
        table = shards(enriched, tree, slices, time, watched=watched).toArrow()
    return _batch(table, tree, slices)


def _batch(table: pa.Table, tree: Tree, slices: Slices) -> Batch:
    numbered = names.CODE if names.CODE in table.column_names else names.SLICE
    timeless = table.filter(table[numbered].is_null())
    found = located(table, tree, slices)
    # Every row is once in every grid.
    first = found.filter(pa.array(found[names.CELL].to_numpy() < tree.grids[0].cells))
    cells = np.bincount(
        found[names.CELL].to_numpy(), found[names.ROWS].to_numpy(), minlength=tree.cells
    )
    return Batch(
        found.drop_columns([names.ROWS, names.LATE, names.LATEST]),
        rows=_sum(first[names.ROWS]),
        late=_sum(first[names.LATE]),
        timeless=_sum(timeless[names.ROWS]) // len(tree.grids),
        latest=_latest(first),
        cells=cells.astype(np.int64),
    )


def _only_counted(df: DataFrame, time: str, watched: dict[str, str]) -> Batch:
    timed = df.selectExpr(f"{micros(df, time)} AS {names.TIME}")
    counted = [f"{sql} AS {name}" for name, sql in watched.items()]
    table = timed.selectExpr(*counted, f"count_if({names.TIME} IS NULL) AS timeless").toArrow()
    timeless = _sum(table["timeless"])
    return Batch(
        no_shards(),
        _sum(table[names.ROWS]) - timeless,
        _sum(table[names.LATE]),
        timeless,
        _latest(table),
        np.zeros(0, dtype=np.int64),
    )


def _sum(column: pa.ChunkedArray) -> int:
    return int(column.to_numpy().sum())


def _latest(table: pa.Table) -> int:
    found = table[names.LATEST].drop_null().to_numpy()
    return int(found.max()) if len(found) else NEVER
