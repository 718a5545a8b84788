"""Which shards of a stream are still needed: those at or after the floors of their grids."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from gingham.aggregates.monoid import flat
from gingham.core import names
from gingham.core.arrays import Bools
from gingham.finals.row_counts import RowFloors
from gingham.plan.codebook import Codebook

# By the number of the grid: an instant, or a position for each key.
Floors = Mapping[int, int | RowFloors]


def needed(table: pa.Table, floors: Floors, codebook: Codebook) -> Bools:
    """A flag for each shard: whether its slice begins at the floor of its grid, or later."""
    cells, instants = table[names.CELL].to_numpy(), table[names.INSTANT].to_numpy()
    grid_of = codebook.places(cells)
    lowest = np.zeros(len(cells), dtype=np.int64)
    for place, grid in enumerate(codebook.grids):
        floor, own = floors[grid.number], grid_of == place
        if not own.any():
            continue
        if isinstance(floor, RowFloors):
            chosen = table.filter(pa.array(own))
            keys = [flat(chosen[names.key(codebook.keys.index(k))]) for k in floor.per]
            lowest[own] = floor.of(keys, chosen.num_rows)
        else:
            lowest[own] = floor
    return instants >= lowest
