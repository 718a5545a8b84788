"""Which attributes share a grid."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

from gingham.logical.domain import sort_key
from gingham.logical.predicate import Attribute, Axis, attributes, cuts
from gingham.optimizer.cost import MOST_CELLS, Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.tree import Grid, Tree


@dataclass(frozen=True, slots=True)
class _Need:
    """The attributes that some conditions cut, and the keys that they are grouped by."""

    attributes: frozenset[Attribute]
    keys: tuple[str, ...]


def choose_grids(queries: tuple[BoundQuery, ...], cost: Cost) -> tuple[Tree, tuple[str, ...]]:
    """Start with a grid for each set of attributes; join two while that is cheaper.

        {vol, r1000} {vol, r2000} {price}    ->    {vol, r1000, r2000} {price}

    Queries with different keys stay apart: how many values a key has is not known.
    """
    axes = _axes(queries)
    needs = [_need(query) for query in queries]
    chosen, notices = _join_while_cheaper(list(dict.fromkeys(needs)), axes, cost)
    grids: list[Grid] = []
    offset = 0
    for need in chosen:
        ordered = tuple(axis for attribute, axis in axes.items() if attribute in need.attributes)
        grids.append(Grid(ordered, need.keys, offset))
        offset += grids[-1].cells
    placement = tuple(_home(need, chosen) for need in needs)
    return Tree(queries, tuple(grids), placement), notices


def _axes(queries: tuple[BoundQuery, ...]) -> dict[Attribute, Axis]:
    places: dict[Attribute, dict[Any, Any]] = {}
    for query in queries:
        for condition in query.conditions:
            for attribute in attributes(condition.predicate):
                places.setdefault(attribute, {})
            for attribute, cut in cuts(condition.predicate):
                places[attribute][sort_key(cut)] = cut
    return {
        attribute: Axis(attribute, tuple(found[k] for k in sorted(found)))
        for attribute, found in places.items()
    }


def _need(query: BoundQuery) -> _Need:
    found = {a for condition in query.conditions for a in attributes(condition.predicate)}
    return _Need(frozenset(found), tuple(sorted(set(query.keys))))


def _join_while_cheaper(
    needs: list[_Need], axes: dict[Attribute, Axis], cost: Cost
) -> tuple[list[_Need], tuple[str, ...]]:
    def cells(need: _Need) -> int:
        return prod(axes[a].size for a in need.attributes)

    def price(need: _Need) -> float:
        return cost.grid(prod(len(axes[a].cuts) + 1 for a in need.attributes), len(need.keys))

    while True:
        savings = {
            (a, b): price(a) + price(b) - price(_union(a, b))
            for a, b in combinations(needs, 2)
            if a.keys == b.keys and cells(_union(a, b)) <= MOST_CELLS
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
    return _Need(a.attributes | b.attributes, a.keys)


def _home(need: _Need, chosen: list[_Need]) -> int:
    return next(
        i for i, c in enumerate(chosen) if c.keys == need.keys and need.attributes <= c.attributes
    )


def _key_notices(needs: list[_Need]) -> tuple[str, ...]:
    sets = sorted({need.keys for need in needs})
    if len(sets) < 2:
        return ()
    listed = ", ".join("(" + ", ".join(keys) + ")" for keys in sets)
    return (f"keys {listed} are grouped apart: how many values they have is not known",)


def _text(need: _Need) -> str:
    return "{" + ", ".join(sorted(a.sql for a in need.attributes)) + "}"
