"""What queries need of a grid (attributes, keys, conditions), and what such a grid costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

from gingham.logical.predicate import Attribute, Axis
from gingham.optimizer.cost import MOST_CELLS, Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import FixedDecisions
from gingham.plan.row_statistics import RowStatistics

Shape = tuple[frozenset[Attribute], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class GridNeed:
    """What one query or several need of a grid: the attributes to cut, the keys to group by.

    `grid` is the number of their grid if it is fixed already.
    """

    attributes: frozenset[Attribute]
    keys: tuple[str, ...]
    grid: int | None
    conditions: frozenset[str]  # the SQL of the conditions that read the grid

    @property
    def shape(self) -> Shape:
        """Attributes and keys of the need: needs of the same shape start in one grid."""
        return self.attributes, self.keys

    def with_(self, other: GridNeed) -> GridNeed:
        """The need of a common grid for the queries of both needs."""
        return GridNeed(
            attributes=self.attributes | other.attributes,
            keys=self.keys,
            grid=other.grid if self.grid is None else self.grid,
            conditions=self.conditions | other.conditions,
        )

    def __str__(self) -> str:
        return "{" + ", ".join(sorted(a.sql for a in self.attributes)) + "}"


def needs_of(queries: Iterable[BoundQuery], fixed: FixedDecisions) -> list[GridNeed]:
    """The grid needs of queries: one per set of attributes and keys, and per fixed grid."""
    needs: dict[object, GridNeed] = {}
    for query in queries:
        need = need_of(query, fixed)
        name = need.grid if need.grid is not None else need.shape
        needs[name] = needs[name].with_(need) if name in needs else need
    return list(needs.values())


def need_of(query: BoundQuery, fixed: FixedDecisions) -> GridNeed:
    """What one query needs of a grid: its attributes, keys and conditions."""
    return GridNeed(
        attributes=query.attributes,
        keys=query.key_set,
        grid=fixed.grid_of_query.get(query.name),
        conditions=frozenset(condition.sql for condition in query.conditions),
    )


@dataclass(frozen=True, slots=True)
class GridPrice:
    """Prices grids in a tree of so many slices."""

    cost: Cost
    statistics: RowStatistics
    slices: float

    def seconds(self, need: GridNeed, axes: Mapping[Attribute, Axis]) -> float:
        """Predicted seconds of one grid: coding all rows, making its shards, reading them."""
        of_need = [axes[attribute] for attribute in axes if attribute in need.attributes]
        shards = self.statistics.shards(self.slices, of_need, need.keys)
        coding = self.statistics.rows * self.cost.grid
        return coding + self.cost.shards(shards, len(need.conditions))


def join_while_cheaper(
    needs: list[GridNeed], axes: Mapping[Attribute, Axis], price: GridPrice
) -> tuple[list[GridNeed], tuple[str, ...]]:
    """Join two needs in one grid as long as that saves time; also give notices.

    Queries with different keys stay apart. Two fixed grids are not joined, since shards of both
    are stored.
    """

    def may_join(a: GridNeed, b: GridNeed) -> bool:
        """Whether two needs can share a grid: same keys, not both fixed, few enough cells."""
        both_fixed = a.grid is not None and b.grid is not None
        cells = prod(axes[attribute].size for attribute in a.attributes | b.attributes)
        return a.keys == b.keys and not both_fixed and cells <= MOST_CELLS

    def saving(a: GridNeed, b: GridNeed) -> float:
        """The predicted seconds that one grid for both needs saves."""
        return price.seconds(a, axes) + price.seconds(b, axes) - price.seconds(a.with_(b), axes)

    while True:
        savings = {(a, b): saving(a, b) for a, b in combinations(needs, 2) if may_join(a, b)}
        if not savings:
            return needs, _key_notices(needs)
        best = max(savings, key=lambda pair: savings[pair])
        if savings[best] <= 0:
            apart = f"{best[0]} and {best[1]} have grids of their own: "
            more = -savings[best] / price.statistics.rows * 1e6
            extra = f"one grid would cost {more * 1e3:.0f} ms more per million rows"
            return needs, (apart + extra, *_key_notices(needs))
        needs = [need for need in needs if need not in best] + [best[0].with_(best[1])]


def _key_notices(needs: list[GridNeed]) -> tuple[str, ...]:
    """The notice that queries with different group keys have grids of their own."""
    sets = sorted({need.keys for need in needs})
    if len(sets) < 2:
        return ()
    listed = ", ".join("(" + ", ".join(keys) + ")" for keys in sets)
    return (f"keys {listed} are grouped apart: how many values they have is not known",)
