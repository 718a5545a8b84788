"""The rows of a micro-batch become shards, in one Spark job."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core import names
from gingham.core.arrays import Ints
from gingham.core.time import NEVER
from gingham.finals.shards import located, no_shards, shards_in
from gingham.plan.forest import Forest, Plan
from gingham.plan.forest_records import ForestRecords
from gingham.plan.grid import Grid
from gingham.plan.slices import Slices, sliced
from gingham.spark.event_time import any_instant, bounded_micros_sql, micros_sql
from gingham.spark.fill_by_columns import (
    counts_of_rows,
    fill_stream_by_columns,
    tables_by_grid,
    unpacked_rows,
)
from gingham.spark.fill_partition import GRID
from gingham.spark.lookup_tables import LookupTables
from gingham.spark.rows_to_records import rows_to_records
from gingham.spark.rows_to_shards import in_grids_sql, rows_to_shards, with_instants
from gingham.spark.shared_run import grids_for_executors
from gingham.spark.spark_session import with_compiled_methods, without_adaptive_planning

# What is counted of every shard, and how counts are put together.
_COUNTED = {names.ROWS: "sum", names.LATE: "sum", names.LATEST: "max", names.AHEAD: "sum"}
_TIMELESS = "__timeless"
# Batches of up to so many rows are grouped in one task, and without generating code for them.
FEW_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Batch:
    """The shards of a micro-batch, and the rows, late rows and times that were counted."""

    shards: pa.Table
    rows: int
    late: int
    timeless: int  # rows without a time, which are in no window
    ahead: int  # rows after the last instant that counts, which are in no window either
    latest: int
    rows_in_cells: Ints  # of all grids, one after the other; then rows in records
    on_executors: DataFrame | None = None  # shards that stay there
    cached: tuple[DataFrame, ...] = ()  # what executors hold until those shards are written

    def release(self) -> None:
        """Free what executors hold."""
        for rows in self.cached:
            rows.unpersist()

    @classmethod
    def combined(cls, parts: Sequence[Batch]) -> Batch:
        """The batch of all rows, from those of disjoint parts under one codebook."""
        on_executors = [part.on_executors for part in parts if part.on_executors is not None]
        return cls(
            shards=pa.concat_tables([p.shards for p in parts], promote_options="default"),
            rows=sum(part.rows for part in parts),
            late=sum(part.late for part in parts),
            timeless=sum(part.timeless for part in parts),
            ahead=sum(part.ahead for part in parts),
            latest=max(part.latest for part in parts),
            rows_in_cells=np.zeros(0, dtype=np.int64),  # rows are not counted by query here
            on_executors=reduce(_united, on_executors) if on_executors else None,
            cached=tuple(rows for part in parts for rows in part.cached),
        )


def _united(left: DataFrame, right: DataFrame) -> DataFrame:
    """The shards of two parts of a batch; each may have partials that the other has not."""
    return left.unionByName(right, allowMissingColumns=True)


class TooManyShardsError(Exception):
    """The driver cannot hold the shards of a batch unless these grids move to the executors."""

    def __init__(self, grids: Collection[Grid]) -> None:
        self.grids = grids


def collect(
    df: DataFrame,
    plan: Plan | None,
    lookups: LookupTables,
    time: str,
    watermark: int,
    last: int,
    expected_time: tuple[int, int | None] | None,
    *,
    few: bool,
    on_executors: frozenset[int],
    most: int,
    folded_cells: Mapping[int, Ints] | None = None,
    records: ForestRecords | None = None,
) -> Batch:
    """Turn the rows of a micro-batch into shards: find slice and cells of each row, and group.

    Rows after the instant `last` are counted, and are in no shard. `expected_time` is an instant
    near which rows are expected, and how near, if that is known.

    The shards of the grids in `on_executors` stay where they are. If the others have more than
    `most` shards, an error tells which of them must move there, too.
    `folded_cells` are those of `rows_to_shards`; `records` are sent in place of shards by cells.
    """
    watched = {
        names.ROWS: "count(1)",
        names.LATE: f"count_if({names.TIME} < {watermark}L)",
        names.LATEST: f"max({names.TIME})",
        names.AHEAD: f"count_if({micros_sql(df, time)} > {last}L)",
    }
    if plan is None:
        return _count_only(df, time, last, watched)
    enriched = lookups.enrich(df, plan.joins, (*plan.columns, time), few_rows=few)
    parts: list[Batch] = []
    if plan.forest.by_columns.grids:
        packed = fill_stream_by_columns(enriched, plan.forest, time, watermark, last)
        with with_compiled_methods(df.sparkSession):
            parts.append(_collect_columns(packed, plan.forest, on_executors, most))
    if plan.forest.by_cells.grids:
        slices = sliced(
            plan.forest.by_cells.trees,
            lambda: expected_time or (any_instant(df, time, last), None),
        )
        parts.append(
            _collect_cells(
                enriched,
                plan.forest.by_cells,
                slices,
                time,
                last,
                watched,
                few=few,
                on_executors=on_executors,
                most=most,
                folded_cells=folded_cells,
            )
            if records is None
            else _collect_records(
                enriched,
                plan.forest.by_cells,
                records,
                slices,
                time,
                last,
                watched,
                few=few,
                on_executors=on_executors,
                most=most,
            )
        )
    return parts[0] if len(parts) == 1 else _both_ways(*parts)


def _both_ways(by_columns: Batch, by_cells: Batch) -> Batch:
    """The batch of the same rows in two ways: rows are counted once, shards are of both."""
    remote = [part.on_executors for part in (by_cells, by_columns) if part.on_executors is not None]
    longer, shorter = by_columns.rows_in_cells, by_cells.rows_in_cells
    if len(longer) < len(shorter):  # it has records after the cells
        longer, shorter = shorter, longer
    in_cells = longer.copy()
    in_cells[: len(shorter)] += shorter
    return replace(
        by_cells,
        shards=pa.concat_tables([by_cells.shards, by_columns.shards], promote_options="default"),
        rows_in_cells=in_cells,
        on_executors=reduce(_united, remote) if remote else None,
        cached=(*by_cells.cached, *by_columns.cached),
    )


def _collect_columns(
    packed: DataFrame, forest: Forest, on_executors: frozenset[int], most: int
) -> Batch:
    """Make the shards of a micro-batch by columns; those of grids `on_executors` stay there."""
    own = forest.by_columns.grids
    remote = [grid for grid in own if grid.number in on_executors]
    if remote:
        packed = packed.persist()
    listed = ", ".join(str(grid.number) for grid in remote)
    table = (packed.where(f"{GRID} NOT IN ({listed})") if remote else packed).toArrow()
    counted = packed.select(GRID, names.ROWS).toArrow() if remote else table
    tables, counts = tables_by_grid(table), counts_of_rows(table)
    found = {grid: tables[grid.number] for grid in own if grid.number in tables}
    sizes = {grid: shards.num_rows for grid, shards in found.items()}
    if sum(sizes.values()) > most:
        packed.unpersist()
        raise TooManyShardsError(grids_for_executors(sizes, most // 2))
    rows_of = dict.fromkeys((grid.number for grid in own), 0)
    for grid, rows in zip(counted[GRID].to_pylist(), counted[names.ROWS].to_pylist(), strict=True):
        if grid in rows_of:
            rows_of[grid] += rows
    in_cells = np.zeros(forest.cells, dtype=np.int64)
    for grid in own:
        in_cells[grid.offset] = rows_of[grid.number]
    shards = [
        shards.append_column(names.CELL, pa.array(np.full(shards.num_rows, grid.offset)))
        for grid, shards in found.items()
    ]
    stay = [
        unpacked_rows(packed, grid).withColumn(names.CELL, F.lit(grid.offset).cast("bigint"))
        for grid in remote
        if rows_of[grid.number]
    ]
    return Batch(
        shards=pa.concat_tables([no_shards(), *shards], promote_options="default"),
        rows=counts.rows,
        late=counts.late,
        timeless=counts.untimed - counts.ahead,
        ahead=counts.ahead,
        latest=NEVER if counts.latest is None else counts.latest,
        rows_in_cells=in_cells,
        on_executors=reduce(_united, stay) if stay else None,
        cached=(packed,) if remote else (),
    )


def _collect_cells(
    enriched: DataFrame,
    forest: Forest,
    slices: Mapping[int, Slices],
    time: str,
    last: int,
    watched: Mapping[str, str],
    *,
    few: bool,
    on_executors: frozenset[int],
    most: int,
    folded_cells: Mapping[int, Ints] | None,
) -> Batch:
    """Make the shards of a micro-batch by cells; those of grids `on_executors` stay there."""
    made = rows_to_shards(
        enriched,
        forest,
        slices,
        time,
        more_aggregates=watched,
        folded_cells=folded_cells,
        last=last,
    )
    remote = tuple(grid for grid in forest.grids if grid.number in on_executors)
    if remote:
        return _fetch_or_count(with_instants(made, forest, slices), remote, forest, most)
    # Without keys there are no more shards than cells, in every slice.
    limited = bool(forest.keys) or forest.cells > most
    with without_adaptive_planning(enriched.sparkSession, few_rows=few):
        table = (made.limit(most + 1) if limited else made).toArrow()
    found = located(table, forest, slices)
    if limited and table.num_rows > most:
        # Rows without a time, which are in no grid, may be of many groups, too.
        raise TooManyShardsError(
            grids_for_executors(shards_in(found, forest.codebook), most // 2) or forest.grids
        )
    untimed = _sum(table[names.ROWS]) - _sum(found[names.ROWS])
    return _counted_batch(found, found, untimed, _sum(table[names.AHEAD]), forest)


def _fetch_or_count(made: DataFrame, remote: tuple[Grid, ...], forest: Forest, most: int) -> Batch:
    """Fetch shards of a micro-batch for the driver; those of `remote` grids are only counted."""
    made = made.persist()
    stays = f"{names.INSTANT} IS NULL OR {in_grids_sql(names.CELL, remote)}"
    fetched = made.where(f"NOT ({stays})").limit(most + 1).toArrow()
    if fetched.num_rows > most:
        made.unpersist()
        too_many = shards_in(fetched, forest.codebook)
        raise TooManyShardsError(grids_for_executors(too_many, most // 2))
    left = made.where(stays)
    timeless = F.expr(f"{names.INSTANT} IS NULL").alias(_TIMELESS)
    counts = left.groupBy(names.CELL, timeless).agg(
        *(F.expr(f"{how}({name})").alias(name) for name, how in _COUNTED.items())
    )
    counted = counts.toArrow()
    is_untimed = counted[_TIMELESS].to_numpy().astype(bool)
    timed = counted.filter(pa.array(~is_untimed)).drop_columns([_TIMELESS])
    untimed = counted.filter(pa.array(is_untimed))
    fetched_counts = fetched.select(timed.column_names)
    batch = _counted_batch(
        fetched,
        pa.concat_tables([fetched_counts, timed], promote_options="permissive"),
        _sum(untimed[names.ROWS]),
        _sum(untimed[names.AHEAD]),
        forest,
    )
    on_executors = left.where(f"{names.INSTANT} IS NOT NULL").drop(*_COUNTED)
    return replace(batch, on_executors=on_executors, cached=(made,))


def _counted_batch(
    found: pa.Table, counted: pa.Table, untimed: int, ahead: int, forest: Forest
) -> Batch:
    """The shards of a micro-batch with its counts, which are taken from the first grid."""
    # Every row is once in every grid.
    of, rows = counted[names.CELL].to_numpy(), counted[names.ROWS].to_numpy()
    first = counted.filter(pa.array(of < forest.grids[0].cells))
    return Batch(
        found.drop_columns(list(_COUNTED)),
        rows=_sum(first[names.ROWS]),
        late=_sum(first[names.LATE]),
        timeless=(untimed - ahead) // len(forest.grids),
        ahead=ahead // len(forest.grids),
        latest=_latest_time(first),
        rows_in_cells=np.bincount(of, rows, minlength=forest.cells).astype(np.int64),
    )


def _collect_records(
    enriched: DataFrame,
    forest: Forest,
    records: ForestRecords,
    slices: Mapping[int, Slices],
    time: str,
    last: int,
    watched: Mapping[str, str],
    *,
    few: bool,
    on_executors: frozenset[int],
    most: int,
) -> Batch:
    """Make the records of a micro-batch; those of grids `on_executors` stay there.

    One more row, which is in no slice, has the counts of all rows.
    """
    counted = {**watched, _TIMELESS: f"count_if({names.TIME} IS NULL)"}
    made = rows_to_records(
        enriched, forest, records, slices, time, more_aggregates=counted, last=last
    )
    remote = tuple(grid for grid in records.grids if grid.grid.number in on_executors)
    stay, limited, in_cells = None, True, np.zeros(records.cells, dtype=np.int64)
    if remote:
        made = with_instants(made, records, slices).persist()
        stay = made.where(in_grids_sql(names.CELL, remote))
        fetched = made.where(f"NOT {in_grids_sql(names.CELL, remote)}").limit(most + 1).toArrow()
        whole = made.where(f"{names.INSTANT} IS NULL").toArrow()
        counts = stay.groupBy(names.CELL).agg(F.sum(names.ROWS).alias(names.ROWS)).toArrow()
        in_cells[counts[names.CELL].to_numpy()] = counts[names.ROWS].to_numpy()
    else:
        # Without keys there are no more records than numbers for them, in every slice.
        limited = bool(forest.keys) or records.cells > most
        with without_adaptive_planning(enriched.sparkSession, few_rows=few):
            table = (made.limit(most + 2) if limited else made).toArrow()
        untimed = table[names.CODE if names.CODE in table.column_names else names.SLICE].is_null()
        whole, fetched = table.filter(untimed), located(table, records, slices)
    if limited and fetched.num_rows > most:
        made.unpersist()
        book = replace(forest.codebook, records=records.grids)
        too_many = grids_for_executors(shards_in(fetched, book), most // 2)
        raise TooManyShardsError(too_many or forest.grids)
    in_cells += np.bincount(
        fetched[names.CELL].to_numpy(), fetched[names.ROWS].to_numpy(), len(in_cells)
    ).astype(np.int64)
    untimed_rows, ahead = _sum(whole[_TIMELESS]), _sum(whole[names.AHEAD])
    return Batch(
        shards=fetched.drop_columns([*_COUNTED, _TIMELESS]),
        rows=_sum(whole[names.ROWS]) - untimed_rows,
        late=_sum(whole[names.LATE]),
        timeless=untimed_rows - ahead,
        ahead=ahead,
        latest=_latest_time(whole),
        rows_in_cells=in_cells,
        on_executors=None if stay is None else stay.drop(*_COUNTED, _TIMELESS),
        cached=(made,) if remote else (),
    )


def _count_only(df: DataFrame, time: str, last: int, watched: dict[str, str]) -> Batch:
    """Count the rows of a micro-batch when there is no query to make shards for."""
    timed = df.selectExpr("*", f"{bounded_micros_sql(df, time, last)} AS {names.TIME}")
    counted = [f"{sql} AS {name}" for name, sql in watched.items()]
    table = timed.selectExpr(*counted, f"count_if({names.TIME} IS NULL) AS timeless").toArrow()
    untimed, ahead = _sum(table["timeless"]), _sum(table[names.AHEAD])
    return replace(
        no_rows(),
        rows=_sum(table[names.ROWS]) - untimed,
        late=_sum(table[names.LATE]),
        timeless=untimed - ahead,
        ahead=ahead,
        latest=_latest_time(table),
    )


def no_rows() -> Batch:
    """The micro-batch in which only time passes: without rows and shards."""
    return Batch(
        shards=no_shards(),
        rows=0,
        late=0,
        timeless=0,
        ahead=0,
        latest=NEVER,
        rows_in_cells=np.zeros(0, dtype=np.int64),
    )


def _sum(column: pa.ChunkedArray) -> int:
    """The sum of a column of counts."""
    return int(column.to_numpy().sum())


def _latest_time(table: pa.Table) -> int:
    """The latest event time in a table of counted shards; NEVER if there is none."""
    found = table[names.LATEST].drop_null().to_numpy()
    return int(found.max()) if len(found) else NEVER
