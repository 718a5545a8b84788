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
from gingham.plan.forest_records import ForestRecords, GridRecords
from gingham.plan.slices import Slices
from gingham.spark.interval_search import interval_columns, with_cut_positions
from gingham.spark.rows_to_shards import (
    array_sql,
    fits_in_one_code,
    folded_cell_sql,
    group_coded_rows,
    in_grids_sql,
    row_cell_sql,
    with_keys_of_grid,
    with_slices_and_intervals,
)
from gingham.spark.select_chain import SelectChain
from gingham.spark.spark_session import without_adaptive_planning


def occupied_cells(enriched: DataFrame, forest: Forest, folded_cells: Mapping[int, Ints]) -> Ints:
    """Find the cells that have rows with a Spark job; cells that are folded count as one.

    Each partition sends one record, with a set of cells for every grid.
    """
    chain = with_cut_positions(SelectChain(enriched), forest.axes)
    chain = chain.with_columns(*interval_columns(forest.axes))
    cell_sets = [
        f"collect_set({folded_cell_sql(grid, forest, folded_cells.get(grid.number))})"
        for grid in forest.grids
    ]
    all_cells = chain.select(f"concat({', '.join(cell_sets)}) AS {names.CELL}").to_dataframe()
    with without_adaptive_planning(enriched.sparkSession):
        [row] = all_cells.collect()
    return np.sort(np.array(row[names.CELL], dtype=np.int64))


def rows_to_records(
    enriched: DataFrame,
    forest: Forest,
    forest_records: ForestRecords,
    slices: Mapping[int, Slices],
    time: str,
) -> DataFrame:
    """One row per slice, record and group: `__code`, `__key_0`, ..., `__partial_0`, ..."""
    rows = enriched.where(f"{quoted(time)} IS NOT NULL")
    lists = ", ".join(_records_of_row_sql(grid, forest) for grid in forest_records.grids)
    # A row that meets no condition has an empty list: it is not sent.
    chain = with_slices_and_intervals(rows, forest, slices, time)
    chain = chain.with_columns(f"explode(concat({lists})) AS {names.CELL}")
    number = _slice_sql(forest_records, slices)
    one_code = fits_in_one_code(forest_records, slices)
    if one_code:
        chain = chain.with_columns(
            f"{number} * {forest_records.cells}L + {names.CELL} AS {names.CODE}"
        )
    else:
        chain = chain.with_columns(f"{number} AS {names.SLICE}")
    return group_coded_rows(
        with_keys_of_grid(chain, forest.keys, forest_records, names.CELL),
        keys=len(forest.keys),
        partials=forest_records.columns,
        more_aggregates={},
        one_code=one_code,
    )


def _records_of_row_sql(grid: GridRecords, forest: Forest) -> str:
    """Spark SQL of the array of records that a row's cell goes into, by the lists of a grid."""
    lists: dict[tuple[int, ...], int] = {}
    list_of_cell = [
        lists.setdefault(grid.records_of(c), len(lists)) for c in range(grid.grid.cells)
    ]
    all_lists = array_sql([list(records) for records in lists], "array<array<int>>")
    cell = f"CAST({row_cell_sql(grid.grid, forest)} - {grid.grid.offset}L AS INT)"
    return f"get({all_lists}, get({array_sql(list_of_cell, 'array<int>')}, {cell}))"


def _slice_sql(forest_records: ForestRecords, slices: Mapping[int, Slices]) -> str:
    """Spark SQL of the slice number of a record, in the tree of its grid."""
    if len(slices) == 1:
        return names.slice_in(next(iter(slices)))
    branches = " ".join(
        f"WHEN {in_grids_sql(names.CELL, [g for g in forest_records.grids if g.tree == tree])} "
        f"THEN {names.slice_in(tree)}"
        for tree in slices
    )
    return f"CASE {branches} END"
