"""How far the positions of rows have come: for each clock by rows, how many are numbered by key."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from gingham.finals.row_counts import KeyCounts, RowFloors, RowsDue, first_open_start
from gingham.logical.window import Clock
from gingham.plan.bound import BoundQuery
from gingham.spark.packed_tables import packed

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewRows:
    """What a batch adds to a clock: how many rows of each key, and from where on queries count.

    `born` has, by query, the position from which on windows of a key may start: for a query that
    was added to rows that are numbered already, or that has not seen the rows of the batch.
    """

    clock: Clock
    rows: KeyCounts
    born: Mapping[str, KeyCounts] = field(default_factory=dict[str, KeyCounts])

    def to_json(self) -> dict[str, Any]:
        """As JSON for the log."""
        born = {name: _to_text(counts) for name, counts in self.born.items()}
        return {"per": list(self.clock.per), "rows": _to_text(self.rows), "born": born}

    @classmethod
    def from_json(cls, found: Json) -> NewRows:
        """From the JSON that `to_json` gave."""
        born = {name: _from_text(text) for name, text in found["born"].items()}
        clock = Clock(by_rows=True, per=tuple(found["per"]))
        return cls(clock, _from_text(found["rows"]), born)


@dataclass(frozen=True, slots=True)
class _Counted:
    """How far one clock has come: before the last batch, by what was new in it, and births."""

    before: KeyCounts = field(default_factory=KeyCounts)
    new: KeyCounts = field(default_factory=KeyCounts)
    born: Mapping[str, KeyCounts] = field(default_factory=dict[str, KeyCounts])

    @property
    def numbered(self) -> KeyCounts:
        """How many rows of each key are numbered."""
        return self.before.plus(self.new)


class RowClocks:
    """The clocks by rows of a stream; one is forgotten with its last query."""

    def __init__(self) -> None:
        self._clocks: dict[Clock, _Counted] = {}

    def __contains__(self, clock: object) -> bool:
        return clock in self._clocks

    def numbered(self, clock: Clock) -> KeyCounts:
        """How many rows of each key are numbered by a clock."""
        return self._clocks.get(clock, _Counted()).numbered

    def add(self, batch: Iterable[NewRows]) -> None:
        """Go on with what a log entry says of each clock; others are gone."""
        clocks: dict[Clock, _Counted] = {}
        for new in batch:
            counted = self._clocks.get(new.clock, _Counted())
            born = dict(counted.born)
            for name, counts in new.born.items():
                born[name] = born.get(name, KeyCounts()).largest(counts)
            clocks[new.clock] = _Counted(counted.numbered, new.rows, born)
        self._clocks = clocks

    def due(self, query: BoundQuery, *, early: bool) -> RowsDue | None:
        """Which windows of a query the last batch has made due; None if it numbered no row."""
        counted = self._clocks.get(query.window.clock, _Counted())
        if not len(counted.new):
            return None
        keys, size = counted.new.keys, len(counted.new)
        before = counted.before.of(keys, size)
        return RowsDue(
            before=KeyCounts(keys, before),
            after=KeyCounts(keys, before + counted.new.counts),
            born=counted.born.get(query.name, KeyCounts()),
            early=early,
        )

    def floors(self, clock: Clock, queries: Sequence[BoundQuery]) -> RowFloors:
        """From which position on shards of queries are needed, key by key."""
        windows = tuple(dict.fromkeys(query.window for query in queries))
        return RowFloors(clock.per, self.numbered(clock), windows)

    def forget(self, queries: Collection[BoundQuery]) -> None:
        """Drop births of queries that have left, and those that no open window starts before."""
        for clock, counted in self._clocks.items():
            born: dict[str, KeyCounts] = {}
            for query in queries:
                counts = counted.born.get(query.name)
                if counts is not None and query.window.clock == clock:
                    numbered = counted.numbered.of(counts.keys, len(counts))
                    counts = counts.where(counts.counts > first_open_start(query.window, numbered))
                    if len(counts):
                        born[query.name] = counts
            self._clocks[clock] = replace(counted, born=born)

    def to_json(self) -> list[dict[str, Any]]:
        """How far all clocks have come, for a snapshot: as if all rows were of its entry."""
        return [
            NewRows(clock, counted.numbered, counted.born).to_json()
            for clock, counted in self._clocks.items()
        ]


def _to_text(counts: KeyCounts) -> str:
    """Numbers of keys as text: keys have types that JSON does not know."""
    return base64.b64encode(packed(counts.table())).decode()


def _from_text(text: str) -> KeyCounts:
    """The numbers of keys that `_to_text` has written."""
    return KeyCounts.from_table(pa.ipc.open_stream(base64.b64decode(text)).read_all())
