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
    *,
    more_aggregates: Mapping[str, str] | None = None,
    last: int | None = None,
) -> DataFrame:
    """One row per slice, record and group: `__code`, `__key_0`, ..., `__partial_0`, ...

    With `more_aggregates`, computed by name, one more row without code and keys has those of all
    rows, also of rows without a time. Rows after the instant `last` are taken for such rows.
    """
    rows = enriched if more_aggregates else enriched.where(f"{quoted(time)} IS NOT NULL")
    chain = with_slices_and_intervals(rows, forest, slices, time, last)
    chain = chain.with_columns(
        f"explode({_records_sql(forest, forest_records, counted=bool(more_aggregates))}) "
        f"AS {names.CELL}"
    )
    number = f"IF({names.CELL} IS NULL, NULL, {_slice_sql(forest_records, slices)})"
    one_code = fits_in_one_code(forest_records, slices)
    if one_code:
        chain = chain.with_columns(
            f"{number} * {forest_records.cells}L + {names.CELL} AS {names.CODE}"
        )
    else:
        chain = chain.with_columns(f"{number} AS {names.SLICE}")
    columns = dict.fromkeys((*forest.columns, *(c for g in forest_records.grids for c in g.counts)))
    return group_coded_rows(
        _with_keys(chain, forest, forest_records, counted=bool(more_aggregates)),
        keys=len(forest.keys),
        aggregates={names.partial(forest_records.columns.index(c)): c for c in columns}
        | dict(more_aggregates or {}),
        one_code=one_code,
    )


def _records_sql(forest: Forest, forest_records: ForestRecords, *, counted: bool) -> str:
    """Spark SQL of the array of records that a row goes into; if it is `counted`, also into NULL.

    A row that meets no condition has an empty array: it is not sent. One without a time is counted
    only.
    """
    lists = ", ".join(_records_of_row_sql(grid, forest) for grid in forest_records.grids)
    if not counted:
        return f"concat({lists})"
    timed = f"{names.TIME} IS NOT NULL"
    return f"IF({timed}, concat(array(CAST(NULL AS INT)), {lists}), array(CAST(NULL AS INT)))"


def _with_keys(
    chain: SelectChain, forest: Forest, forest_records: ForestRecords, *, counted: bool
) -> SelectChain:
    """Set keys to NULL that the grid of a record does not group by, and where rows are counted."""
    chain = with_keys_of_grid(chain, forest.keys, forest_records, names.CELL)
    if not counted or not forest.keys:
        return chain
    keys = [names.key(i) for i in range(len(forest.keys))]
    of_records = [f"IF({names.CELL} IS NULL, NULL, {key}) AS {key}" for key in keys]
    return chain.select(f"* EXCEPT ({', '.join(keys)})", *of_records)


def _records_of_row_sql(grid: GridRecords, forest: Forest) -> str:
    """Spark SQL of the array of records that a row's cell goes into, by the lists of a grid."""
    list_of_cell, lists = grid.lists
    all_lists = array_sql([list(records) for records in lists], "array<array<int>>")
    cell = f"CAST({row_cell_sql(grid.grid, forest)} - {grid.grid.offset}L AS INT)"
    return f"get({all_lists}, get({array_sql(list_of_cell.tolist(), 'array<int>')}, {cell}))"


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
