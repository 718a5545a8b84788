"""Rows of a stream get their positions when the watermark has passed them: then their order stays.

A row that comes later than that has no position: it is late for all windows of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from gingham.finals.row_counts import KeyCounts
from gingham.logical.window import Clock
from gingham.spark.event_time import bounded_micros_sql, micros_sql
from gingham.spark.positions import NumberedRows, number_rows
from gingham.stream.clock import Marks
from gingham.stream.executor_shards import ExecutorFolder
from gingham.stream.held_rows import HeldRows
from gingham.stream.row_clocks import NewRows, RowClocks

_CLOCKS, _HELD = "clocks", "held"  # of the details of a log entry


class NumberedBatch(NamedTuple):
    """The rows that a batch numbers by one clock: how many of each key, after how many others."""

    rows: DataFrame
    before: KeyCounts
    new: KeyCounts
    release: Callable[[], object]

    @property
    def after(self) -> KeyCounts:
        """How many rows are numbered now, of the keys that have new ones."""
        keys, size = self.new.keys, len(self.new)
        return KeyCounts(keys, self.before.of(keys, size) + self.new.counts)


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """The rows that a batch lets the watermark pass."""

    rows: DataFrame
    release: Callable[[], object]
    folder: ExecutorFolder  # of the rows that wait on


class Numbering:
    """Holds rows of a stream back until the watermark passes them, and numbers them by clocks."""

    def __init__(self, time: str, held: HeldRows) -> None:
        self._time = time
        self._held = held
        self.clocks = RowClocks()

    def released(
        self, rows: DataFrame | None, before: Marks, after: Marks, last_instant: int, number: int
    ) -> ReleasedRows | None:
        """The rows of a batch, and of those before it, that the watermark passes; others wait.

        Rows before the watermark are late, and rows after `last_instant` are too far ahead. The
        folder of those that wait gets the number of the log entry that will name it.
        """
        held, time = self._held.rows, self._time
        parts = [] if held is None else [held]
        if rows is not None:
            instant = bounded_micros_sql(rows, time, last_instant)
            parts.append(rows.where(f"{instant} >= {before.watermark}L"))
        if not parts:
            return None
        waiting = parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])
        waiting = waiting.persist(StorageLevel.MEMORY_AND_DISK)
        is_passed = f"{micros_sql(waiting, time)} < {after.watermark}L"
        try:
            folder = self._held.write(number, waiting.where(f"NOT ({is_passed})"))
        except BaseException:
            waiting.unpersist()
            raise
        return ReleasedRows(waiting.where(is_passed), waiting.unpersist, folder)

    def numbered(
        self, released: DataFrame, clock: Clock, columns: Sequence[str], *, few_rows: bool
    ) -> NumberedBatch:
        """Number rows by a clock, after those that it has numbered; keep only these columns."""
        rows: NumberedRows = number_rows(released, self._time, clock, columns, few_rows=few_rows)
        before = self.clocks.numbered(clock)
        new = KeyCounts.from_table(rows.counts(clock))
        going_on = rows.going_on(clock, before.table())
        return NumberedBatch(going_on, before, new.where(new.counts > 0), rows.release)

    def details(self, released: ReleasedRows | None, new: Sequence[NewRows]) -> dict[str, Any]:
        """What a log entry says of rows that were numbered, and of those that wait."""
        held = None if released is None else released.folder.to_json()
        return {_CLOCKS: [rows.to_json() for rows in new], _HELD: held}

    def take(self, details: Mapping[str, Any], *, restored: bool = False) -> None:
        """Go on after a log entry; raise if it was `restored` and lacks rows that wait."""
        self.clocks.add(map(NewRows.from_json, details.get(_CLOCKS, ())))
        folder = held_folder(details)
        if restored:
            self._held.restore(folder)
        else:
            self._held.folder = folder

    def check_restored(self) -> None:
        """Raise if rows that wait after a restart cannot be read."""
        self._held.check()

    def snapshot(self) -> dict[str, Any]:
        """What the details of a snapshot have in place of those of its entry."""
        return {_CLOCKS: self.clocks.to_json()}

    def snapshot_written(self) -> None:
        """Delete folders of rows that have been numbered since."""
        self._held.keep_last()


def held_folder(details: Mapping[str, Any]) -> ExecutorFolder | None:
    """The folder of rows that wait after a log entry, from its details."""
    found = details.get(_HELD)
    return None if found is None else ExecutorFolder(**found)
