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

# For some grids, by their numbers: the cell that each of their cells is counted in.
FoldedCells = Mapping[int, Ints]


def fold_cells(forest: Forest, conditions: ConditionCache) -> FoldedCells:
    """Map every cell of every grid to the first cell of its fragment.

    Grids of which every cell is a fragment are left out.
    """
    folded: dict[int, Ints] = {}
    for grid in forest.grids:
        queries = [query for query in forest.queries if forest.grid_of(query) is grid]
        fragments = possible_fragments(grid, queries, conditions)
        if len(fragments.membership):
            _, first, number = np.unique(
                fragments.fragment_of, return_index=True, return_inverse=True
            )
            if len(first) < grid.cells:
                folded[grid.number] = first[number.ravel()]
    return folded
