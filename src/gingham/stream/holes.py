"""Holes: spans of event time of which a query has not seen the rows, because it failed for some.

A query that fails for a batch stays in the plan. Its windows that touch the batch's span of time
have no answer; all others have theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.spark.event_time import micros_sql


class Hole(NamedTuple):
    """A span of event time, in microseconds, from its first row up to its last one."""

    first: int
    last: int


class Holes:
    """The holes of the queries of a stream, by name."""

    def __init__(self) -> None:
        self._of_query: dict[str, tuple[Hole, ...]] = {}

    def add(self, details: Mapping[str, Any]) -> None:
        """Add the holes that the details of a log entry or snapshot name."""
        for name, spans in details["holes"].items():
            found = dict.fromkeys((*self._of_query.get(name, ()), *(Hole(*s) for s in spans)))
            self._of_query[name] = tuple(found)

    def to_json(self) -> dict[str, list[list[int]]]:
        """The holes of all queries, for a snapshot."""
        return {name: [list(hole) for hole in holes] for name, holes in self._of_query.items()}

    def forget(self, floors: Iterable[int]) -> None:
        """Drop holes that lie before all windows that are still to be answered."""
        floor = min(floors, default=None)
        if floor is not None:
            kept = {n: tuple(h for h in hs if h.last >= floor) for n, hs in self._of_query.items()}
            self._of_query = {name: holes for name, holes in kept.items() if holes}

    def outside(self, name: str, slots: pa.Table) -> pa.Table:
        """The answer of a query without windows that touch one of its holes."""
        holes = self._of_query.get(name, ())
        if not holes or not slots.num_rows:
            return slots
        start, end = (
            slots[bound].combine_chunks().view(pa.int64()).to_numpy(zero_copy_only=False)
            for bound in (names.WINDOW_START, names.WINDOW_END)
        )
        touched = np.zeros(len(start), dtype=bool)
        for hole in holes:
            touched |= (start <= hole.last) & (end > hole.first)
        return slots.filter(pa.array(~touched))

    def outside_on_executors(self, name: str, slots: DataFrame) -> DataFrame:
        """The same for an answer that executors compute."""
        start, end = (micros_sql(slots, bound) for bound in (names.WINDOW_START, names.WINDOW_END))
        for hole in self._of_query.get(name, ()):
            slots = slots.where(f"NOT ({start} <= {hole.last}L AND {end} > {hole.first}L)")
        return slots
