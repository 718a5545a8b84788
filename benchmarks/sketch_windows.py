"""One budget for all slices against a budget for each slice: errors in the same memory.

    python -m benchmarks.sketch_windows [--words N] [--minutes N] [--seeds N]

Two streams, joined by twenty queries with windows of different lengths, from 10 seconds to half an
hour. They go through the loop, the log and the state of a running stream; only Spark is left out,
so batches are rows in numpy. Memory is what the state holds, counted after every batch.
"""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
from pyspark.sql.types import IntegerType, StructField, StructType, TimestampType

from benchmarks.outputs import table_console
from benchmarks.sections import Section, show
from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log
from gingham.core import names
from gingham.core.arrays import Ints
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.parse_joins import parse_join_aggregate
from gingham.estimates.planning.share_sketches import share_sketches
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import no_sketches
from gingham.estimates.planning.weave_sketches import most_slices
from gingham.estimates.sketch_session import RowCounts, SketchSession, relation_of
from gingham.estimates.sketch_work import SketchWork
from gingham.estimates.spark.sketch_pass import make_sketcher
from gingham.session.sources import RelationSource
from gingham.session.stand_ins import StandIns
from gingham.sinks.delivery import Delivery
from gingham.sinks.memory import MemorySink
from gingham.stream.clock import Marks
from gingham.stream.loop import StreamLoop
from gingham.stream.settings import StreamSettings

SECOND = 1_000_000
# Ranges and slides in seconds.
WINDOWS = (
    *((10, 10), (20, 20), (30, 10), (45, 15), (60, 60), (60, 20), (90, 30), (120, 120), (150, 30)),
    *((180, 60), (240, 120), (300, 300), (300, 60), (420, 60), (600, 300), (600, 60), (900, 300)),
    *((1200, 600), (1500, 300), (1800, 600)),
)
RATE, KEYS, BATCH, DELAY = (
    20,
    500,
    10,
    5,
)  # rows a second, keys, seconds of a batch and of a watermark


@dataclass(frozen=True)
class Rows:
    """Rows of a stream, by time: seconds and keys."""

    seconds: Ints
    keys: Ints

    def between(self, start: int, stop: int) -> "Rows":
        low, high = np.searchsorted(self.seconds, [start, stop])
        return Rows(self.seconds[low:high], self.keys[low:high])

    def persist(self) -> "Rows":
        return self

    def unpersist(self) -> None:
        pass


class NumpySession(SketchSession):
    """A session whose rows are in numpy; with `words_of_slice` the budget is that of a slice."""

    words_of_slice: int | None = None

    def bind(self, sql: str, name: str) -> BoundJoin:
        catalog = {key: relation_of(source) for key, source in self.sources().items()}
        query = parse_join_aggregate(sql, name, catalog).query
        return BoundJoin(query, query.joins, {}, {})

    def plan_by_weights(
        self, queries: Sequence[BoundJoin], weights: Mapping[str, float], *, per_slice: bool = False
    ) -> SketchPlan:
        if self.words_of_slice is None:
            return super().plan_by_weights(queries, weights, per_slice=per_slice)
        times = {source.name: source.time for source in self.sources().values()}
        return share_sketches(
            queries, times, budget=self.words_of_slice, seed=self.seed, per_slice=True
        )

    def look(self, stream: str, rows: Any, marks: Marks) -> tuple[RowCounts, Any]:  # noqa: ARG002
        latest = int(rows.seconds[-1]) * SECOND
        return RowCounts(rows=len(rows.keys), late=0, timeless=0, ahead=0, latest=latest), rows

    def sketch(self, plan: SketchPlan, rows: Mapping[str, Any]) -> pa.Table:
        parts = [no_sketches()]
        for step in plan.passes:
            if step.relation in rows:
                own, slices = rows[step.relation], _Seconds()
                columns = {
                    names.SLICE: pa.array(own.seconds),
                    names.word(0): pa.array(own.keys),
                    names.ROWS: pa.array(np.ones(len(own.keys), dtype=np.int64)),
                }
                made = make_sketcher(plan, step, slices)(pa.table(columns).to_batches())  # pyright: ignore[reportArgumentType]
                parts += [pa.Table.from_batches([batch]) for batch in made]
        return pa.concat_tables(parts)


class _Seconds:
    """Slices of a second: all windows begin and end with one."""

    def starts(self, numbers: Ints) -> Ints:
        return numbers * SECOND


@dataclass(frozen=True)
class Measured:
    """What a run held after each batch, in words, and the errors of each query's windows."""

    held: list[int]
    within: list[int]  # during batches, before what is closed is dropped
    errors: dict[str, list[float]]
    trees: int

    @property
    def average(self) -> float:
        """The mean over queries of the mean squared error of their windows."""
        return float(np.mean([np.mean(np.square(errors)) for errors in self.errors.values()]))

    @property
    def unsquared(self) -> float:
        """The mean over queries of the mean error of their windows."""
        return float(np.mean([np.mean(errors) for errors in self.errors.values()]))


