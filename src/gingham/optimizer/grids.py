"""Which attributes share a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations, count
from math import prod

from gingham.logical.predicate import Attribute, Axis
from gingham.optimizer.axes import all_axes
from gingham.optimizer.cost import MOST_CELLS, Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import Forest, Grid, Standing


@dataclass(frozen=True, slots=True)
class _Need:
    """Attributes that conditions cut, keys, the tree; the grid if it stands already."""

    attributes: frozenset[Attribute]
    keys: tuple[str, ...]
    tree: int
    grid: int | None = None


def choose_grids(
    queries: tuple[BoundQuery, ...], trees: Mapping[str, int], cost: Cost, standing: Standing
) -> tuple[Forest, tuple[str, ...]]:
    """Start with a grid for each set of attributes in a tree; join two while that is cheaper.

        {vol, r1000} {vol, r2000} {price}    ->    {vol, r1000, r2000} {price}

    `trees` tells the tree of each query. Queries with different keys stay apart: how many values a
    key has is not known. Two grids that stand already are not joined, since shards of both are
    kept.
    """
    needs = {query.name: _need(query, trees[query.name]) for query in queries}
    chosen: list[_Need] = []
    grids: list[Grid] = []
    notices: list[str] = []
    offset, unused = 0, count(standing.next_grid)
    for tree in sorted(set(trees.values())):
        own = tuple(query for query in queries if trees[query.name] == tree)
        axes = all_axes(own)
        stand = _standing_grids(own, needs, standing)
        newcomers = [needs[query.name] for query in own if query.name not in standing.grids]
        wanted = list(dict.fromkeys((*stand.values(), *newcomers)))
        joined, said = _join_while_cheaper(wanted, axes, cost)
        for need in joined:
            ordered = tuple(axis for found, axis in axes.items() if found in need.attributes)
            number = next(unused) if need.grid is None else need.grid
            grids.append(Grid(ordered, need.keys, offset, number, tree))
            offset += grids[-1].cells
        chosen += joined
        notices += said
    placement = tuple(
        _home(needs[query.name], standing.grids.get(query.name), chosen) for query in queries
    )
    return Forest(queries, tuple(grids), placement), tuple(dict.fromkeys(notices))


def _standing_grids(
    queries: tuple[BoundQuery, ...], needs: Mapping[str, _Need], standing: Standing
) -> dict[int, _Need]:
    found: dict[int, _Need] = {}
    for query in queries:
        if (number := standing.grids.get(query.name)) is not None:
            need = replace(needs[query.name], grid=number)
            found[number] = _union(found.get(number, need), need)
    return found


def _need(query: BoundQuery, tree: int) -> _Need:
    return _Need(query.attributes, tuple(sorted(set(query.keys))), tree)


def _join_while_cheaper(
    needs: list[_Need], axes: dict[Attribute, Axis], cost: Cost
) -> tuple[list[_Need], tuple[str, ...]]:
    def cells(need: _Need) -> int:
        return prod(axes[a].size for a in need.attributes)

    def price(need: _Need) -> float:
        return cost.grid(prod(len(axes[a].cuts) + 1 for a in need.attributes), len(need.keys))

    def may_join(a: _Need, b: _Need) -> bool:
        both_stand = a.grid is not None and b.grid is not None
        return a.keys == b.keys and not both_stand and cells(_union(a, b)) <= MOST_CELLS

    while True:
        savings = {
            (a, b): price(a) + price(b) - price(_union(a, b))
            for a, b in combinations(needs, 2)
            if may_join(a, b)
        }
        if not savings:
            return needs, _key_notices(needs)
        best = max(savings, key=lambda pair: savings[pair])
        if savings[best] <= 0:
            kept = f"{_text(best[0])} and {_text(best[1])} have grids of their own: "
            extra = f"one grid would cost {-savings[best] * 1e3:.0f} ms more per million rows"
            return needs, (kept + extra, *_key_notices(needs))
        needs = [n for n in needs if n not in best] + [_union(*best)]


def _union(a: _Need, b: _Need) -> _Need:
    grid = b.grid if a.grid is None else a.grid
    return replace(a, attributes=a.attributes | b.attributes, grid=grid)


def _home(need: _Need, stands: int | None, chosen: list[_Need]) -> int:
    return next(
        i
        for i, c in enumerate(chosen)
        if (c.grid == stands if stands is not None else (c.keys, c.tree) == (need.keys, need.tree))
        and need.attributes <= c.attributes
    )


def _key_notices(needs: list[_Need]) -> tuple[str, ...]:
    sets = sorted({need.keys for need in needs})
    if len(sets) < 2:
        return ()
    listed = ", ".join("(" + ", ".join(keys) + ")" for keys in sets)
    return (f"keys {listed} are grouped apart: how many values they have is not known",)


def _text(need: _Need) -> str:
    return "{" + ", ".join(sorted(a.sql for a in need.attributes)) + "}"
