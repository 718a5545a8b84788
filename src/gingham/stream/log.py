"""The log of a stream: one entry per batch, written before anything follows from it.

    epochs/12.json      queries, when they were born, what shards mean
    log/340.arrow       a batch: its shards, its epoch, how far time has come
    done/340            its answers are delivered
    snapshot/336.arrow  all shards that were needed after batch 336; entries up to it are gone
    far/340/            shards of batch 340 that are too many for the driver; the entry names them

Once an entry is there, the batch has happened: whatever is killed later, its answers are computed
from the entry and delivered under its number. Without an entry, it has not happened at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from gingham.checkpoint.files import Files
from gingham.checkpoint.numbered import newest_table, number_of, padded, table_name, tables_after
from gingham.checkpoint.seal import read_json, write_json, write_table
from gingham.stream.clock import Marks
from gingham.stream.epoch import Epoch, StoredEpoch


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch: Spark's number for it (none if only time passed), its epoch, what it moved."""

    number: int
    batch: int
    epoch: int
    before: Marks
    after: Marks
    rows: int = 0
    late: int = 0
    timeless: int = 0
    backfilled: tuple[str, ...] = ()  # queries that it answers for the time before, too
    far: tuple[str, ...] = ()  # folders of shards that stay with the executors

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Entry:
        parts: dict[str, Any] = {name: Marks(**found[name]) for name in ("before", "after")}
        parts |= {name: tuple(found[name]) for name in ("backfilled", "far")}
        return cls(**(found | parts))


START = Entry(-1, -1, -1, Marks(), Marks())


class Log:
    """Entries, epochs and snapshots in a checkpoint."""

    def __init__(self, files: Files) -> None:
        self._entries = files.within("log")
        self._done = files.within("done")
        self._epochs = files.within("epochs")
        self._snapshots = files.within("snapshot")

    def write_epoch(self, epoch: Epoch) -> None:
        write_json(self._epochs, f"{epoch.number}.json", epoch.to_json())

    def epoch(self, number: int) -> StoredEpoch:
        return StoredEpoch.from_json(read_json(self._epochs, f"{number}.json"))

    def append(self, entry: Entry, shards: pa.Table) -> None:
        write_table(self._entries, table_name(entry.number), shards, entry.to_json())

    def finish(self, entry: Entry) -> None:
        """All answers of a batch are delivered, or kept to be delivered later."""
        self._done.write(padded(entry.number), b"")

    def is_finished(self, entry: Entry) -> bool:
        return self._done.exists(padded(entry.number))

    def snapshot(self, entry: Entry, shards: pa.Table) -> None:
        """Keep what is needed after an entry in one file, and forget what is older."""
        write_table(self._snapshots, table_name(entry.number), shards, entry.to_json())
        for files in (self._snapshots, self._entries, self._done):
            for name in files.names():
                # The entry itself stays: it may be what a restart has to go on with.
                if number_of(name) < entry.number:
                    files.delete(name)
        for name in self._epochs.names():
            if number_of(name) < entry.epoch:
                self._epochs.delete(name)

    def newest_snapshot(self) -> tuple[Entry, pa.Table] | None:
        found = newest_table(self._snapshots)
        return (Entry.from_json(found[1]), found[0]) if found else None

    def entries(self, after: int) -> Iterator[tuple[Entry, pa.Table]]:
        """The entries after this number, oldest first."""
        for table, about in tables_after(self._entries, after):
            yield Entry.from_json(about), table