def make_rows(seed: int, minutes: int) -> dict[str, Rows]:
    """Two streams whose keys are skewed alike."""
    made: dict[str, Rows] = {}
    chances = 1 / np.arange(1, KEYS + 1)
    for number, name in enumerate(("r", "s")):
        rng = np.random.default_rng([seed, number])
        seconds = np.sort(rng.integers(0, 60 * minutes, 60 * minutes * RATE))
        keys = rng.choice(KEYS, len(seconds), p=chances / chances.sum())
        made[name] = Rows(seconds, keys)
    return made


def run(rows: Mapping[str, Rows], words: int, seed: int, *, per_slice: bool) -> Measured:
    """Stream the rows through a budget of words: for all slices, or as much in each slice."""
    columns = StructType([StructField("ts", TimestampType()), StructField("k", IntegerType())])
    frame: Any = type("Frame", (), {"schema": columns})()
    sources = {n: RelationSource(n, frame, "ts", f"{DELAY} seconds") for n in rows}
    spark: Any = None
    session = NumpySession(
        spark, lambda: sources, StandIns(spark), lambda _: False, words, "average", seed, 0.95
    )
    text = "SELECT count(*) FROM r, s WHERE r.k = s.k GROUP BY window(ts, '{} s', '{} s')"
    queries = [session.bind(text.format(*window), f"q{i}") for i, window in enumerate(WINDOWS)]
    if per_slice:
        edges = (
            share_sketches(queries, dict.fromkeys(rows, "ts"), budget=words, per_slice=True)
            .trees[0]
            .edges
        )
        longest = max(length for length, _ in WINDOWS)
        slices = most_slices(edges, (longest + DELAY) * SECOND)
        object.__setattr__(session, "words_of_slice", words // slices)
    sink = MemorySink()
    with tempfile.TemporaryDirectory() as folder:
        files = Files(str(Path(folder)))
        log = Log(files, Lease.take(files.within("lease")))
        work = SketchWork(session, lambda: queries, {}, log, {})
        within: list[int] = []
        take = work.take

        def counted(entry: Any, table: pa.Table) -> None:
            take(entry, table)
            within.append(work.size)

        work.take = counted  # pyright: ignore[reportAttributeAccessIssue]
        settings = StreamSettings()
        loop = StreamLoop(
            list(rows), work, log, Delivery(sink, files, log.lease, 0.0), [], settings
        )
        loop.recover()
        held: list[int] = []
        for batch, start in enumerate(range(0, int(rows["r"].seconds[-1]), BATCH)):
            for name, of_stream in rows.items():
                part: Any = of_stream.between(start, start + BATCH)
                loop.batch(name, part, batch)
                held.append(work.size)
        trees = len(work._epochs[-1].plan.trees)  # noqa: SLF001
    errors = {f"q{i}": _errors(sink.arrow(f"q{i}"), rows) for i in range(len(WINDOWS))}
    return Measured(held, within, errors, trees)


def _errors(answers: pa.Table | None, rows: Mapping[str, Rows]) -> list[float]:
    """The errors of a query's windows, relative to the exact size of the join; whole ones only."""
    found: list[float] = []
    for row in () if answers is None else answers.to_pylist():
        start, stop = (int(row[n].timestamp()) for n in (names.WINDOW_START, names.WINDOW_END))
        if start < 0:
            continue
        counts = [np.bincount(of.between(start, stop).keys, minlength=KEYS) for of in rows.values()]
        found.append(abs(row["estimate"] / int(counts[0] @ counts[1]) - 1))
    return found


@click.command()
@click.option("--words", default=20_000, help="Of memory.")
@click.option("--minutes", default=60, help="Of rows.")
@click.option("--seeds", default=3, help="Repetitions.")
def main(words: int, minutes: int, seeds: int) -> None:
    """Measure the errors and the memory of twenty windows, and print them."""
    found: dict[str, list[Measured]] = {"all slices": [], "each slice": []}
    for seed in range(seeds):
        rows = make_rows(seed, minutes)
        for name, runs in found.items():
            runs.append(run(rows, words, seed, per_slice=name == "each slice"))
    table: list[list[str]] = []
    for name, runs in found.items():
        squared = [measured.average for measured in runs]
        spread = np.std(squared, ddof=1) / math.sqrt(len(runs)) if len(runs) > 1 else math.nan
        table.append(
            [
                f"a budget for {name}",
                str(runs[0].trees),
                f"{max(max(m.held) for m in runs):,}",
                f"{np.median(np.concatenate([m.held for m in runs])):,.0f}",
                f"{max(max(m.within) for m in runs):,}",
                f"{np.mean(squared):.3g} ± {spread:.1g}",
                f"{np.mean([m.unsquared for m in runs]):.1%}",
            ]
        )
    ratio = np.mean([m.average for m in found["all slices"]]) / np.mean(
        [m.average for m in found["each slice"]]
    )
    section = Section(
        f"twenty windows in {words:,} words, {minutes} minutes, {seeds} seeds",
        (
            "",
            "trees",
            "most words\nbetween batches",
            "median",
            "most words\nduring a batch",
            "average\nsquared error",
            "error,\nnot squared",
        ),
        table,
        caption=f"squared error, all slices / each slice: {ratio:.2f}",
    )
    show([section], table_console())


if __name__ == "__main__":
    main()
