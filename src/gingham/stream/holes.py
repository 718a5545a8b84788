"""Holes: spans of event time of which a query has not seen the rows, because it failed for some.

A query that fails for rows of a batch stays in the plan. Its windows that touch the span of time in
which it fails have no answer; all others have theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
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


def narrow(whole: Hole, fails: Callable[[Hole], bool], attempts: int) -> list[Hole]:
    """The parts of a span that fail by themselves, found by halving the widest ones.

    A span whose halves do not fail stays whole: its rows fail only together.

    >>> narrow(Hole(0, 1023), lambda span: span.first <= 700 <= span.last, attempts=15)
    [Hole(first=696, last=703)]
    """
    open_spans, whole_spans = [whole] if fails(whole) else [], list[Hole]()
    attempts -= 1
    while open_spans and attempts >= 2:
        span = max(open_spans, key=lambda each: each.last - each.first)
        open_spans.remove(span)
        middle = (span.first + span.last) // 2
        halves = (Hole(span.first, middle), Hole(middle + 1, span.last))
        failing = [half for half in halves if fails(half)] if span.first < span.last else []
        attempts -= 2
        if failing:
            open_spans += failing
        else:
            whole_spans.append(span)
    return _joined(sorted([*open_spans, *whole_spans]))


def _joined(spans: Iterable[Hole]) -> list[Hole]:
    """Spans in their order, those that follow each other without a gap as one."""
    joined: list[Hole] = []
    for span in spans:
        if joined and joined[-1].last + 1 == span.first:
            span = Hole(joined.pop().first, span.last)  # noqa: PLW2901
        joined.append(span)
    return joined


def by_failing_queries(
    holes: Mapping[str, Iterable[Hole]],
) -> dict[frozenset[str], list[Hole]]:
    """Disjoint spans of time by the queries that have a hole there.

    >>> found = by_failing_queries({"a": [Hole(0, 9)], "b": [Hole(5, 14)]})
    >>> {"".join(sorted(names)): spans for names, spans in found.items()}
    {'a': [Hole(first=0, last=4)], 'ab': [Hole(first=5, last=9)], 'b': [Hole(first=10, last=14)]}
    """
    cuts = sorted({c for each in holes.values() for h in each for c in (h.first, h.last + 1)})
    found: dict[frozenset[str], list[Hole]] = {}
    for first, after in pairwise(cuts):
        failing = frozenset(
            name for name, each in holes.items() if any(h.first <= first <= h.last for h in each)
        )
        if failing:
            found.setdefault(failing, []).append(Hole(first, after - 1))
    return found


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
