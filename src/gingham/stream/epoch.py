"""Epochs: a stream's plan between two changes of its queries, and what its shards mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gingham.logical.window import EVENT_TIME, Clock
from gingham.optimizer import optimize
from gingham.optimizer.choose_ways import Way
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.codebook import Codebook
from gingham.plan.forest import FixedDecisions, Forest, Plan
from gingham.plan.forest_records import ForestRecords
from gingham.plan.grid import Grid
from gingham.plan.row_statistics import RowStatistics
from gingham.stream.ages import Ages, aged, known_since
from gingham.stream.clock import Marks, Timing
from gingham.stream.codec import (
    codebook_from_json,
    codebook_to_json,
    fixed_from_json,
    fixed_to_json,
)


@dataclass(frozen=True, slots=True)
class Optimizer:
    """What an epoch is planned with: the rules, costs, and statistics of the stream's rows."""

    cost: Cost = field(default_factory=Cost)
    statistics: RowStatistics = field(default_factory=RowStatistics)
    optimize: Callable[..., Plan] = optimize
    way: Way = "auto"  # how new queries are shared


@dataclass(frozen=True)
class Epoch:
    """A plan, and from when on each of its queries is answered.

    A query answers the windows that start after `born`: after the latest event time that the
    stream had seen when the query was added.
    """

    number: int
    plan: Plan | None  # None while there are no queries
    born: Mapping[str, int] = field(default_factory=dict)
    ages: Ages = field(default_factory=dict)
    backfilled: frozenset[str] = frozenset()  # new queries that earlier windows are answered of
    # The numbers of grids whose shards stay with the executors.
    on_executors: frozenset[int] = frozenset()
    records: ForestRecords | None = None  # what is sent in place of shards of grids by cells

    @property
    def forest(self) -> Forest | None:
        """The trees and grids of the epoch's plan; None if there are no queries."""
        return self.plan.forest if self.plan else None

    @property
    def queries(self) -> tuple[BoundQuery, ...]:
        """The queries that are answered in this epoch."""
        return self.plan.forest.queries if self.plan else ()

    @property
    def codebook(self) -> Codebook:
        """What the numbers and columns of shards that are made in this epoch mean."""
        if self.plan is None:
            return Codebook((), (), ())
        book, records = self.plan.forest.codebook, self.records
        if records is None:
            return book
        return replace(book, columns=records.columns, records=records.grids)

    def is_on_executors(self, query: BoundQuery) -> bool:
        """Whether the shards of the query's grid stay with the executors."""
        forest, grids = self.forest, self.on_executors
        return bool(grids) and forest is not None and forest.grid_of(query).number in grids

    def on(self, clock: Clock) -> Epoch:
        """The epoch as it is for the queries of one clock; the same one if there are no others."""
        if self.plan is None or self.plan.forest.by_clock.keys() == {clock}:
            return self
        forest = self.plan.forest.by_clock.get(clock)
        return replace(self, plan=None if forest is None else replace(self.plan, forest=forest))

    @property
    def clocks_by_rows(self) -> tuple[Clock, ...]:
        """The clocks on which windows of rows are measured."""
        return tuple(c for c in self.forest.by_clock if c.by_rows) if self.forest else ()

    def floors(self, timing: Timing, after: Marks) -> dict[int, int]:
        """The instant from which on shards of each grid of time are needed, by its number."""
        floors: dict[int, int] = {}
        for query in self.on(EVENT_TIME).queries:
            floor = timing.floor(query.window, after, self.born[query.name])
            number = self.forest.grid_of(query).number if self.forest else -1
            floors[number] = min(floor, floors.get(number, floor))
        return floors

    def next(
        self,
        stream: str,
        queries: Sequence[BoundQuery],
        latest: int,
        floors: Mapping[int, int],
        optimizer: Optimizer,
    ) -> Epoch:
        """Plan the epoch after a change of queries; gives this epoch if they are the same.

        `latest` is the latest event time so far; `floors` tells from which instant on the shards of
        each grid are kept, so that backfilled queries know how far back they can be answered.
        """
        texts = {q.name: q.query.text for q in self.queries}
        if texts == {q.name: q.query.text for q in queries}:
            return self
        stayed = {q.name for q in queries if texts.get(q.name) == q.query.text}
        born = {q.name: self.born[q.name] if q.name in stayed else latest for q in queries}
        if not queries:
            return Epoch(self.number + 1, None)
        plan = optimizer.optimize(
            stream,
            queries,
            optimizer.cost,
            optimizer.statistics,
            fixed=self._fixed(stayed),
            way=optimizer.way,
        )
        forest, ages = plan.forest, _aged(plan.forest, self.ages, latest)
        backfilled = [q for q in forest.queries if q.backfill and q.name not in stayed]
        for query in backfilled:
            kept = floors.get(forest.grid_of(query).number, latest + 1)
            born[query.name] = max(known_since(query, forest, ages), kept - 1)
        return Epoch(
            number=self.number + 1,
            plan=plan,
            born=born,
            ages=ages,
            backfilled=frozenset(q.name for q in backfilled),
            on_executors=self.on_executors & {grid.number for grid in forest.grids},
        )

    def rewoven(self, latest: int, optimizer: Optimizer) -> Epoch:
        """Plan the epoch's queries anew, in other trees; gives this epoch if none are better.

        A grid takes its shards along: every edge that its queries need is in both trees.
        """
        if self.plan is None:
            return self
        before, queries = self.plan, self.queries
        plan = optimizer.optimize(
            before.stream,
            queries,
            optimizer.cost,
            optimizer.statistics,
            fixed=before.fixed,
            reweave=True,
            way=optimizer.way,
        )
        if plan.forest.trees == before.forest.trees:
            return self
        ages = _aged(plan.forest, self.ages, latest)
        return replace(self, number=self.number + 1, plan=plan, ages=ages, records=None)

    def moved_to_executors(self, grids: Iterable[Grid]) -> Epoch:
        """The epoch in which shards of these grids too, large ones, stay with the executors."""
        moved = self.on_executors.union(grid.number for grid in grids)
        if moved == self.on_executors:
            return self
        return replace(self, number=self.number + 1, on_executors=moved)

    def _fixed(self, stayed: set[str]) -> FixedDecisions:
        """The fixed decisions about the queries that stay in the next epoch."""
        if self.plan is None:
            return FixedDecisions()
        before = self.plan.fixed
        return FixedDecisions(
            grid_of_query={n: grid for n, grid in before.grid_of_query.items() if n in stayed},
            outer_joins=before.outer_joins if stayed else frozenset(),
            simplifications={n: step for n, step in before.simplifications.items() if n in stayed},
            tree_of_grid=before.tree_of_grid,
            next_grid=before.next_grid,
            by_columns=before.by_columns & stayed,
        )

    def to_json(self) -> dict[str, Any]:
        """The epoch as JSON for the log; `StoredEpoch` reads it again."""
        return {
            "number": self.number,
            "queries": [
                {"name": q.name, "sql": q.query.text, "born": self.born[q.name]}
                for q in self.queries
            ],
            "codebook": codebook_to_json(self.codebook),
            "standing": fixed_to_json(self.plan.fixed if self.plan else FixedDecisions()),
            "ages": dict(self.ages),
            "on_executors": sorted(self.on_executors),
        }


