"""The log of a stream, or of streams that are joined: one entry per micro-batch.

    epochs/12.arrow     a plan: its queries, and what the tables of its entries mean
    log/340.arrow       an entry: what was computed from a batch, and how far time has come
    done/340.json       the answers of entry 340 are delivered, or saved to be delivered later
    snapshot/336.arrow  everything that was still needed after entry 336; older entries are gone

An entry is written before anything follows from it. Once it is there, the batch has happened:
whatever is killed later, the answers are computed from the entry and delivered under its number.
Without an entry, the batch has not happened, and is read again from the source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_json, read_table, write_json, write_table

Json = Mapping[str, Any]


class Logged(NamedTuple):
    """An entry, epoch or snapshot as read from the log: its number, its table and its JSON."""

    number: int
    about: dict[str, Any]
    table: pa.Table


class Log:
    """Numbered entries, epochs and snapshots in a folder of a checkpoint."""

    def __init__(self, files: Files) -> None:
        self._epochs = files.within("epochs")
        self._entries = files.within("log")
        self._done = files.within("done")
        self._snapshots = files.within("snapshot")

    def write_epoch(self, number: int, about: Json, table: pa.Table | None = None) -> None:
        """Write an epoch's plan to the log, before the first entry that was made by it."""
        _write_numbered(self._epochs, number, pa.table({}) if table is None else table, about)

    def epoch(self, number: int) -> Logged:
        """Read the epoch (the plan that made an entry) of this number from the log."""
        return _read_numbered(self._epochs, _table_name(number))

    def epochs(self) -> Iterator[Logged]:
        """Read all epochs (plans that made entries) from the log, oldest first."""
        return (_read_numbered(self._epochs, name) for name in self._epochs.names())

    def append(self, number: int, about: Json, table: pa.Table) -> None:
        """Write a log entry: from now on the micro-batch has happened."""
        _write_numbered(self._entries, number, table, about)

    def finish(self, number: int, about: Json) -> None:
        """Write to the log that all answers of an entry are delivered, or saved for later."""
        write_json(self._done, f"{_padded(number)}.json", dict(about))

    def finished(self, number: int) -> dict[str, Any] | None:
        """Read what `finish` wrote about a log entry; None if it is not finished."""
        name = f"{_padded(number)}.json"
        return read_json(self._done, name) if self._done.exists(name) else None

    def entries(self, after: int) -> Iterator[Logged]:
        """Read the log entries with numbers higher than `after`, oldest first."""
        names = (name for name in self._entries.names() if _number_of(name) > after)
        return (_read_numbered(self._entries, name) for name in names)

    def snapshot(self, number: int, about: Json, table: pa.Table, epochs: Collection[int]) -> None:
        """Write all that is needed after a log entry as one file, and delete older entries.

        Of the plans up to the newest of `epochs`, only those in `epochs` stay.
        """
        _write_numbered(self._snapshots, number, table, about)
        for files in (self._snapshots, self._entries, self._done):
            for name in files.names():
                if _number_of(name) < number:
                    files.delete(name)
        for name in self._epochs.names():
            if _number_of(name) < max(epochs, default=0) and _number_of(name) not in epochs:
                self._epochs.delete(name)

    def newest_snapshot(self) -> Logged | None:
        """Read the last snapshot of the log; None if there is none yet."""
        names = self._snapshots.names()
        return _read_numbered(self._snapshots, names[-1]) if names else None


def _write_numbered(files: Files, number: int, table: pa.Table, about: Json) -> None:
    """Write a numbered entry, epoch or snapshot as a sealed file of the log."""
    write_table(files, _table_name(number), table, dict(about))


def _read_numbered(files: Files, name: str) -> Logged:
    """Read a numbered entry, epoch or snapshot from its sealed file of the log."""
    table, about = read_table(files, name)
    return Logged(_number_of(name), about, table)


def _padded(number: int) -> str:
    """The number of a log entry as a file name, so that names sort as the numbers do.

    >>> _padded(340)
    '000000000340'
    """
    return f"{number:012d}"


def _table_name(number: int) -> str:
    """The file name of the log entry, epoch or snapshot with this number."""
    return f"{_padded(number)}.arrow"


def _number_of(name: str) -> int:
    """The number of the log entry, epoch or snapshot in a file of this name."""
    return int(name.partition(".")[0])
