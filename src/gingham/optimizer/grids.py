"""Which attributes share a grid."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from gingham.optimizer.axes import all_axes
from gingham.optimizer.needs import Need, Price, join_while_cheaper, need_of, needs_of
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import Forest, Grid, Standing


def choose_grids(
    queries: tuple[BoundQuery, ...],
    trees: Mapping[str, int],
    prices: Mapping[int, Price],
    standing: Standing,
) -> tuple[Forest, float, tuple[str, ...]]:
    """Start with a grid for each set of attributes in a tree; join two while that is cheaper.

        {vol, r1000} {vol, r2000} {price}    ->    {vol, r1000, r2000} {price}

    `trees` tells the tree of each query, `prices` what grids cost in each tree. Also gives what
    all of them cost.
    """
    chosen: list[tuple[Need, int]] = []
    grids: list[Grid] = []
    notices: list[str] = []
    offset, unused, seconds = 0, count(standing.next_grid), 0.0
    for tree in sorted(set(trees.values())):
        own = tuple(query for query in queries if trees[query.name] == tree)
        axes = all_axes(own)
        joined, said = join_while_cheaper(needs_of(own, standing), axes, prices[tree])
        for need in joined:
            ordered = tuple(axis for found, axis in axes.items() if found in need.attributes)
            number = next(unused) if need.grid is None else need.grid
            grids.append(Grid(ordered, need.keys, offset, number, tree))
            offset += grids[-1].cells
            chosen.append((need, tree))
            seconds += prices[tree].grid(need, axes)
        notices += said
    placement = tuple(
        _home(need_of(query, standing), trees[query.name], chosen) for query in queries
    )
    return Forest(queries, tuple(grids), placement), seconds, tuple(dict.fromkeys(notices))


def _home(need: Need, tree: int, chosen: list[tuple[Need, int]]) -> int:
    return next(
        place
        for place, (grid, of) in enumerate(chosen)
        if of == tree
        and (grid.grid == need.grid if need.grid is not None else grid.keys == need.keys)
        and need.attributes <= grid.attributes
    )
