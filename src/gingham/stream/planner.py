"""Plans for the batches of a stream: which queries are answered, in which trees and grids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from gingham.core.errors import GinghamError
from gingham.core.time import NEVER
from gingham.finals.shards import shards_in
from gingham.optimizer import optimize
from gingham.optimizer.choose_ways import Way
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import Plan
from gingham.plan.row_statistics import RowStatistics
from gingham.session.measure_statistics import is_worth_a_look, measure_statistics
from gingham.spark.lookup_tables import LookupTables
from gingham.spark.measure_rows import count_rows
from gingham.spark.shared_run import grids_for_executors
from gingham.stream.clock import Marks, Timing
from gingham.stream.epoch import Epoch, Optimizer
from gingham.stream.growing_records import GrowingRecords, StreamRecords
from gingham.stream.quarantine import Quarantine
from gingham.stream.rates import Rates
from gingham.stream.settings import StreamSettings
from gingham.stream.state import State

Bind = Callable[[str, str], BoundQuery]


@dataclass(frozen=True)
class Job:
    """Everything that exact queries over one stream need to be planned and answered."""

    spark: SparkSession
    stream: str
    time: str
    timing: Timing
    lookups: LookupTables
    queries: Callable[[], Sequence[BoundQuery]]  # those that are registered at this moment
    bind: Bind
    most_on_driver: int  # shards; grids with more stay with the executors
    cost: Cost = field(default_factory=Cost)
    fold_cells: bool = False  # are cells that no query tells apart one shard?
    send_records: StreamRecords = False  # are these reduced to records? only if they are folded
    optimize: Callable[..., Plan] = optimize
    way: Way = "auto"  # how new queries are shared
    # Registered queries that Spark refuses now, and why: they have no answers, but are not removed.
    unbound: Callable[[], Mapping[str, GinghamError]] = dict


class Planner:
    """Makes a new epoch when queries come, go or fail, or when the rate of the stream changes."""

    def __init__(self, job: Job, settings: StreamSettings) -> None:
        self._job = job
        self.rates = Rates(settings.rate_batches, settings.rate_tolerance)
        self.quarantine = Quarantine()
        self._records = GrowingRecords(job.send_records)

    def plan(self, epoch: Epoch, before: Marks, df: DataFrame | None, state: State) -> Epoch:
        """Plan the epoch of a micro-batch; gives the epoch before if nothing has changed."""
        return self._records.chosen(self._planned(epoch, before, df, state), epoch)

    def _planned(self, epoch: Epoch, before: Marks, df: DataFrame | None, state: State) -> Epoch:
        """Plan the queries of a micro-batch, and where shards of each grid are kept."""
        wanted = self._job.queries()
        if df is not None and before.latest == NEVER and is_worth_a_look(wanted):
            self.rates.statistics = self._first_look(df, wanted)
        planned = self._next(epoch, wanted, before)
        if planned is epoch and (statistics := self.rates.changed()) is not None:
            self.rates.statistics = statistics
            planned = self._without_ages(epoch, epoch.rewoven(before.latest, self._optimizer))
        if planned.forest is None or planned is not epoch or len(state) <= self._job.most_on_driver:
            return planned
        on_driver = {
            grid: count
            for grid, count in shards_in(state.table, state.codebook).items()
            if grid.keys and grid.number not in planned.on_executors
        }
        return planned.moved_to_executors(
            grids_for_executors(on_driver, self._job.most_on_driver // 2)
        )

    def only(self, planned: Epoch, queries: Sequence[BoundQuery], before: Marks) -> Epoch:
        """Plan a batch with some of the queries of an epoch, in the same trees and grids."""
        if len(queries) == len(planned.queries):
            return planned
        return self._next(planned, queries, before)

    def _next(self, epoch: Epoch, queries: Sequence[BoundQuery], before: Marks) -> Epoch:
        """The epoch that follows for these queries, with the ages that backfill may use."""
        floors = epoch.floors(self._job.timing, before)
        found = epoch.next(self._job.stream, queries, before.latest, floors, self._optimizer)
        return self._without_ages(epoch, found)

    def _without_ages(self, epoch: Epoch, found: Epoch) -> Epoch:
        """Drop backfill ages when cells are folded: folded shards cannot serve later queries."""
        if not self._job.fold_cells or not found.ages:
            return found
        return replace(found, number=found.number + (found is epoch), ages={})

    @property
    def _optimizer(self) -> Optimizer:
        """What the next epoch is planned with: costs, row statistics and the rules."""
        job = self._job
        return Optimizer(job.cost, self.rates.statistics, job.optimize, job.way)

    def _first_look(self, df: DataFrame, queries: Sequence[BoundQuery]) -> RowStatistics:
        """Measure the rows of the first micro-batch: how many, over how much time, how spread."""
        job = self._job

        def count() -> RowStatistics:
            """Count the rows of the first micro-batch."""
            return count_rows(df, job.time)[0]

        return measure_statistics(job.stream, queries, df, job.time, job.lookups, job.cost, count)
