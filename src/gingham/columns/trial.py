"""A trial: the conditions and key sets of grids by columns over a sample of the rows."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from gingham.columns.conditions import ChunkConditions, TextTests, compile_condition
from gingham.columns.inputs import Inputs
from gingham.columns.program import Program
from gingham.plan.forest import Forest
from gingham.plan.row_statistics import Trial


def try_program(program: Program, forest: Forest, columns: list[pa.Array]) -> Trial:
    """Find out which part of some rows each condition selects, and how many groups they have.

    `columns` are what Spark sent of the inputs of the program that was compiled for the forest.
    """
    rows, inputs = len(columns[0]), Inputs(program, columns)
    nodes = [compile_condition(predicate) for predicate in program.conditions]
    tests = TextTests(program.attributes)
    conditions = ChunkConditions(nodes, program.attributes, inputs, rows, tests)
    grids = {grid.number: grid for grid in forest.grids}
    selected: dict[str, float] = {}
    groups: dict[tuple[str, ...], float] = {}
    start = time.perf_counter()
    for found in program.grids:
        grid = grids[found.number]
        assert grid.selects is not None
        selected[grid.selects] = float(conditions.holds(found.condition).mean()) if rows else 0.0
    seconds = time.perf_counter() - start
    for found in program.grids:
        keys, key_inputs = grids[found.number].keys, program.key_sets[found.key_set].inputs
        if keys not in groups:
            numbers = [inputs.codes(i).numbers.astype(np.int64) for i in key_inputs]
            some = bool(numbers) and rows > 0
            groups[keys] = float(np.unique(np.stack(numbers), axis=1).shape[1]) if some else 1.0
    return Trial(rows, selected, groups, seconds)
