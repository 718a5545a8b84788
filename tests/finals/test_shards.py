"""What queries with the same condition share is kept, but not without a bound."""

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.finals.shards import ShardTable
from gingham.logical.domain import INTEGER
from gingham.logical.predicate import Attribute, Axis
from gingham.plan.forest import Forest
from gingham.plan.grid import Grid


def test_only_so_much_is_kept_between_queries():
    size = 10
    axis = Axis(Attribute("v", INTEGER), tuple(range(size - 3)))
    grid = Grid((axis,), (), 0, 0)
    table = pa.table({names.INSTANT: np.arange(size), names.CELL: np.arange(size)})
    found = ShardTable(table, Forest((), (grid,), ()), cache_size=40).of(grid)
    masks = [np.arange(grid.cells) <= i for i in range(size)]
    for mask in masks:
        assert len(found.merged_over_cells(mask, None).shards) == mask[:size].sum()
    kept = found._cache._results
    assert len(kept) < len(masks)
    assert sum(result.size for result in kept.values()) == found._cache._size <= 40
    assert found.merged_over_cells(masks[-1], None) is found.merged_over_cells(masks[-1], None)
