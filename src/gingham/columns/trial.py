"""A trial: grids filled by columns with a sample of the rows, timed."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gingham.columns.conditions import ChunkConditions, TextTests, compile_condition
from gingham.columns.fill import Filler
from gingham.columns.inputs import Inputs
from gingham.columns.program import Program
from gingham.plan.forest import Forest
from gingham.plan.row_statistics import Trial, bins_for_occupied

# Of the rows: an eighth to build what is built once, an eighth to see what a chunk takes however
# few rows it has, and the rest.
_FIRST, _FEW = 1 / 8, 1 / 4


def try_program(program: Program, forest: Forest, columns: list[pa.Array]) -> Trial:
    """Find out which part of some rows each condition selects, their groups, and the seconds.

    `columns` are what Spark sent of the inputs of the program that was compiled for the forest.
    """
    rows, inputs = len(columns[0]), Inputs(program, columns)
    nodes = [compile_condition(predicate) for predicate in program.conditions]
    tests = TextTests(program.attributes)
    conditions = ChunkConditions(nodes, program.attributes, inputs, rows, tests)
    grids = {grid.number: grid for grid in forest.grids}
    selected: dict[str, float] = {}
    groups: dict[tuple[str, ...], float] = {}
    for found in program.grids:
        grid = grids[found.number]
        assert grid.selects is not None
        selected[grid.selects] = float(conditions.holds(found.condition).mean()) if rows else 0.0
        keys, key_inputs = grid.keys, program.key_sets[found.key_set].inputs
        if keys not in groups:
            numbers = [inputs.codes(i).numbers.astype(np.int64) for i in key_inputs]
            some = bool(numbers) and rows > 0
            seen = np.unique(np.stack(numbers), axis=1).shape[1] if some else 1
            groups[keys] = bins_for_occupied(rows, seen)
    row_bytes = sum(column.nbytes for column in columns) / max(1, rows)
    return Trial(rows, selected, groups, row_bytes, *_time_filling(program, columns))


class _Seconds(NamedTuple):
    """Seconds on one core: of a chunk of rows, however few, and of each of its rows."""

    of_chunk: float
    of_row: float


def _time_filling(program: Program, columns: list[pa.Array]) -> _Seconds:
    """Fill the grids of a program with some rows, and see what that takes."""
    rows, filler = len(columns[0]), Filler(program)
    first, few = int(rows * _FIRST), int(rows * _FEW)
    filler.add([column.slice(0, first) for column in columns])
    start = time.perf_counter()
    filler.add([column.slice(first, few - first) for column in columns])
    after_few = time.perf_counter()
    filler.add([column.slice(few) for column in columns])
    end = time.perf_counter()
    more = (rows - few) - (few - first)
    of_row = max(0.0, (end - after_few) - (after_few - start)) / more if more > 0 else 0.0
    return _Seconds(max(0.0, after_few - start - of_row * (few - first)), of_row)
