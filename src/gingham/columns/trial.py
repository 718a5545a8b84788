"""A trial: grids filled by columns with a sample of the rows, timed."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from gingham.columns.fill import Filler
from gingham.columns.inputs import Inputs
from gingham.columns.program import Program
from gingham.plan.forest import Forest
from gingham.plan.row_statistics import Trial, bins_for_occupied

# Of the rows: an eighth to build what is built once, an eighth to see what a chunk takes however
# few rows it has, and the rest.
_FIRST, _FEW = 1 / 8, 1 / 4


def try_program(program: Program, forest: Forest, columns: list[pa.Array]) -> Trial:
    """Fill the grids of a forest with some rows: what that takes, and what it tells of the rows.

    `columns` are what Spark sent of the inputs of the program that was compiled for the forest.
    """
    rows, begin = len(columns[0]), time.perf_counter()
    filler, first, few = Filler(program), int(rows * _FIRST), int(rows * _FEW)
    filler.add([column.slice(0, first) for column in columns])
    start = time.perf_counter()
    filler.add([column.slice(first, few - first) for column in columns])
    after_few = time.perf_counter()
    filler.add([column.slice(few) for column in columns])
    end = time.perf_counter()
    more = (rows - few) - (few - first)
    of_row = max(0.0, (end - after_few) - (after_few - start)) / more if more > 0 else 0.0
    of_chunk = max(0.0, after_few - start - of_row * (few - first))
    return Trial(
        rows=rows,
        selected={
            grid.selects: filler.rows_of[grid.number] / max(1, rows)
            for grid in forest.grids
            if grid.selects is not None
        },
        groups=_groups(program, forest, columns),
        row_bytes=sum(column.nbytes for column in columns) / max(1, rows),
        chunk_seconds=of_chunk,
        row_seconds=of_row,
        build_seconds=max(0.0, start - begin - of_chunk - of_row * first),
    )


def _groups(
    program: Program, forest: Forest, columns: list[pa.Array]
) -> dict[tuple[str, ...], float]:
    """How many groups each key set is likely to have, by those that some rows have."""
    rows, inputs = len(columns[0]), Inputs(program, columns)
    keys_of = {grid.number: grid.keys for grid in forest.grids}
    groups: dict[tuple[str, ...], float] = {}
    for grid in program.grids:
        keys, key_inputs = keys_of[grid.number], program.key_sets[grid.key_set].inputs
        if keys not in groups:
            numbers = [inputs.codes(i).numbers.astype(np.int64) for i in key_inputs]
            some = bool(numbers) and rows > 0
            seen = np.unique(np.stack(numbers), axis=1).shape[1] if some else 1
            groups[keys] = bins_for_occupied(rows, seen)
    return groups
