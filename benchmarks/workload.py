"""Any queries in Spark's SQL over one stream: run shared, and in the ways to go without.

Every part has a cap in seconds: what takes longer is stopped and marked, and of many queries those
count that came to their end before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, MapType, StringType

import gingham
from benchmarks.capped import CappedRuns, Done
from benchmarks.peak_memory import forget_peak, peak_megabytes, watched_peaks
from benchmarks.timing import PATIENCE, Timing
from benchmarks.workload_report import Memory, Prediction, Result, Way
from gingham.core.errors import GinghamError
from tests.oracle.same_rows import canonical_row, rows_differ

# Up to so many queries, all of them are asked one by one and compared; of more, only PICKED.
ALL_ASKED = 64
PICKED = 32
# One statement gets no more conditions than this: Spark needs minutes to compile it.
MOST_CONDITIONS = 256


@dataclass(frozen=True, slots=True)
class Workload:
    """Queries by name over one stream, whose rows are in files; and two ways only some have."""

    spark: SparkSession
    stream: str
    rows: DataFrame  # with the event time in the column `ts`
    count: int  # of the rows
    queries: Mapping[str, str]
    scan: Callable[[], DataFrame] | None = None  # one statement with the conditions of all queries
    ask_duck: Callable[[str], int] | None = None  # the number of rows that DuckDB answers a query
    interrupt_duck: Callable[[], object] = int


@dataclass(slots=True)
class _Shared:
    """What runs of all queries as one job took and gave."""

    runs: list[Done[gingham.Answers]] = field(default_factory=list[Done[gingham.Answers]])
    fetches: list[Done[None]] = field(default_factory=list[Done[None]])
    bare: list[float] = field(default_factory=list[float])
    fetched: int = 0  # answers of the last run
    tables: dict[str, pa.Table] = field(default_factory=dict[str, pa.Table])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    alone: tuple[str, ...] = ()
    statistics: dict[str, float] = field(default_factory=dict[str, float])

    def note(self, queries: int, timings: dict[Way, Timing], notes: dict[Way, str]) -> None:
        """Note the seconds of running and fetching: of turns that came to their end, if any."""
        for way, turns in ((Way.RUN, self.runs), (Way.FETCH, self.fetches)):
            if errors := [turn.error for turn in turns if turn.error]:
                notes[way] = errors[0]
        if self.bare:
            timings[Way.BARE] = Timing(tuple(self.bare))
        begun = [turn for turn in self.runs if not turn.skipped]
        if whole := [turn.seconds for turn in begun if turn.result is not None]:
            timings[Way.RUN] = Timing(tuple(whole))
        elif begun:
            timings[Way.RUN] = Timing((begun[0].seconds,), capped=True)
        if whole := [turn.seconds for turn in self.fetches if not turn.capped and not turn.skipped]:
            timings[Way.FETCH] = Timing(tuple(whole))
        elif self.fetches and self.fetched:
            timings[Way.FETCH] = Timing((self.fetches[0].seconds,), self.fetched, queries)
        elif self.fetches:
            timings[Way.FETCH] = Timing((self.fetches[0].seconds,), capped=True)


def measure(workload: Workload, label: str, runs: CappedRuns, *, times: int) -> Result:
    """Time one workload in all its ways, and compare shared answers with Spark's."""
    notes: dict[Way, str] = {}
    loom = gingham.Loom(workload.spark).stream(workload.stream, workload.rows, time="ts")
    adding, refused = _add(loom, workload, runs)
    names = loom.queries
    timings = {Way.ADD: adding}
    if not names:
        asked = len(workload.queries)
        return Result(label, workload.count, asked, 0, timings, notes, refused=refused)

    # Before the shared run, so that its cap, if it needs one, disturbs none of these.
    picked = _picked(names)
    workload.rows.createOrReplaceTempView(workload.stream)
    answers: dict[str, pa.Table] = {}
    asked_spark = _ask_each(picked, partial(_ask_spark, workload, answers), runs)
    asked_spark.note(Way.SPARK, len(names), timings, notes)
    failed = {f"{name}, alone in Spark": why for name, why in asked_spark.failed.items()}
    sizes: dict[str, int] = {}
    if (ask_duck := workload.ask_duck) is not None:
        ask = partial(_ask_duck, ask_duck, sizes)
        asked_duck = _ask_each(picked, ask, runs, workload.interrupt_duck)
        asked_duck.note(Way.DUCK, len(names), timings, notes)
        failed |= {f"{name}, in DuckDB": why for name, why in asked_duck.failed.items()}

    forget_peak()
    with watched_peaks() as peaks:
        shared = _share(loom, workload, frozenset(picked), times, runs)
    memory = Memory(peak_megabytes(), peaks.jvm, peaks.workers)
    shared.note(len(names), timings, notes)
    prediction = _predict(loom, workload, runs, notes)
    if workload.scan is not None:
        _time_scan(workload.scan, len(names), runs, timings, notes)
    compared = [name for name in answers if name in shared.tables]
    differences = [
        *(f"{name}: {_difference(answers[name], shared.tables[name])}" for name in compared),
        *(
            f"{name}: DuckDB answers {size:,} rows, Spark {answers[name].num_rows:,}"
            for name, size in sizes.items()
            if name in answers and size != answers[name].num_rows
        ),
    ]
    return Result(
        label,
        workload.count,
        len(workload.queries),
        len(names),
        timings,
        notes,
        refused=refused,
        failed=shared.failed | failed,
        alone=shared.alone,
        statistics=shared.statistics,
        prediction=prediction,
        memory=memory,
        checked=len(compared),
        differences=tuple(line for line in differences if not line.endswith(": ")),
    )


