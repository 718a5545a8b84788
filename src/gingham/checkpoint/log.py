"""The log of a stream, or of streams that are joined: one entry per micro-batch.

    epochs/12-5f3a.arrow  a plan: its queries, and what the tables of its entries mean
    log/340.arrow         an entry: what was computed from a batch, and how far time has come
    done/340.json         the answers of entry 340 are delivered, or saved to be delivered later
    snapshot/336.arrow    everything that was still needed after entry 336; older entries are gone

An entry is written before anything follows from it. Once it is there, the batch has happened:
whatever is killed later, the answers are computed from the entry and delivered under its number.
Without an entry, the batch has not happened, and is read again from the source.

Files of the log are written once, and none can be lost unnoticed. An entry has the hash of the
entry before it, what was done with the answers of that one, and the hashes of the plans that it
needs; a snapshot has the hash of the entry that it stands for. The first entry has the id of the
checkpoint in place of a hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.seal import (
    read_json,
    read_whole,
    sealed_json,
    sealed_table,
    unseal_table,
)
from gingham.core.errors import CheckpointError

Json = Mapping[str, Any]


class Logged(NamedTuple):
    """An entry or snapshot as read from the log: its number, its JSON and its table."""

    number: int
    about: dict[str, Any]
    table: pa.Table
    done: dict[str, Any] | None  # what `finish` wrote about it; None if it is not finished
    is_snapshot: bool


class LoggedEpoch(NamedTuple):
    """An epoch as read from the log: its number, its JSON and its table."""

    number: int
    about: dict[str, Any]
    table: pa.Table


@dataclass(frozen=True, slots=True)
class _Link:
    """An entry or snapshot as its file has it, with what chains it to others."""

    number: int
    hash: str  # of the entry; a snapshot has that of the entry that it stands for
    before: str  # the hash of the entry before; of a snapshot: its entry's own
    epochs: dict[int, str]  # the hashes of the plans that are needed, by their numbers
    done: dict[str, Any] | None  # of the entry before; of a snapshot: of its entry
    about: dict[str, Any]
    table: pa.Table


class Log:
    """Numbered entries, epochs and snapshots in a folder of a checkpoint, chained by hashes."""

    def __init__(self, files: Files, lease: Lease, checkpoint: str = "") -> None:
        self.lease = lease
        self._root = files.root
        self._epochs = files.within("epochs")
        self._entries = files.within("log")
        self._done = files.within("done")
        self._snapshots = files.within("snapshot")
        self._number = -1  # of the last entry,
        self._hash = checkpoint  # its hash,
        self._finished: dict[str, Any] | None = {}  # and what was done with its answers
        self._plans: dict[int, str] = {}  # the hashes of the epochs that entries need now

    def write_epoch(self, number: int, about: Json, table: pa.Table | None = None) -> None:
        """Write an epoch's plan to the log, before the first entry that was made by it."""
        content = sealed_table(pa.table({}) if table is None else table, dict(about))
        self._plans[number] = _hash(content)
        self._epochs.create(_epoch_name(number, self._plans[number]), content)

    def epoch(self, number: int) -> LoggedEpoch:
        """Read the epoch (the plan that made an entry) of this number from the log."""
        name = _epoch_name(number, self._plans[number])
        content = read_whole(self._epochs, name)
        table, about = unseal_table(self._epochs, name, content)
        if _hash(content) != self._plans[number]:
            raise self._broken(f"{name} is another plan than the one that the log names")
        return LoggedEpoch(number, about, table)

    def epochs(self) -> Iterator[LoggedEpoch]:
        """Read all epochs that the newest entry of the log needs, oldest first."""
        newest = self._newest_link()
        self._plans = dict(newest.epochs) if newest is not None else {}
        return (self.epoch(number) for number in sorted(self._plans))

    def read_epochs(self) -> None:
        """Read all epochs that the entry needs that was read last; raise if one is damaged."""
        for number in self._plans:
            self.epoch(number)

    def append(self, number: int, about: Json, table: pa.Table) -> None:
        """Write a log entry: from now on the micro-batch has happened."""
        assert number == self._number + 1
        if self._finished is None:
            raise self._broken(f"entry {self._number} is not finished")
        content = sealed_table(table, self._chained(about, before=self._hash))
        self._create(self._entries, _table_name(number), content)
        self._number, self._hash, self._finished = number, _hash(content), None

    def finish(self, about: Json) -> None:
        """Write to the log that all answers of the last entry are delivered, or saved for later."""
        content = sealed_json({"term": self.lease.term, "entry": self._hash, "done": dict(about)})
        self._create(self._done, _done_name(self._number), content)
        self._finished = dict(about)

    def snapshot(self, about: Json, table: pa.Table, epochs: Collection[int]) -> None:
        """Write all that is needed after the last entry as one file, and delete older entries.

        Of the plans up to the newest of `epochs`, only those in `epochs` stay.
        """
        number, plans = self._number, {n: h for n, h in self._plans.items() if n in epochs}
        self._plans = plans
        content = sealed_table(table, self._chained(about, before=self._hash))
        self._create(self._snapshots, _table_name(number), content)
        for files in (self._snapshots, self._entries, self._done):
            for name in files.names():
                if _number_of(name) < number:
                    files.delete(name)
        wanted = {_epoch_name(n, h) for n, h in plans.items()}
        for name in self._epochs.names():
            if _number_of(name) < max(plans, default=0) and name not in wanted:
                self._epochs.delete(name)

    def recover(self) -> Iterator[Logged]:
        """Read the newest snapshot and all entries after it, oldest first; refuse gaps.

        While an entry is looked at, `epoch` reads the plans that it names. Afterwards the log goes
        on after the last entry.
        """
        links = self._links()
        link = next(links, None)
        snapshot = self._snapshot_number()
        while link is not None:
            following, failure = None, None
            try:
                following = next(links, None)
            except CheckpointError as error:
                failure = error  # after what is whole
            is_snapshot = link.number == snapshot
            # The entry after knows what was done; of the last one only a file of its own tells.
            done = (
                link.done
                if is_snapshot
                else following.done
                if following is not None
                else self._done_of(link)
            )
            self._number, self._hash, self._finished = link.number, link.hash, done
            self._plans = dict(link.epochs)
            yield Logged(link.number, link.about, link.table, done, is_snapshot)
            if failure is not None:
                raise failure
            link = following

    def _links(self) -> Iterator[_Link]:
        """Read snapshot and entries from their files, and check that they are one chain."""
        snapshot, numbers = self._snapshot_number(), self._entry_numbers()
        expected, before = 0, self._hash
        if snapshot is not None:
            link = self._read(self._snapshots, snapshot)
            expected, before = snapshot + 1, link.hash
            yield link
        for number in numbers:
            if number < expected:
                continue  # the snapshot stands for it
            if number > expected:
                raise self._broken(f"entry {expected} is missing, and entry {number} is there")
            link = self._read(self._entries, number)
            if link.before != before or link.number != number:
                raise self._broken(f"entry {number} does not follow the entry before it")
            expected, before = number + 1, link.hash
            yield link
        lost = [n for n in map(_number_of, self._done.names()) if n >= expected]
        if lost:
            raise self._broken(f"entry {lost[-1]} is missing, although its answers are delivered")

    def _newest_link(self) -> _Link | None:
        """Read the last entry or, if there is none after it, the newest snapshot."""
        snapshot, numbers = self._snapshot_number(), self._entry_numbers()
        if numbers and numbers[-1] > (-1 if snapshot is None else snapshot):
            return self._read(self._entries, numbers[-1])
        return None if snapshot is None else self._read(self._snapshots, snapshot)

    def _snapshot_number(self) -> int | None:
        """The number of the newest snapshot; None if there is none yet."""
        names = self._snapshots.names()
        return _number_of(names[-1]) if names else None

    def _entry_numbers(self) -> list[int]:
        """The numbers of all entries, the oldest first."""
        return [_number_of(name) for name in self._entries.names()]

    def _read(self, files: Files, number: int) -> _Link:
        """Read an entry or snapshot of this number from its file."""
        name = _table_name(number)
        content = read_whole(files, name)
        table, chained = unseal_table(files, name, content)
        return _Link(
            number=chained["number"],
            hash=chained["before"] if files is self._snapshots else _hash(content),
            before=chained["before"],
            epochs={int(n): found for n, found in chained["epochs"].items()},
            done=chained["done"],
            about=chained["about"],
            table=table,
        )

    def _done_of(self, link: _Link) -> dict[str, Any] | None:
        """Read what `finish` wrote about the last entry; None if it is not finished."""
        name = _done_name(link.number)
        if not self._done.exists(name):
            return None
        found = read_json(self._done, name)
        if found["entry"] != link.hash:
            raise self._broken(f"{name} is about another entry {link.number}")
        return found["done"]

    def _chained(self, about: Json, before: str) -> dict[str, Any]:
        """The JSON of an entry or snapshot, with what chains it to others."""
        return {
            "number": about["number"],
            "term": self.lease.term,
            "before": before,
            "done": self._finished,
            "epochs": self._plans,
            "about": dict(about),
        }

    def _create(self, files: Files, name: str, content: bytes) -> None:
        """Write a file of the log once; raise if another start has written it, or may do so."""
        self.lease.check()
        # What this start has written already, before an error that came too late, may stay.
        if not files.create(name, content) and read_whole(files, name) != content:
            raise self.lease.lost()

    def _broken(self, why: str) -> CheckpointError:
        """The error of a log that lacks something."""
        return CheckpointError(
            f"the log in {self._root} is not complete",
            why,
            "gingham doctor to see what is left; the checkpoint from a copy, or a new folder",
        )


def _hash(content: bytes) -> str:
    """The hash by which a file of the log is known to others."""
    return hashlib.sha256(content).hexdigest()


def _padded(number: int) -> str:
    """The number of a log entry as a file name, so that names sort as the numbers do.

    >>> _padded(340)
    '000000000340'
    """
    return f"{number:012d}"


def _table_name(number: int) -> str:
    """The file name of the log entry or snapshot with this number."""
    return f"{_padded(number)}.arrow"


def _done_name(number: int) -> str:
    """The name of the file that says that a log entry is finished."""
    return f"{_padded(number)}.json"


def _epoch_name(number: int, found: str) -> str:
    """The file name of an epoch with this number and hash."""
    return f"{_padded(number)}-{found[:16]}.arrow"


def _number_of(name: str) -> int:
    """The number of the log entry, epoch or snapshot in a file of this name.

    >>> _number_of("000000000012-5f3a.arrow")
    12
    """
    return int(name.partition(".")[0].partition("-")[0])
