"""Which queries the next batch of a stream answers, and how they are woven."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from gingham.core.time import NEVER
from gingham.finals.shards import shards_in
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.load import Load
from gingham.session.measured_load import have_different_edges, weighed
from gingham.spark.analyze import rows_and_span
from gingham.spark.enrich import Lookups
from gingham.spark.run import too_large
from gingham.stream.clock import Marks, Timing
from gingham.stream.epoch import Epoch, Weighing
from gingham.stream.rates import Rates
from gingham.stream.state import State

Bind = Callable[[str, str], BoundQuery]


@dataclass(frozen=True)
class Job:
    """What a loop works with."""

    spark: SparkSession
    stream: str
    time: str
    timing: Timing
    lookups: Lookups
    queries: Callable[[], Sequence[BoundQuery]]  # those that are registered at this moment
    bind: Bind
    most: int  # shards that the driver holds; grids with more stay with the executors
    cost: Cost = field(default_factory=Cost)
    fragments: bool = False  # are cells that no query tells apart one shard?


class Planner:
    """Makes the epochs of one stream, each from the one before."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.rates = Rates()
        self.quarantine: dict[str, str] = {}  # queries that brought a batch down, by their text

    def plan(self, epoch: Epoch, before: Marks, df: DataFrame | None, state: State) -> Epoch:
        """The epoch of a batch: this one again if nothing has changed."""
        registered = self._job.queries()
        # Whoever was removed may be added again, mended or not.
        for name in self.quarantine.keys() - {q.name for q in registered}:
            del self.quarantine[name]
        wanted = [q for q in registered if self.quarantine.get(q.name) != q.query.text]
        if df is not None and before.latest == NEVER and have_different_edges(wanted):
            self.rates.load = self._first_look(df, wanted)
        planned = self._next(epoch, wanted, before)
        if planned is epoch and (load := self.rates.changed()) is not None:
            self.rates.load = load
            planned = self._told_apart(epoch, epoch.rewoven(before.latest, self._weighing))
        if planned.forest is None or planned is not epoch or len(state) <= self._job.most:
            return planned
        near = {
            grid: count
            for grid, count in shards_in(state.table, planned.forest).items()
            if grid.keys and grid.number not in planned.far
        }
        return planned.moved_away(too_large(near, self._job.most // 2))

    def without(
        self, epoch: Epoch, planned: Epoch, culprits: Iterable[BoundQuery], before: Marks
    ) -> Epoch:
        """The epoch after `epoch`, with the queries of a planned one that did not fail."""
        failed = {query.name: query.query.text for query in culprits}
        self.quarantine |= failed
        rest = [q for q in planned.queries if q.name not in failed]
        return self._next(epoch, rest, before)

    def _next(self, epoch: Epoch, queries: Sequence[BoundQuery], before: Marks) -> Epoch:
        floors = epoch.floors(self._job.timing, before)
        found = epoch.next(self._job.stream, queries, before.latest, floors, self._weighing)
        return self._told_apart(epoch, found)

    def _told_apart(self, epoch: Epoch, found: Epoch) -> Epoch:
        """Without ages if cells that nobody tells apart are one shard: it answers no newcomer."""
        if not self._job.fragments or not found.ages:
            return found
        return replace(found, number=found.number + (found is epoch), ages={})

    @property
    def _weighing(self) -> Weighing:
        return Weighing(self._job.cost, self.rates.load)

    def _first_look(self, df: DataFrame, queries: Sequence[BoundQuery]) -> Load:
        """What the first rows tell."""
        job = self._job

        def count() -> Load:
            return rows_and_span(df, job.time)[0]

        return weighed(job.stream, queries, df, job.time, job.lookups, job.cost, count)
