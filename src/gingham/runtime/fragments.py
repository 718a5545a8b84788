"""Whether the fragments of a run are reduced to records, and to which."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame

from gingham.core.errors import FragmentError
from gingham.finals.answer import Cells
from gingham.optimizer.cost import Cost
from gingham.optimizer.decompose import fold, reduce_forest
from gingham.plan.forest import Forest
from gingham.plan.records import Reduced
from gingham.spark.fragments import met

Index = npt.NDArray[np.int64]
Fragments = bool | Literal["auto"]

# A job of its own has its price, however few rows it looks at.
_JOB = 0.3


def choose(forest: Forest, enriched: DataFrame, fragments: Fragments) -> Reduced | None:
    """Records for the fragments of a forest: if wanted, or if that is expected to save something.

    Which fragments there are is seen in a pass over the columns that conditions look at.
    """
    if fragments not in (True, False, "auto"):
        raise FragmentError(
            f"fragments={fragments!r}",
            "fragments are reduced to records, are not, or that is decided by cost",
            'True, False or "auto"',
        )
    if fragments is False or (fragments == "auto" and not _promising(forest, Cost())):
        return None
    cells = Cells()
    seen = met(enriched, forest, fold(forest, cells))
    reduced = reduce_forest(forest, seen, cells)
    if fragments == "auto" and not _cheaper(forest, reduced, seen, Cost()):
        return None
    return reduced


def _promising(forest: Forest, cost: Cost) -> bool:
    """Whether as many records as queries, with no row in two of them, would save anything."""
    looked = _JOB + cost.rows * cost.row_in_grid * len(forest.grids)
    saved = sum(
        cost.grid(grid.cells, len(grid.keys)) - cost.grid(queries, len(grid.keys))
        for place, grid in enumerate(forest.grids)
        for queries in [forest.placement.count(place)]
    )
    return saved > looked


def _cheaper(forest: Forest, reduced: Reduced, seen: Index, cost: Cost) -> bool:
    """Whether records are cheaper than shards, now that fragments are known."""
    saved = 0.0
    for grid, records in zip(forest.grids, reduced.grids, strict=True):
        own = seen[(seen >= grid.offset) & (seen < grid.offset + grid.cells)] - grid.offset
        sent = sum(len(records.records_of(cell)) for cell in own) / max(1, len(own))
        saved += cost.grid(grid.cells, len(grid.keys)) - cost.grid(records.size, len(grid.keys))
        saved -= (sent - 1) * cost.rows * cost.row_in_grid
    return saved > 0
