"""Which attributes share a grid."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

from gingham.optimizer.axes import all_axes
from gingham.optimizer.grid_needs import (
    GridNeed,
    GridPrice,
    join_while_cheaper,
    need_of,
    needs_of,
)
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import FixedDecisions, Forest
from gingham.plan.grid import Grid


class ChosenGrids(NamedTuple):
    """The forest of all grids, the predicted seconds for them, and why they are so."""

    forest: Forest
    seconds: float
    notices: tuple[str, ...]


class _NeedInTree(NamedTuple):
    """What a chosen grid was made for: the need of its queries, and their tree."""

    need: GridNeed
    tree: int


def choose_grids(
    queries: tuple[BoundQuery, ...],
    trees: Mapping[str, int],
    prices: Mapping[int, GridPrice],
    fixed: FixedDecisions,
) -> ChosenGrids:
    """Start with a grid for each set of attributes in a tree; join two while that is cheaper.

        {vol, r1000} {vol, r2000} {price}    ->    {vol, r1000, r2000} {price}

    `trees` has the tree of each query, by name; `prices` what grids cost in each tree.
    """
    served: list[_NeedInTree] = []  # what each grid was made for
    grids: list[Grid] = []
    notices: list[str] = []
    offset, unused, seconds = 0, count(fixed.next_grid), 0.0
    for tree in sorted(set(trees.values())):
        in_tree = tuple(query for query in queries if trees[query.name] == tree)
        axes = all_axes(in_tree)
        needs, reasons = join_while_cheaper(needs_of(in_tree, fixed), axes, prices[tree])
        for need in needs:
            grid = Grid(
                axes=tuple(axis for a, axis in axes.items() if a in need.attributes),
                keys=need.keys,
                offset=offset,
                number=next(unused) if need.grid is None else need.grid,
                tree=tree,
            )
            grids.append(grid)
            offset += grid.cells
            served.append(_NeedInTree(need, tree))
            seconds += prices[tree].seconds(need, axes)
        notices += reasons
    placement = tuple(_grid_for(need_of(q, fixed), trees[q.name], served) for q in queries)
    forest = Forest(queries, tuple(grids), placement)
    return ChosenGrids(forest, seconds, tuple(dict.fromkeys(notices)))


def _grid_for(need: GridNeed, tree: int, served: list[_NeedInTree]) -> int:
    """The position of the first chosen grid that serves the need of a query."""
    return next(
        position
        for position, (grid, tree_of_grid) in enumerate(served)
        if tree_of_grid == tree
        and (grid.grid == need.grid if need.grid is not None else grid.keys == need.keys)
        and need.attributes <= grid.attributes
    )
