"""Whether partitions of a batch run send records in place of shards, decided by cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from pyspark.sql import DataFrame

from gingham.core.arrays import Ints
from gingham.core.errors import FragmentError
from gingham.optimizer.cost import Cost
from gingham.optimizer.decompose_fragments import decompose_fragments
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.fold import fold_cells
from gingham.plan.forest import Forest, Plan
from gingham.plan.forest_records import ForestRecords
from gingham.plan.row_statistics import expected_occupied
from gingham.spark.rows_to_records import occupied_cells

SendRecords = bool | Literal["auto", "static"]
# Which cells rows fall into: f(rows, forest, folded_cells).
OccupiedCells = Callable[[DataFrame, Forest, Mapping[int, Ints]], Ints]

# A job of its own has its price, however few rows it looks at.
_JOB = 0.3


def choose_records(
    plan: Plan,
    enriched: DataFrame,
    cost: Cost,
    cells: ConditionCache,
    send_records: SendRecords,
    occupied_cells: OccupiedCells = occupied_cells,
) -> ForestRecords | None:
    """Decompose the fragments of a plan into records, if asked to or if that is cheaper.

    A pass over the columns of the conditions finds which fragments there are; "static" does without
    and decomposes all that may occur. Gives None where shards are sent.
    """
    if send_records not in (True, False, "auto", "static"):
        raise FragmentError(
            f"send_records={send_records!r}",
            "fragments are reduced to records, are not, or that is decided by cost",
            'True, False, "auto" or "static"',
        )
    if send_records is False or not plan.forest.grids:
        return None
    if send_records == "static":
        return decompose_fragments(plan.forest, None, cells)
    if send_records == "auto" and not _records_may_gain(plan, cost):
        return None
    seen = occupied_cells(enriched, plan.forest, fold_cells(plan.forest, cells))
    forest_records = decompose_fragments(plan.forest, seen, cells)
    if send_records == "auto" and not _records_are_cheaper(plan, forest_records, seen, cost):
        return None
    return forest_records


def _records_may_gain(plan: Plan, cost: Cost) -> bool:
    """Whether records could save anything: one per query, and no row in two of them."""
    looked = _JOB + plan.statistics.rows * (cost.row + cost.grid * len(plan.forest.grids))
    placement = plan.forest.placement
    return sum(_saved_seconds(plan, cost, i, placement.count(i)) for i in set(placement)) > looked


def _records_are_cheaper(plan: Plan, forest_records: ForestRecords, seen: Ints, cost: Cost) -> bool:
    """Whether sending records is cheaper than shards, now that occupied cells are known."""
    saved = 0.0
    for place, records in enumerate(forest_records.grids):
        grid = records.grid
        own = seen[(seen >= grid.offset) & (seen < grid.offset + grid.cells)] - grid.offset
        sent = sum(len(records.records_of(cell)) for cell in own) / max(1, len(own))
        saved += _saved_seconds(plan, cost, place, records.size)
        saved -= (sent - 1) * plan.statistics.rows * cost.grid
    return saved > 0


def _saved_seconds(plan: Plan, cost: Cost, place: int, records: int) -> float:
    """Predicted seconds that so many records save over the shards of the grid at this place."""
    load, grid = plan.statistics, plan.forest.grids[place]
    slices = load.on(plan.forest.clocks[grid.tree]).slices(plan.forest.trees[grid.tree])
    conditions = plan.forest.placement.count(place)
    groups = load.groups ** len(grid.keys)
    fewer = expected_occupied(load.rows, slices * records * groups)
    shards = load.shards(slices, grid.axes, grid.keys)
    return cost.shards(shards, conditions) - cost.shards(fewer, conditions)
