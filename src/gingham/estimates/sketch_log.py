"""The log of streams that are joined: one entry per batch of any of them.

    epochs/3.json       queries, weights, the first window that is theirs, who raised
    tables/3.arrow      sketches of the tables that the queries of epoch 3 join
    log/340.arrow       a batch: its sketches, of which stream it is, how far time has come
    answered/340.json   up to where windows are answered, by query
    snapshot/336.arrow  all sketches that were needed after entry 336, and from when on they are
                        complete; entries up to it are gone

Once an entry is there, the batch has happened: whatever is killed later, its answers are computed
from the entry and delivered under its number. Without an entry, it has not happened at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from gingham.checkpoint.files import Files
from gingham.checkpoint.numbered import newest_table, number_of, padded, table_name, tables_after
from gingham.checkpoint.seal import read_json, read_table, write_json, write_table
from gingham.stream.clock import Marks

_FLOORS = "floors"


@dataclass(frozen=True, slots=True)
class SketchEntry:
    """Entry `number`: the last batch of each stream, and how far each has come."""

    number: int = -1
    batches: Mapping[str, int] = field(default_factory=dict[str, int])
    marks: Mapping[str, Marks] = field(default_factory=dict[str, Marks])

    def next(self, stream: str, batch: int, marks: Marks) -> SketchEntry:
        """After one more batch of a stream."""
        return SketchEntry(
            self.number + 1,
            {**self.batches, stream: batch},
            {**self.marks, stream: marks},
        )

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> SketchEntry:
        marks = {stream: Marks(**its) for stream, its in found["marks"].items()}
        return cls(found["number"], found["batches"], marks)


@dataclass(frozen=True, slots=True)
class StoredEpoch:
    """What an epoch was planned from; `since` is where its first windows may start.

    `adopted` are queries that came later and read its sketches: their text, and where the first
    of their windows may end. `raised` are queries that it went on without, and why.
    """

    number: int
    since: int
    queries: Mapping[str, str]
    weights: Mapping[str, float]
    fingerprint: str
    adopted: Mapping[str, tuple[str, int]]
    raised: Mapping[str, tuple[str, str, str]]


class SketchLog:
    """Entries, epochs and snapshots in a checkpoint."""

    def __init__(self, files: Files) -> None:
        self._epochs = files.within("epochs")
        self._tables = files.within("tables")
        self._entries = files.within("log")
        self._answered = files.within("answered")
        self._snapshots = files.within("snapshot")

    def write_epoch(self, epoch: StoredEpoch, tables: pa.Table) -> None:
        """The tables first: an epoch that is there is complete."""
        write_table(self._tables, table_name(epoch.number), tables, {})
        write_json(self._epochs, f"{padded(epoch.number)}.json", asdict(epoch))

    def epochs(self) -> Iterator[tuple[StoredEpoch, pa.Table]]:
        """All epochs, oldest first, each with the sketches of its tables."""
        for name in self._epochs.names():
            stored = StoredEpoch(**read_json(self._epochs, name))
            yield stored, read_table(self._tables, table_name(stored.number))[0]

    def forget_epoch(self, number: int) -> None:
        self._epochs.delete(f"{padded(number)}.json")
        self._tables.delete(table_name(number))

    def append(self, entry: SketchEntry, sketches: pa.Table) -> None:
        write_table(self._entries, table_name(entry.number), sketches, asdict(entry))

    def answer(self, entry: SketchEntry, closed: Mapping[str, int]) -> None:
        """All answers that follow from an entry are delivered, or kept to be delivered later."""
        write_json(self._answered, f"{padded(entry.number)}.json", dict(closed))

    def closed(self) -> tuple[int, dict[str, int]]:
        """The last entry whose answers are delivered, and where windows are answered up to."""
        found = self._answered.names()
        return (number_of(found[-1]), read_json(self._answered, found[-1])) if found else (-1, {})

    def snapshot(self, entry: SketchEntry, sketches: pa.Table, floors: Mapping[int, int]) -> None:
        """Keep what is needed after an entry in one file, and forget what is older.

        `floors` has for each epoch where its first slice may begin that is kept.
        """
        about = {**asdict(entry), _FLOORS: [list(pair) for pair in floors.items()]}
        write_table(self._snapshots, table_name(entry.number), sketches, about)
        for files in (self._snapshots, self._answered):
            for name in files.names():
                if number_of(name) < entry.number:
                    files.delete(name)
        for name in self._entries.names():
            if number_of(name) <= entry.number:
                self._entries.delete(name)

    def newest_snapshot(self) -> tuple[SketchEntry, pa.Table, dict[int, int]] | None:
        """After which entry, the sketches, and where those of each epoch begin."""
        found = newest_table(self._snapshots)
        if found is None:
            return None
        table, about = found
        return SketchEntry.from_json(about), table, dict(about[_FLOORS])

    def entries(self, after: int) -> Iterator[tuple[SketchEntry, pa.Table]]:
        """The entries after this number, oldest first."""
        for table, about in tables_after(self._entries, after):
            yield SketchEntry.from_json(about), table
