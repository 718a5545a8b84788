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
    """What was made of the rows of a micro-batch, before its log entry is written."""

    table: pa.Table  # shards or sketches: what the log keeps
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])  # for the entry, as JSON
    rows: int = 0
    late: int = 0  # rows before the watermark
    timeless: int = 0  # rows without a time, which are in no window
    ahead: int = 0  # rows too far in the future, which are in no window
    latest: int = NEVER  # the latest event time of the rows


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers that follow from a log entry."""

    answers: Mapping[str, Answer]  # by query
    failed: Mapping[str, GinghamError]  # why queries have no answer
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])  # by query
    done: Mapping[str, Any] = field(default_factory=dict[str, Any])  # for `Work.resume`, as JSON


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is still needed after a log entry: the content of a snapshot."""

    table: pa.Table
    details: Mapping[str, Any]  # in place of those of the entry, as JSON
    epochs: Collection[int]  # the plans that the table was made by


class Work(Protocol):
    """One kind of queries that the loop over micro-batches runs: exact ones, or estimates.

    The loop calls `compute`, writes the log entry, and calls `take`, `answer` and `forget`; from
    time to time `snapshot` and `snapshot_written`. After a restart it calls `open`, then `restore`
    for the newest snapshot and every entry after it, with `answer` where an entry was not finished
    and `resume` where it was, and `check_restored` before the first answer.
    """

    @property
    def queries(self) -> Collection[str]:
        """The names of the queries that are answered under the current plan."""
        ...

    @property
    def registered(self) -> Collection[str]:
        """The names of the queries that are registered at this moment."""
        ...

    @property
    def epoch(self) -> int:
        """The number of the epoch (plan) of the last micro-batch."""
        ...

    @property
    def size(self) -> int:
        """The size of the stream's state in memory: shards, or words of sketches."""
        ...

    def delay(self, stream: str) -> int:
        """How late a row of a stream may come after the latest one, in microseconds."""
        ...

    def compute(
        self,
        stream: str,
        rows: DataFrame | None,
        last: Entry,
        watch: Stopwatch,
        watermark: int | None = None,
    ) -> Computed:
        """Plan a micro-batch, and run its Spark job; without rows time passes up to `watermark`.

        Whatever the log must know before the entry is written here, too.
        """
        ...

    def take(self, entry: Entry, table: pa.Table) -> None:
        """Add what was computed from the micro-batch just now to the state."""
        ...

    def answer(self, before: Entry, entry: Entry) -> Answered:
        """Answer the windows that a log entry closes."""
        ...

    def forget(self, entry: Entry) -> None:
        """Drop state that no window needs after a log entry."""
        ...

    def snapshot(self, entry: Entry) -> Snapshot:
        """Gather the state that is needed after a log entry, for a snapshot."""
        ...

    def snapshot_written(self, snapshot: Snapshot) -> None:
        """Delete what the snapshot, which is written now, replaces."""
        ...

    def open(self) -> None:
        """Read the plans from the log that are needed before its entries are restored."""
        ...

    def restore(self, entry: Entry, table: pa.Table, *, is_snapshot: bool) -> None:
        """Add the table of a log entry or snapshot to the state after a restart."""
        ...

    def check_restored(self) -> None:
        """Raise if something that was restored, and is not in the log itself, is damaged."""
        ...

    def resume(self, entry: Entry, done: Mapping[str, Any]) -> None:
        """Go on after a log entry whose answers were delivered before the restart."""
        ...

    def removed(self) -> Collection[str]:
        """The queries that were removed since this was asked last."""
        ...

    def set_aside(self) -> Mapping[str, GinghamError]:
        """The queries that brought a micro-batch down since this was asked last, and why."""
        ...

    def matched(self) -> Mapping[str, int]:
        """How many rows met the condition of each query, where that is counted."""
        ...
