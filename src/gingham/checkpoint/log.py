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
    """A table of the log, its number, and what else was written with it."""

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
        """Write a plan, before the first entry that was made by it; an older one is replaced."""
        _write(self._epochs, number, pa.table({}) if table is None else table, about)

    def epoch(self, number: int) -> Logged:
        """Read the plan that made an entry."""
        return _read(self._epochs, _table_name(number))

    def epochs(self) -> Iterator[Logged]:
        """Read all plans, oldest first."""
        return (_read(self._epochs, name) for name in self._epochs.names())

    def append(self, number: int, about: Json, table: pa.Table) -> None:
        """Write an entry: from now on the batch has happened."""
        _write(self._entries, number, table, about)

    def finish(self, number: int, about: Json) -> None:
        """Write that all answers of an entry are delivered, or saved to be delivered later."""
        write_json(self._done, f"{_padded(number)}.json", dict(about))

    def finished(self, number: int) -> dict[str, Any] | None:
        """Read what `finish` wrote about an entry; None if it is not finished."""
        name = f"{_padded(number)}.json"
        return read_json(self._done, name) if self._done.exists(name) else None

    def entries(self, after: int) -> Iterator[Logged]:
        """Read the entries with higher numbers, oldest first."""
        names = (name for name in self._entries.names() if _number_of(name) > after)
        return (_read(self._entries, name) for name in names)

    def snapshot(self, number: int, about: Json, table: pa.Table, epochs: Collection[int]) -> None:
        """Write all that is needed after an entry as one file, and delete what is older.

        Of the plans up to the newest of `epochs`, only those in `epochs` stay.
        """
        _write(self._snapshots, number, table, about)
        for files in (self._snapshots, self._entries, self._done):
            for name in files.names():
                if _number_of(name) < number:
                    files.delete(name)
        for name in self._epochs.names():
            if _number_of(name) < max(epochs, default=0) and _number_of(name) not in epochs:
                self._epochs.delete(name)

    def newest_snapshot(self) -> Logged | None:
        """Read the last snapshot; None if there is none yet."""
        names = self._snapshots.names()
        return _read(self._snapshots, names[-1]) if names else None


def _write(files: Files, number: int, table: pa.Table, about: Json) -> None:
    write_table(files, _table_name(number), table, dict(about))


def _read(files: Files, name: str) -> Logged:
    table, about = read_table(files, name)
    return Logged(_number_of(name), about, table)


def _padded(number: int) -> str:
    """A number as a file name, so that names sort as the numbers do.

    >>> _padded(340)
    '000000000340'
    """
    return f"{number:012d}"


def _table_name(number: int) -> str:
    return f"{_padded(number)}.arrow"


def _number_of(name: str) -> int:
    return int(name.partition(".")[0])
