"""Trees of queries: each shares one set of slices, all share one pass over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from gingham.aggregates import Partial
from gingham.algebra.edges import ResidueClass, normalized
from gingham.core.arrays import Ints
from gingham.logical.predicate import Axis
from gingham.logical.query import Join
from gingham.plan.bound import BoundQuery
from gingham.plan.layout import grid_starts
from gingham.plan.load import Load


@dataclass(frozen=True, slots=True)
class Grid:
    """The product of some attributes' intervals, by some keys; cells count from `offset`.

    Its rows are cut into the slices of its tree. Its number stays the same when queries that come
    or go change its axes.
    """

    axes: tuple[Axis, ...]
    keys: tuple[str, ...]
    offset: int
    number: int
    tree: int = 0

    @property
    def cells(self) -> int:
        return prod(axis.size for axis in self.axes)

    @property
    def over(self) -> str:
        """Its attributes, for people to read."""
        return " x ".join(axis.attribute.sql for axis in self.axes) or "all rows"


@dataclass(frozen=True, slots=True)
class Codebook:
    """What shards mean: their cells, `__key_0`, ... and `__partial_0`, ..."""

    grids: tuple[Grid, ...]
    keys: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)  # no slots: what is derived is kept once computed
class Forest:
    """One pass over the rows: every row falls into a slice of every tree, a cell of every grid."""

    queries: tuple[BoundQuery, ...]
    grids: tuple[Grid, ...]
    placement: tuple[int, ...]  # the grid of each query

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """All attributes that are coded, each once."""
        return tuple(dict.fromkeys(axis for grid in self.grids for axis in grid.axes))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """All key expressions, each once."""
        return tuple(dict.fromkeys(key for grid in self.grids for key in grid.keys))

    @cached_property
    def partials(self) -> tuple[Partial, ...]:
        """What is computed of every shard, each once."""
        return tuple(
            dict.fromkeys(
                partial
                for query in self.queries
                for reading in (*query.readings, *query.guards)
                for partial in reading.partials
            )
        )

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The aggregate expressions behind the partials, each once."""
        return tuple(dict.fromkeys(c for partial in self.partials for c in partial.columns))

    @cached_property
    def trees(self) -> Mapping[int, tuple[ResidueClass, ...]]:
        """Where the slices of each tree begin."""
        classes: dict[int, list[ResidueClass]] = {}
        for query, place in zip(self.queries, self.placement, strict=True):
            classes.setdefault(self.grids[place].tree, []).extend(query.window.classes)
        return {tree: normalized(found) for tree, found in sorted(classes.items())}

    @cached_property
    def bounds(self) -> tuple[Ints, Ints]:
        """The first cell of each grid, and the tree of each."""
        return grid_starts(self)

    @property
    def cells(self) -> int:
        """The number of cells in all grids."""
        return sum(grid.cells for grid in self.grids)

    @property
    def codebook(self) -> Codebook:
        """What the columns and cells of its shards mean."""
        return Codebook(self.grids, self.keys, self.columns)

    def grid_of(self, query: BoundQuery) -> Grid:
        return self.grids[self._places[query.name]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {q.name: place for q, place in zip(self.queries, self.placement, strict=True)}


@dataclass(frozen=True, slots=True)
class Standing:
    """What has been decided for queries that are running, and stands until they leave.

    Shards that were made before a change of plan can then be read as shards of the new plan.
    """

    grids: Mapping[str, int] = field(default_factory=dict)  # the number of each query's grid
    outer: frozenset[str] = frozenset()  # lookups that keep rows without a match, by role
    whole: Mapping[str, int] = field(default_factory=dict)  # how far each query was simplified
    trees: Mapping[int, int] = field(default_factory=dict)  # the tree of each grid
    next_grid: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """How the queries of one stream are answered."""

    stream: str
    joins: tuple[tuple[Join, bool], ...]  # looked up once for all; True: rows without match drop
    columns: tuple[str, ...]  # of the enriched stream, that anything reads
    forest: Forest
    notices: tuple[str, ...]
    standing: Standing
    load: Load  # the rows that it was made for
    seconds: float  # that all of them are expected to take
