"""What queries need of a tree: attributes that are cut, keys; and what a grid of that costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

from gingham.logical.predicate import Attribute, Axis
from gingham.optimizer.cost import MOST_CELLS, Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import Standing
from gingham.plan.load import Load

Shape = tuple[frozenset[Attribute], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Need:
    """Attributes that conditions cut, keys, the conditions; the grid if it stands already."""

    attributes: frozenset[Attribute]
    keys: tuple[str, ...]
    grid: int | None
    conditions: frozenset[str]

    @property
    def shape(self) -> Shape:
        """What grids differ by."""
        return self.attributes, self.keys

    def with_(self, other: Need) -> Need:
        """Both in one grid."""
        return Need(
            self.attributes | other.attributes,
            self.keys,
            other.grid if self.grid is None else self.grid,
            self.conditions | other.conditions,
        )

    def __str__(self) -> str:
        return "{" + ", ".join(sorted(a.sql for a in self.attributes)) + "}"


def needs_of(queries: Iterable[BoundQuery], standing: Standing) -> list[Need]:
    """One for each set of attributes and keys, and for each grid that stands."""
    found: dict[object, Need] = {}
    for query in queries:
        need = need_of(query, standing)
        name = need.grid if need.grid is not None else need.shape
        found[name] = found[name].with_(need) if name in found else need
    return list(found.values())


def need_of(query: BoundQuery, standing: Standing) -> Need:
    """What one query needs."""
    return Need(
        query.attributes,
        tuple(sorted(set(query.keys))),
        standing.grids.get(query.name),
        frozenset(condition.sql for condition in query.conditions),
    )


@dataclass(frozen=True, slots=True)
class Price:
    """What grids cost in a tree of so many slices."""

    cost: Cost
    load: Load
    slices: float

    def grid(self, need: Need, axes: Mapping[Attribute, Axis]) -> float:
        """Coding and grouping every row, carrying its shards, and reading them."""
        own = [axes[attribute] for attribute in axes if attribute in need.attributes]
        shards = self.load.shards(self.slices, own, need.keys)
        return self.load.rows * self.cost.grid + self.cost.shards(shards, len(need.conditions))


def join_while_cheaper(
    needs: list[Need], axes: Mapping[Attribute, Axis], price: Price
) -> tuple[list[Need], tuple[str, ...]]:
    """Put two needs into one grid as long as that saves something.

    Queries with different keys stay apart. Two grids that stand already are not joined, since
    shards of both are kept.
    """

    def may_join(a: Need, b: Need) -> bool:
        both_stand = a.grid is not None and b.grid is not None
        cells = prod(axes[attribute].size for attribute in a.attributes | b.attributes)
        return a.keys == b.keys and not both_stand and cells <= MOST_CELLS

    def saving(a: Need, b: Need) -> float:
        return price.grid(a, axes) + price.grid(b, axes) - price.grid(a.with_(b), axes)

    while True:
        savings = {(a, b): saving(a, b) for a, b in combinations(needs, 2) if may_join(a, b)}
        if not savings:
            return needs, _key_notices(needs)
        best = max(savings, key=lambda pair: savings[pair])
        if savings[best] <= 0:
            kept = f"{best[0]} and {best[1]} have grids of their own: "
            more = -savings[best] / price.load.rows * 1e6
            extra = f"one grid would cost {more * 1e3:.0f} ms more per million rows"
            return needs, (kept + extra, *_key_notices(needs))
        needs = [n for n in needs if n not in best] + [best[0].with_(best[1])]


def _key_notices(needs: list[Need]) -> tuple[str, ...]:
    sets = sorted({need.keys for need in needs})
    if len(sets) < 2:
        return ()
    listed = ", ".join("(" + ", ".join(keys) + ")" for keys in sets)
    return (f"keys {listed} are grouped apart: how many values they have is not known",)
