"""Folding: cells that no query tells apart are counted as one cell.

All cells of a fragment satisfy the same queries, so every row can be counted in the first cell of
its fragment. There are fewer shards then, with the same answers. Folded shards cannot serve a query
that comes later and tells two cells of a fragment apart.

cells       0 1 2 3 4 5
fragments   a a b c c -
folded      0 0 2 3 3 5
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gingham.core.arrays import Ints
from gingham.plan.cell_sets import possible_fragments
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest

# For some grids, by their numbers: the cell that each of their cells is counted in, or NOWHERE.
FoldedCells = Mapping[int, Ints]
NOWHERE = -1


def fold_cells(
    forest: Forest, conditions: ConditionCache, *, drop_unwanted: bool = False
) -> FoldedCells:
    """Map every cell of every grid to the first cell of its fragment.

    With `drop_unwanted`, cells that no query reads are counted nowhere. Grids in which every cell
    is counted where it is are left out.
    """
    folded: dict[int, Ints] = {}
    for grid in forest.grids:
        queries = [query for query in forest.queries if forest.grid_of(query) is grid]
        fragment_of = possible_fragments(grid, queries, conditions).fragment_of
        _, first, number = np.unique(fragment_of, return_index=True, return_inverse=True)
        counted_in = first[number.ravel()]
        if drop_unwanted:
            counted_in = np.where(fragment_of < 0, NOWHERE, counted_in)
        if not np.array_equal(counted_in, np.arange(grid.cells)):
            folded[grid.number] = counted_in
    return folded
