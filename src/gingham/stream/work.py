"""What a loop does with the rows of a batch: exact queries and estimates plug in here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.core.errors import GinghamError
from gingham.core.stopwatch import Stopwatch
from gingham.core.time import NEVER
from gingham.sinks.answer import Answer
from gingham.stream.entry import Entry


@dataclass(frozen=True, slots=True)
class Computed:
    """What was made of the rows of a batch, before anything follows from it."""

    table: pa.Table  # shards or sketches: what the log keeps
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])  # for the entry, as JSON
    rows: int = 0
    late: int = 0  # rows before the watermark
    timeless: int = 0  # rows without a time, which are in no window
    latest: int = NEVER  # the latest event time of the rows


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers that follow from an entry."""

    answers: Mapping[str, Answer]  # by query
    failed: Mapping[str, GinghamError]  # why queries have no answer
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])  # by query
    done: Mapping[str, Any] = field(default_factory=dict[str, Any])  # for `Work.resume`, as JSON


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is still needed after an entry."""

    table: pa.Table
    details: Mapping[str, Any]  # in place of those of the entry, as JSON
    epochs: Collection[int]  # the plans that the table was made by


class Work(Protocol):
    """One kind of queries over micro-batches.

    The loop calls `compute`, writes the log entry, and calls `take`, `answer` and `forget`; from
    time to time `snapshot` and `snapshot_written`. After a restart it calls `open`, then `restore`
    for the newest snapshot and every entry after it, with `answer` where an entry was not finished
    and `resume` where it was.
    """

    @property
    def queries(self) -> Collection[str]:
        """The names of the queries that are answered."""
        ...

    @property
    def registered(self) -> Collection[str]:
        """The names of the queries that are wanted at this moment."""
        ...

    @property
    def epoch(self) -> int:
        """The number of the plan of the last batch."""
        ...

    @property
    def size(self) -> int:
        """How many rows of shards or sketches are in memory."""
        ...

    def delay(self, stream: str) -> int:
        """How much later than the latest row a row of a stream may come, in microseconds."""
        ...

    def compute(
        self, stream: str, rows: DataFrame | None, last: Entry, watch: Stopwatch
    ) -> Computed:
        """Plan, and run the Spark job of a batch; without rows only time passes.

        Whatever the log must know before the entry is written here, too.
        """
        ...

    def take(self, entry: Entry, table: pa.Table) -> None:
        """Add the table of the batch that was computed just now to the state."""
        ...

    def answer(self, before: Entry, entry: Entry) -> Answered:
        """Answer the windows that an entry closes."""
        ...

    def forget(self, entry: Entry) -> None:
        """Drop state that no window needs after an entry."""
        ...

    def snapshot(self, entry: Entry) -> Snapshot:
        """Gather what is needed after an entry, for a snapshot."""
        ...

    def snapshot_written(self, snapshot: Snapshot) -> None:
        """Delete what the snapshot, which is written now, replaces."""
        ...

    def open(self) -> None:
        """Read plans from the log that are needed before entries are restored."""
        ...

    def restore(self, entry: Entry, table: pa.Table, *, is_snapshot: bool) -> None:
        """Add a table of the log to the state."""
        ...

    def resume(self, entry: Entry, done: Mapping[str, Any]) -> None:
        """Go on after an entry whose answers were delivered in an earlier life."""
        ...

    def removed(self) -> Collection[str]:
        """Queries that were removed since this was asked last."""
        ...

    def set_aside(self) -> Mapping[str, GinghamError]:
        """Queries that brought a batch down since this was asked last, and why."""
        ...

    def matched(self) -> Mapping[str, int]:
        """How many rows met the condition of each query, where that is counted."""
        ...
