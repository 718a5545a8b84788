"""What a Python worker does to fill grids by columns: the rows of a partition in, shards out.

A module of its own because each new worker imports it before its first row, and nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields

import pyarrow as pa

from gingham.columns.fill import Filler, RowCounts
from gingham.columns.program import Program
from gingham.core import names
from gingham.spark.packed_tables import packed

GRID, COUNT, PACKED = "__grid", "__count", "__packed"
NO_GRID = -1  # of the row that has the counts of a partition's rows
_SCHEMA = pa.schema(
    [(GRID, pa.int32()), (COUNT, pa.int64()), (names.ROWS, pa.int64()), (PACKED, pa.binary())]
)
_COUNTS = pa.schema([(field.name, pa.int64()) for field in fields(RowCounts)])


def fill_partition(program: Program, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fill the grids of a program with the rows of one partition, on an executor."""
    filler = Filler(program)
    for grid, table in filler.shards(batches):
        rows, filler.rows_of[grid] = filler.rows_of[grid], 0
        yield _row(grid, rows, table)
    if program.watch is not None:
        counts = pa.Table.from_pylist([asdict(filler.counts)], _COUNTS)
        yield _row(NO_GRID, filler.counts.rows, counts)


def _row(grid: int, rows: int, table: pa.Table) -> pa.RecordBatch:
    """A row of what comes back: shards of a grid, made of so many rows."""
    found = {GRID: grid, COUNT: table.num_rows, names.ROWS: rows, PACKED: packed(table)}
    return pa.RecordBatch.from_pylist([found], _SCHEMA)
