"""Grids filled by columns in a Spark job: rows go to Python as Arrow, packed shards come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import MapType, StringType

from gingham.aggregates.monoid import flat
from gingham.columns.compile import compile_program
from gingham.columns.fill import RowCounts
from gingham.columns.program import Program
from gingham.columns.trial import try_program
from gingham.core import names
from gingham.core.names import quoted
from gingham.plan.forest import Forest
from gingham.plan.grid import Grid
from gingham.plan.row_statistics import Trial
from gingham.spark.event_time import bounded_micros_sql, micros_sql
from gingham.spark.fill_partition import COUNT, GRID, NO_GRID, PACKED, fill_partition
from gingham.spark.measure_rows import SAMPLE_ROWS
from gingham.spark.packed_tables import unpacked
from gingham.spark.select_chain import SelectChain

_SCHEMA = f"{GRID} INT, {COUNT} BIGINT, {names.ROWS} BIGINT, {PACKED} BINARY"


def fill_by_columns(enriched: DataFrame, forest: Forest, time: str) -> DataFrame:
    """The shards of all grids that are filled by columns: `__grid`, `__count`, `__packed`.

    A row has shards of one grid, from one partition, as a table in Arrow's own format: Spark need
    not look into it, and a grid has only the columns that its queries need.
    """
    rows = enriched.where(f"{quoted(time)} IS NOT NULL")
    program = compile_program(forest, micros_sql(rows, time), _maps(rows))
    return _inputs(rows, program).mapInArrow(partial(fill_partition, program), _SCHEMA)


def fill_stream_by_columns(
    enriched: DataFrame, forest: Forest, time: str, watermark: int, last: int
) -> DataFrame:
    """The same for a micro-batch, with a row of `NO_GRID` that has the counts of its rows.

    Rows after the instant `last` are in no shard.
    """
    ahead = f"{micros_sql(enriched, time)} > {last}L"
    instant = bounded_micros_sql(enriched, time, last)
    program = compile_program(forest, instant, _maps(enriched), watermark=watermark, ahead=ahead)
    return _inputs(enriched, program).mapInArrow(partial(fill_partition, program), _SCHEMA)


def try_columns(enriched: DataFrame, forest: Forest, time: str) -> Trial:
    """Look at the first rows that Spark finds, as a forest by columns would."""
    rows = enriched.where(f"{quoted(time)} IS NOT NULL").limit(SAMPLE_ROWS)
    program = compile_program(forest, micros_sql(rows, time), _maps(rows))
    table = _inputs(rows, program).toArrow()
    return try_program(program, forest, [flat(column) for column in table.columns])


def _inputs(rows: DataFrame, program: Program) -> DataFrame:
    """What a program computes with, for every row."""
    inputs = [f"{sql} AS {names.input_(i)}" for i, sql in program.sent.items()]
    return SelectChain(rows).select(*inputs).to_dataframe()


def _maps(rows: DataFrame) -> frozenset[str]:
    """The columns that map strings to strings."""
    kinds = ((field.name, field.dataType) for field in rows.schema.fields)
    return frozenset(
        name
        for name, kind in kinds
        if isinstance(kind, MapType) and kind.keyType == kind.valueType == StringType()
    )


def tables_by_grid(collected: pa.Table) -> dict[int, pa.Table]:
    """The shards of each grid, by its number, from what Spark collected."""
    parts: dict[int, list[pa.Scalar]] = {}
    for grid, part in zip(collected[GRID].to_pylist(), collected[PACKED], strict=True):
        if grid != NO_GRID:
            parts.setdefault(grid, []).append(part)
    return {grid: unpacked(of_grid) for grid, of_grid in parts.items()}


def counts_by_grid(shards: DataFrame, grids: Sequence[Grid]) -> dict[Grid, int]:
    """Count the shards of each grid, in a job that packs all shards."""
    found = shards.select(GRID, COUNT).toArrow()
    counts = dict.fromkeys((grid.number for grid in grids), 0)
    for grid, count in zip(found[GRID].to_pylist(), found[COUNT].to_pylist(), strict=True):
        counts[grid] += count
    return {grid: counts[grid.number] for grid in grids}


def counts_of_rows(collected: pa.Table) -> RowCounts:
    """The counts of all rows of a micro-batch, from what Spark collected."""
    total = RowCounts()
    wanted = collected.filter(pa.array(collected[GRID].to_numpy() == NO_GRID))
    for found in unpacked(wanted[PACKED]).to_pylist() if wanted.num_rows else ():
        latest = [t for t in (total.latest, found.pop("latest")) if t is not None]
        sums = {name: getattr(total, name) + count for name, count in found.items()}
        total = RowCounts(**sums, latest=max(latest, default=None))
    return total


def unpacked_rows(shards: DataFrame, grid: Grid) -> DataFrame:
    """The shards of one grid as rows of a DataFrame, on the executors."""
    of_grid = shards.where(f"{GRID} = {grid.number}")
    first = of_grid.select(PACKED).limit(1).toArrow()
    schema = unpacked(first[PACKED]).schema

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Unpack the shards of some rows, on an executor."""
        for batch in batches:
            yield from unpacked(batch.column(PACKED)).cast(schema).to_batches()

    return of_grid.select(PACKED).mapInArrow(unpack, from_arrow_schema(schema))
