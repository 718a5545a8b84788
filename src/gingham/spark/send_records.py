"""Rows to records: fragments are found, merged and reduced where the rows are.

Which records a cell goes into is a list of constants, so that every row is sent to its records
before it is grouped. Spark's own partial aggregation then does both at once inside each partition:
it computes the partials of fragments and merges them into records; only records are shuffled.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.core.arrays import Ints
from gingham.core.names import quoted
from gingham.plan.forest import Forest
from gingham.plan.records import GridRecords, Reduced
from gingham.plan.slices import Slices
from gingham.spark.draft import Draft
from gingham.spark.search import intervals, place, searches, values
from gingham.spark.session import planned_once
from gingham.spark.shards import (
    cell_in,
    coded_by,
    constant,
    fits_in_one,
    folded,
    grouped,
    in_grids,
    placed,
)


def met(enriched: DataFrame, forest: Forest, folds: Mapping[int, Ints]) -> Ints:
    """The cells that rows fall into, those that are folded once: what all partitions see.

    Each partition sends one record, with a set of cells for every grid.
    """
    axes = forest.axes
    draft = place(Draft(enriched).plus(*values(axes)), searches(axes)).plus(*intervals(axes))
    cells = [f"collect_set({folded(g, forest, folds.get(g.number))})" for g in forest.grids]
    found = draft.select(f"concat({', '.join(cells)}) AS {names.CELL}").made()
    with planned_once(enriched.sparkSession):
        [row] = found.collect()
    return np.sort(np.array(row[names.CELL], dtype=np.int64))


def records(
    enriched: DataFrame,
    forest: Forest,
    reduced: Reduced,
    slices: Mapping[int, Slices],
    time: str,
) -> DataFrame:
    """One row per slice, record and group: `__code`, `__key_0`, ..., `__partial_0`, ..."""
    rows = enriched.where(f"{quoted(time)} IS NOT NULL")
    each = ", ".join(_lists(grid, forest) for grid in reduced.grids)
    # A row of no condition has an empty list: it is not sent.
    draft = placed(rows, forest, slices, time).plus(f"explode(concat({each})) AS {names.CELL}")
    number = _slice(reduced, slices)
    one = fits_in_one(reduced, slices)
    if one:
        draft = draft.plus(f"{number} * {reduced.cells}L + {names.CELL} AS {names.CODE}")
    else:
        draft = draft.plus(f"{number} AS {names.SLICE}")
    coded = coded_by(draft, forest.keys, reduced, names.CELL)
    return grouped(coded, len(forest.keys), reduced.columns, {}, one=one)


def _lists(grid: GridRecords, forest: Forest) -> str:
    """The list of a cell's records, as SQL; cells with the same share one."""
    numbers: dict[tuple[int, ...], int] = {}
    of = [numbers.setdefault(grid.records_of(c), len(numbers)) for c in range(grid.grid.cells)]
    lists = constant([list(found) for found in numbers], "array<array<int>>")
    cell = f"CAST({cell_in(grid.grid, forest)} - {grid.grid.offset}L AS INT)"
    return f"get({lists}, get({constant(of, 'array<int>')}, {cell}))"


def _slice(reduced: Reduced, slices: Mapping[int, Slices]) -> str:
    """The number of a record's slice, in the tree of its grid."""
    if len(slices) == 1:
        return names.slice_in(next(iter(slices)))
    branches = " ".join(
        f"WHEN {in_grids(names.CELL, [g for g in reduced.grids if g.tree == tree])} "
        f"THEN {names.slice_in(tree)}"
        for tree in slices
    )
    return f"CASE {branches} END"