def bare_scan(rows: DataFrame) -> pa.Table:
    """Read every column of every row and do next to nothing with it."""
    # The largest of each, and not a count: a count would decode no column at all.
    fields = rows.schema.fields
    return rows.agg(*[sf.max(_ordered(f.name, f.dataType)) for f in fields]).toArrow()


def warm_up(workload: Workload, runs: CappedRuns) -> None:
    """Let the JVM load and compile what every later measurement uses."""
    few = dict(list(workload.queries.items())[:4])

    def once() -> None:
        bare_scan(workload.rows)
        workload.rows.createOrReplaceTempView(workload.stream)
        loom = gingham.Loom(workload.spark).stream(workload.stream, workload.rows, time="ts")
        for name, text in few.items():
            workload.spark.sql(text).toArrow()
            _try_to_add(loom, name, text)
        if loom.queries:
            _fetch(loom.run(), frozenset(), _Shared())

    for _ in range(2):
        runs.run(once)


def _picked(names: Sequence[str]) -> list[str]:
    """The queries that are asked one by one: all of a few, evenly spread ones of many."""
    if len(names) <= ALL_ASKED:
        return list(names)
    return [names[i * len(names) // PICKED] for i in range(PICKED)]


def _ordered(name: str, kind: DataType) -> Column:
    """What of a column is compared by a bare scan: numbers, and the sizes of everything else."""
    if isinstance(kind, StringType):
        return sf.length(name)
    return sf.size(name) if isinstance(kind, MapType) else sf.col(name)


def _try_to_add(loom: gingham.Loom, name: str, text: str) -> str:
    """Add a query; gives the reason if it is refused."""
    try:
        loom.add(text, name=name)
    except GinghamError as error:
        return f"{error.what} / {error.why}".replace("\n", " ")[:400]
    return ""


def _add(loom: gingham.Loom, workload: Workload, runs: CappedRuns) -> tuple[Timing, dict[str, str]]:
    """Add all queries, as many as there is time for; also gives those that are refused, and why."""
    refused: dict[str, str] = {}

    def work() -> None:
        for name, text in workload.queries.items():
            if reason := _try_to_add(loom, name, text):
                refused[name] = reason

    done = runs.run(work)
    if done.error:
        refused["adding stopped"] = done.error
    tried = len(loom.queries) + len(refused)
    timing = Timing(
        (done.seconds,), max(1, tried), len(workload.queries), done.capped and not tried
    )
    return timing, refused


def _share(
    loom: gingham.Loom, workload: Workload, kept: frozenset[str], times: int, runs: CappedRuns
) -> _Shared:
    """Run all queries of a loom and fetch every answer, in turns with a bare scan."""
    # In turns, since the JVM compiles on while it runs: whatever comes last has the fastest code.
    shared = _Shared()
    while len(shared.runs) < times and sum(d.seconds for d in shared.runs) < PATIENCE:
        bare = runs.run(partial(bare_scan, workload.rows))
        shared.bare += [bare.seconds] if bare.result is not None else []
        run = runs.run(loom.run)
        shared.runs.append(run)
        answers = run.result
        if answers is None:
            break
        shared.fetched = 0
        fetch = runs.run(partial(_fetch, answers, kept, shared))
        shared.fetches.append(fetch)
        shared.alone = answers.statistics.apart
        shared.statistics = {
            "shards": answers.statistics.shards,
            "grids": answers.statistics.grids,
            "cells": answers.statistics.cells,
            "partials": answers.statistics.partials,
            "in_executors": len(answers.statistics.in_executors),
            **{f"{step}_seconds": s for step, s in answers.statistics.seconds.items()},
        }
        answers.release()
        if fetch.capped:
            break
    return shared


def _fetch(answers: gingham.Answers, kept: frozenset[str], shared: _Shared) -> None:
    """Fetch every answer of a run; those that are compared later are kept."""
    for name in answers.names:
        try:
            table = answers.arrow(name)
            if name in kept:
                shared.tables[name] = table
        except GinghamError as error:
            shared.failed[name] = str(error).splitlines()[0][:400]
        shared.fetched += 1


def _predict(
    loom: gingham.Loom, workload: Workload, runs: CappedRuns, notes: dict[Way, str]
) -> Prediction | None:
    """The seconds that the plan predicts for a run over these rows."""
    done = runs.run(partial(loom.plan, workload.stream))
    if done.result is None:
        notes.setdefault(Way.RUN, done.error or "planning was stopped")
        return None
    plan = done.result
    if plan.statistics.counted:
        return Prediction(plan.seconds, counted=True)
    return Prediction(plan.seconds * workload.count / plan.statistics.rows, counted=False)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Queries that were asked one by one: seconds of all together, and which of them failed."""

    seconds: float
    asked: int
    capped: bool  # the last one was stopped
    failed: Mapping[str, str]

    def note(
        self, way: Way, queries: int, timings: dict[Way, Timing], notes: dict[Way, str]
    ) -> None:
        """Note the seconds, extrapolated to so many queries."""
        if self.asked:
            timings[way] = Timing((self.seconds,), self.asked, queries, self.capped)
        else:
            notes[way] = "not measured: what was stopped before runs on"


def _ask_each(
    names: Sequence[str],
    ask: Callable[[str], object],
    runs: CappedRuns,
    interrupt: Callable[[], object] = int,
) -> _Asked:
    """Ask queries one by one, as many as there is time for."""
    seconds, asked, failed = 0.0, 0, dict[str, str]()
    for name in names:
        if asked and seconds >= runs.cap:
            break
        done = runs.run(partial(ask, name), cap=max(1.0, runs.cap - seconds), interrupt=interrupt)
        if done.skipped:
            break
        seconds += done.seconds
        asked += 1
        if done.error:
            failed[name] = done.error
        if done.capped:
            # It counts with the seconds that it had: all together take at least so long.
            return _Asked(seconds, asked, capped=True, failed=failed)
    return _Asked(seconds, asked, capped=False, failed=failed)


def _ask_spark(workload: Workload, answers: dict[str, pa.Table], name: str) -> None:
    """Ask Spark one query, in its original text."""
    answers[name] = workload.spark.sql(workload.queries[name]).toArrow()


def _ask_duck(ask: Callable[[str], int], rows: dict[str, int], name: str) -> None:
    rows[name] = ask(name)


def _time_scan(
    scan: Callable[[], DataFrame],
    queries: int,
    runs: CappedRuns,
    timings: dict[Way, Timing],
    notes: dict[Way, str],
) -> None:
    """Time one statement with the conditions of all queries; its rows are dropped."""
    if queries > MOST_CONDITIONS:
        notes[Way.SCAN] = f"skipped: {queries:,} queries in one statement"
        return

    def work() -> None:
        scan().write.format("noop").mode("overwrite").save()

    done = runs.run(work)
    if done.error:
        notes[Way.SCAN] = done.error if done.skipped else f"failed: {done.error}"
        return
    timings[Way.SCAN] = Timing((done.seconds,), capped=done.capped)


def _difference(expected: pa.Table, own: pa.Table) -> str:
    """How an answer differs from Spark's over the original text; empty if it does not."""
    names = expected.column_names
    # In front of what SELECT lists, an answer has the bounds of its window.
    if own.column_names[-len(names) :] != names:
        return f"columns {own.column_names}, Spark's are {names}"
    selected = own.select(list(range(own.num_columns - len(names), own.num_columns)))
    return rows_differ(list(_rows(expected)), list(_rows(selected)), summed=True)


def _rows(table: pa.Table) -> Iterator[tuple[object, ...]]:
    columns = [(name, "") for name in table.column_names]
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        yield canonical_row(row, columns)
