"""The plan of a stream: trees of queries, their grids, and what stays fixed while they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from gingham.aggregates import Partial
from gingham.algebra.edges import ResidueClass, normalized
from gingham.core.arrays import Ints
from gingham.logical.predicate import Axis
from gingham.logical.query import JoinUse
from gingham.logical.window import Clock
from gingham.plan.bound import BoundQuery
from gingham.plan.codebook import Codebook
from gingham.plan.grid import Grid
from gingham.plan.layout import grid_starts
from gingham.plan.row_statistics import RowStatistics


@dataclass(frozen=True)  # no slots: cached properties need a __dict__
class Forest:
    """All queries that share one pass over the rows, and the grids that they read.

    Every row falls into one slice of every tree and into one cell of every grid that is filled by
    cells; such grids stand before those that are filled by columns.
    """

    queries: tuple[BoundQuery, ...]
    grids: tuple[Grid, ...]
    placement: tuple[int, ...]  # for each query, the position of its grid in `grids`

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all grids of the plan, each once."""
        return tuple(dict.fromkeys(axis for grid in self.grids for axis in grid.axes))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key expressions of all grids of the plan, each once."""
        return tuple(dict.fromkeys(key for grid in self.grids for key in grid.keys))

    @cached_property
    def partials(self) -> tuple[Partial, ...]:
        """The partials that shards hold for all queries, each once."""
        return tuple(
            dict.fromkeys(
                partial
                # Those of grids by cells first: shards by cells have no others.
                for query in sorted(self.queries, key=lambda q: self.grid_of(q).by_columns)
                for aggregate in query.aggregates
                for partial in aggregate.partials
            )
        )

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The SQL of the aggregate expressions that shards hold for the partials, each once."""
        return tuple(dict.fromkeys(c for partial in self.partials for c in partial.columns))

    @cached_property
    def trees(self) -> Mapping[int, tuple[ResidueClass, ...]]:
        """The edges of each tree, as residue classes: the slices of the tree begin there."""
        edges: dict[int, list[ResidueClass]] = {}
        for query, position in zip(self.queries, self.placement, strict=True):
            edges.setdefault(self.grids[position].tree, []).extend(query.window.classes)
        return {tree: normalized(classes) for tree, classes in sorted(edges.items())}

    @cached_property
    def clocks(self) -> Mapping[int, Clock]:
        """The clock of each tree, on which the windows of all its queries are measured."""
        placed = zip(self.queries, self.placement, strict=True)
        return {self.grids[position].tree: query.window.clock for query, position in placed}

    @cached_property
    def bounds(self) -> tuple[Ints, Ints]:
        """The number of the first cell of each grid, and the tree of each grid, as arrays."""
        return grid_starts(self)

    @property
    def cells(self) -> int:
        """The number of cells in all grids of the plan."""
        return sum(grid.cells for grid in self.grids)

    @property
    def codebook(self) -> Codebook:
        """What the columns and the cell numbers of shards mean under this plan."""
        return Codebook(grids=self.grids, keys=self.keys, columns=self.columns)

    @cached_property
    def by_cells(self) -> Forest:
        """The grids that are filled by cells, with their queries."""
        return self._part(by_columns=False)

    @cached_property
    def by_columns(self) -> Forest:
        """The grids that are filled by columns, with their queries."""
        return self._part(by_columns=True)

    def _part(self, *, by_columns: bool) -> Forest:
        """The grids that are filled in one way, with their queries."""
        if all(grid.by_columns == by_columns for grid in self.grids):
            return self
        grids = tuple(grid for grid in self.grids if grid.by_columns == by_columns)
        first = self.grids.index(grids[0]) if grids else 0
        placed = [
            (query, position - first)
            for query, position in zip(self.queries, self.placement, strict=True)
            if self.grids[position].by_columns == by_columns
        ]
        return Forest(tuple(q for q, _ in placed), grids, tuple(place for _, place in placed))

    @cached_property
    def by_clock(self) -> Mapping[Clock, Forest]:
        """The forest of the queries of each clock; their cells are numbered anew."""
        if len(set(self.clocks.values())) == 1:
            return {next(iter(self.clocks.values())): self}
        return {clock: self._on(clock) for clock in dict.fromkeys(self.clocks.values())}

    def _on(self, clock: Clock) -> Forest:
        """The forest of the queries of one clock."""
        grids: list[Grid] = []
        places: dict[int, int] = {}  # of the grids, there and here
        for position, grid in enumerate(self.grids):
            if self.clocks[grid.tree] == clock:
                places[position] = len(grids)
                grids.append(replace(grid, offset=sum(g.cells for g in grids)))
        placed = zip(self.queries, self.placement, strict=True)
        own = [(query, places[position]) for query, position in placed if position in places]
        return Forest(tuple(q for q, _ in own), tuple(grids), tuple(place for _, place in own))

    def grid_of(self, query: BoundQuery) -> Grid:
        """The grid of the plan that the query is answered from."""
        return self._grids[query.name]

    @cached_property
    def _grids(self) -> dict[str, Grid]:
        """The grid of each query, by the name of the query."""
        placed = zip(self.queries, self.placement, strict=True)
        return {query.name: self.grids[position] for query, position in placed}


@dataclass(frozen=True, slots=True)
class FixedDecisions:
    """Decisions about running queries that later plans must keep until these queries leave.

    They let shards that were stored under an old plan be read as shards of the new plan.
    """

    grid_of_query: Mapping[str, int] = field(default_factory=dict)  # by name; the grid's number
    outer_joins: frozenset[str] = frozenset()  # roles of joins that keep rows without a match
    # By name: how often `simplify_conditions` simplified the query.
    simplifications: Mapping[str, int] = field(default_factory=dict)
    tree_of_grid: Mapping[int, int] = field(default_factory=dict)
    next_grid: int = 0  # the number of the next new grid
    by_columns: frozenset[str] = frozenset()  # names of queries whose grids are filled by columns


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a stream: how queries share one pass over its rows, at which cost, and why."""

    stream: str
    joins: tuple[JoinUse, ...]  # each made once, for all queries
    columns: tuple[str, ...]  # of the enriched stream, those that any query reads
    forest: Forest
    notices: tuple[str, ...]  # why the optimizer decided so, for `explain`
    fixed: FixedDecisions
    statistics: RowStatistics  # of the rows that it was made for
    seconds: float  # the predicted time for all of these rows