@dataclass(frozen=True)
class StoredEpoch:
    """An epoch as a checkpoint keeps it: queries as text, not yet bound to a schema."""

    number: int
    texts: Mapping[str, str]
    born: Mapping[str, int]
    codebook: Codebook
    fixed: FixedDecisions
    ages: Ages
    on_executors: frozenset[int] = frozenset()

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> StoredEpoch:
        """Read the epoch that `Epoch.to_json` wrote to the log."""
        return cls(
            number=found["number"],
            texts={q["name"]: q["sql"] for q in found["queries"]},
            born={q["name"]: q["born"] for q in found["queries"]},
            codebook=codebook_from_json(found["codebook"]),
            fixed=fixed_from_json(found["standing"]),
            ages=found["ages"],
            on_executors=frozenset(found["on_executors"]),
        )

    def bound(self, stream: str, queries: Sequence[BoundQuery]) -> Epoch:
        """Plan the stored epoch again; another number if its cells are numbered anew."""
        fixed = self.fixed
        trees = {q.name: fixed.tree_of_grid[fixed.grid_of_query[q.name]] for q in queries}
        plan = optimize(stream, queries, fixed=fixed, trees=trees) if queries else None
        again = Epoch(self.number, plan, self.born, self.ages, on_executors=self.on_executors)
        before, now = self.codebook, again.codebook
        columns = before.columns[: len(now.columns)]
        if (before.grids, before.keys, columns) != (now.grids, now.keys, now.columns):
            return replace(again, number=self.number + 1)
        if not before.records:
            return again
        return replace(again, records=ForestRecords(before.records, before.columns))


def _aged(forest: Forest, before: Ages, latest: int) -> dict[str, int]:
    """The ages of what shards of time tell apart; nothing is backfilled from shards of rows."""
    by_time = forest.by_clock.get(EVENT_TIME)
    return {} if by_time is None else aged(by_time, before, latest)


NO_EPOCH = Epoch(0, None, {})
