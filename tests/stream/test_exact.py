"""Any batches, any changes of queries, a crash at any write: every answer once, and the right one.

The loop is fed by hand, so that a life costs no start of a stream, and the oracle is plain Python.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log
from gingham.logical.window import Clock
from gingham.optimizer import optimize
from gingham.optimizer.choose_ways import Way
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import FixedDecisions, Plan
from gingham.plan.row_statistics import RowStatistics
from gingham.session.sources import Sources
from gingham.sinks.answer import Answer, StoredAnswer
from gingham.sinks.delivery import Delivery
from gingham.stream.clock import Timing
from gingham.stream.exact import ExactWork
from gingham.stream.executor_shards import ExecutorFolder, ExecutorShards
from gingham.stream.growing_records import StreamRecords
from gingham.stream.held_rows import HeldRows
from gingham.stream.loop import StreamLoop
from gingham.stream.numbering import Numbering
from gingham.stream.planner import Job
from gingham.stream.settings import StreamSettings

SECOND = 1_000_000
ROWS = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("v", pa.int64())])


@dataclass(frozen=True)
class Counted:
    """How many rows have v > low, but for one, by key or not, in windows of so many seconds.

    Or in windows of so many rows: `over` is "time", "rows", or "rows per key" if it is keyed.
    """

    length: int
    slide: int
    low: int
    keyed: bool
    but: int
    over: str = "time"

    def wants(self, value: int) -> bool:
        return value > self.low and value != self.but

    @property
    def sql(self) -> str:
        keys = ["k"] if self.keyed else []
        clause, by = "", list(keys)
        if self.over == "time":
            by.append(f"window(ts, '{self.length} seconds', '{self.slide} seconds')")
        else:
            per = " PER k" if self.over == "rows per key" else ""
            clause = f" [ROWS {self.length} SLIDE {self.slide}{per}]"
        return (
            f"SELECT {', '.join([*keys, 'count(*) AS n', 'sum(v) AS s'])} FROM t{clause} "
            f"WHERE v > {self.low} AND v <> {self.but}"
            f"{' GROUP BY ' if by else ''}{', '.join(by)}"
        )


Row = tuple[int | None, str | None, int]  # second, key, value


@dataclass(frozen=True)
class Life:
    """Batches; which queries run from which batch to which; at which writes the process dies.

    Queries fall into so many trees, and are woven anew when the rate changes by the tolerance. They
    go one of the `ways`, each new plan the next of these.
    """

    batches: list[list[Row]]
    queries: dict[str, tuple[Counted, int, int]]
    delay: int
    crashes: list[int]
    most: int
    trees: int
    tolerance: float
    fragments: bool
    ways: tuple[Way, ...] = ("cells",)
    records: StreamRecords = False


@st.composite
def lives(draw: st.DrawFn, *, of_rows: bool = False) -> Life:
    """Draw a life; with windows of rows, too, if asked."""
    length = draw(st.integers(2, 5))
    batches: list[list[Row]] = []
    for number in range(length):
        second = st.integers(number * 4 - 3, number * 4 + 6) | st.none()
        row = st.tuples(second, st.sampled_from(["a", "b", None]), st.integers(0, 9))
        batches.append(draw(st.lists(row, min_size=number % 2, max_size=8)))
    queries: dict[str, tuple[Counted, int, int]] = {}
    for i in range(draw(st.integers(1, 4))):
        query = Counted(
            *draw(st.sampled_from([(4, 4), (6, 2), (5, 3), (2, 2)])),
            draw(st.integers(0, 8)),
            draw(st.booleans()),
            draw(st.integers(4, 9)),
        )
        if of_rows:
            clocks = ["time", "rows", "rows per key" if query.keyed else "rows"]
            query = replace(query, over=draw(st.sampled_from(clocks)))
        since, until = st.integers(0, length // 2), st.integers(length // 2 + 1, length)
        queries[f"q{i}"] = query, draw(since), draw(until)
    crashes = draw(st.lists(st.integers(1, 2 * length + 2), min_size=1, max_size=4))
    return Life(
        batches,
        queries,
        draw(st.integers(0, 2)),
        crashes,
        draw(st.sampled_from([10**6] * 4 + [0, 6])),
        draw(st.integers(1, 3)),
        draw(st.sampled_from([0.0, 2.0])),
        draw(st.booleans()),
        draw(st.sampled_from([("cells",), ("columns",), ("cells", "columns")])),
        draw(st.sampled_from([False, True, True, "static"])),
    )


class CrashError(Exception):
    """The process dies here."""


@dataclass
class Kept:
    """A sink that outlives crashes."""

    answers: dict[tuple[str, int], pa.Table] = field(default_factory=dict)

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        table = answer.table()
        before = self.answers.setdefault((name, number), table)
        ordered = [
            ("window_start", "ascending"),
            *((c, "ascending") for c in table.column_names if c == "k"),
        ]
        assert before.sort_by(ordered).equals(table.sort_by(ordered)), (
            "delivered again, but changed"
        )


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(life=lives())
def test_every_answer_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, life: Life):
    with_crashes(spark, monkeypatch, life)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(life=lives(of_rows=True))
def test_every_answer_of_rows_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, life: Life
):
    with_crashes(spark, monkeypatch, life)


def with_crashes(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, life: Life) -> None:
    """Live to the end, however often the process dies; then every answer is there once."""
    times = count()

    def planted(
        stream: str,
        queries: Sequence[BoundQuery],
        cost: Cost | None = None,
        load: RowStatistics | None = None,
        fixed: FixedDecisions | None = None,
        trees: Mapping[str, int] | None = None,
        *,
        reweave: bool = False,
        way: Way = "auto",
    ) -> Plan:
        """Newcomers grow anywhere; grids that stand go where chance wants when woven anew."""
        stands, turn = fixed or FixedDecisions(), next(times)
        clocks = [Clock(), Clock(by_rows=True), Clock(by_rows=True, per=("k",))]

        def tree(query: BoundQuery) -> int:
            grid = stands.grid_of_query.get(query.name)
            first = life.trees * clocks.index(query.window.clock)
            if grid is None:
                return first + int(query.name[1:]) % life.trees
            return first + (grid + turn) % life.trees if reweave else stands.tree_of_grid[grid]

        trees = trees or {q.name: tree(q) for q in queries}
        way = life.ways[turn % len(life.ways)]
        return optimize(stream, queries, cost, load, fixed, trees, way=way)

    kept, crashes = Kept(), iter(life.crashes)
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        while number < len(life.batches):
            nth = next(crashes, None)
            with dying(monkeypatch, nth, after=nth is not None and nth % 2 == 0):
                try:
                    number = live(spark, life, folder, kept, number, planted)
                except CrashError:
                    continue
    assert_all_once(kept, life)


def steady(number: int) -> list[Row]:
    """A batch of some rows, in every second one of which a row has no time."""
    rows: list[Row] = [(4 * number + i, "abc"[i % 3], (number + i) % 10) for i in range(5)]
    return [*rows, (None, "a", 1)] if number % 2 else rows


STEADY = Life(
    batches=[steady(number) for number in range(6)],
    queries={
        "q0": (Counted(4, 4, 1, keyed=True, but=4), 0, 6),
        "q1": (Counted(6, 2, 3, keyed=False, but=5), 0, 6),
        "q2": (Counted(5, 3, 0, keyed=True, but=9), 2, 4),
    },
    delay=1,
    crashes=[],
    most=10**6,
    trees=2,
    tolerance=2.0,
    fragments=False,
)
STEADY_ROWS = replace(
    STEADY,
    batches=STEADY.batches[:4],
    queries={
        "q0": (Counted(6, 4, 1, keyed=False, but=4, over="rows"), 0, 4),
        "q1": (Counted(3, 2, 0, keyed=True, but=7, over="rows per key"), 0, 4),
        "q2": (Counted(2, 2, 0, keyed=True, but=9, over="rows per key"), 2, 4),
    },
)
CRASHES = int(os.environ.get("GINGHAM_CRASHES", "1"))  # for each place of the shards


@pytest.mark.parametrize(
    "life",
    [
        STEADY,
        replace(STEADY, most=0),
        replace(STEADY, records=True),
        replace(STEADY, most=0, records=True),
        STEADY_ROWS,
    ],
    ids=["near", "far", "near records", "far records", "rows"],
)
def test_a_crash_at_any_write(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, life: Life):
    writes = crashed_at(spark, monkeypatch, life, None, after=False)
    points = [(nth, after) for nth in range(1, writes + 1) for after in (False, True)]
    step = max(1, len(points) // CRASHES)
    for nth, after in points[step // 2 :: step][:CRASHES]:
        crashed_at(spark, monkeypatch, life, nth, after=after)


def crashed_at(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    life: Life,
    nth: int | None,
    *,
    after: bool,
) -> int:
    """Die at or after the nth write of a life, and go on; gives the number of writes."""
    kept = Kept()
    with tempfile.TemporaryDirectory() as folder:
        with dying(monkeypatch, nth, after=after) as written:
            try:
                live(spark, life, folder, kept, 0, optimize)
            except CrashError:
                assert nth is not None
            else:
                assert nth is None
        # Spark would hand over batches again that are in the log already.
        live(spark, life, folder, kept, 0, optimize)
    assert_all_once(kept, life)
    return written()


def assert_all_once(kept: Kept, life: Life) -> None:
    """Every answer of a life was delivered once, and no other."""
    found = {
        (name, row["window_start"], row.get("k"), row["n"], row["s"])
        for (name, _), table in kept.answers.items()
        for row in table.set_column(
            0, "window_start", table["window_start"].cast(pa.int64())
        ).to_pylist()
    }
    assert sum(table.num_rows for table in kept.answers.values()) == len(found)
    assert found == {*expected(life), *expected_of_rows(life)}


def live(
    spark: SparkSession,
    life: Life,
    folder: str,
    kept: Kept,
    number: int,
    optimizer: Callable[..., Plan],
) -> int:
    """One process: it goes on with the batch that was not finished, or was, but nobody knows."""
    table = pa.Table.from_pylist([], ROWS)
    sources = Sources(spark)
    sources.add_stream("t", spark.createDataFrame(table), "ts", None)
    bound = {name: sources.bind(q.sql, name) for name, (q, _, _) in life.queries.items()}
    alive: list[str] = []
    job = Job(
        spark,
        "t",
        "ts",
        Timing(life.delay * SECOND),
        sources.lookups,
        lambda: [bound[name] for name in alive],
        sources.bind,
        life.most,
        fold_cells=life.fragments or bool(life.records),
        send_records=life.records,
        optimize=optimizer,
    )
    settings = StreamSettings(  # snapshots often
        snapshot_every=2, rate_batches=2, rate_tolerance=life.tolerance
    )
    files = Files(folder)
    lease = Lease.take(files.within("lease"))
    log, delivery = Log(files, lease), Delivery(kept, files, lease)
    shards = ExecutorShards(spark, files.within("executors"), lease)
    numbering = Numbering("ts", HeldRows(spark, files.within("held"), lease))
    work = ExactWork(job, log, delivery, shards, numbering, settings)
    loop = StreamLoop(["t"], work, log, delivery, [], settings)
    loop.recover()
    while number < len(life.batches):
        alive[:] = [n for n, (_, born, died) in life.queries.items() if born <= number < died]
        rows = [
            {"ts": None if second is None else second * SECOND, "k": k, "v": v}
            for second, k, v in life.batches[number]
        ]
        loop.batch("t", spark.createDataFrame(pa.Table.from_pylist(rows, ROWS)), number)
        number += 1
        loop.progress()
    return number


@contextmanager
def dying(
    monkeypatch: pytest.MonkeyPatch, nth: int | None, *, after: bool
) -> Generator[Callable[[], int]]:
    """Die instead of the nth write of the driver or of executors, or just after it."""
    written = 0

    @contextmanager
    def write() -> Generator[None]:
        nonlocal written
        written += 1
        own = written
        if own == nth and not after:
            raise CrashError
        yield
        if own == nth:
            raise CrashError

    @contextmanager
    def opened(self: Files, name: str, *, once: bool = False) -> Generator[Any]:
        with write(), _opened(self, name, once=once) as stream:
            yield stream

    def shards_written(self: ExecutorShards, folder: str, shards: DataFrame) -> ExecutorFolder:
        with write():
            return _shards_written(self, folder, shards)

    def rows_written(self: HeldRows, folder: str, rows: DataFrame) -> ExecutorFolder:
        with write():
            return _rows_written(self, folder, rows)

    def answer_written(files: Files, folder: str, answer: DataFrame) -> StoredAnswer:
        with write():
            return _answer_written(files, folder, answer)

    with monkeypatch.context() as patch:
        patch.setattr(Files, "opened", opened)
        patch.setattr(ExecutorShards, "_written", shards_written)
        patch.setattr(HeldRows, "_written", rows_written)
        patch.setattr(StoredAnswer, "written", answer_written)
        yield lambda: written


_opened, _answer_written = Files.opened, StoredAnswer.written
_shards_written = ExecutorShards._written  # pyright: ignore[reportPrivateUsage]
_rows_written = HeldRows._written  # pyright: ignore[reportPrivateUsage]


def expected(life: Life) -> Iterator[tuple[str, int, str | None, int, int]]:
    """Windows in the batch whose watermark passes their end, over the rows up to that batch."""
    seen: list[Row] = []
    latest: list[int | None] = [None]
    for rows in life.batches:
        times = [r[0] for r in rows if r[0] is not None]
        latest.append(max([*times, *(x for x in latest[-1:] if x is not None)], default=None))
    for number, rows in enumerate(life.batches):
        seen += rows
        before, after = latest[number], latest[number + 1]
        for name, (query, born, died) in life.queries.items():
            if query.over == "time" and born <= number < died and after is not None:
                yield from _closed(name, query, seen, before, after, latest[born], life.delay)


def _closed(
    name: str,
    query: Counted,
    seen: list[Row],
    before: int | None,
    after: int,
    since: int | None,
    delay: int,
) -> Iterator[tuple[str, int, str | None, int, int]]:
    starts = {
        start
        for second, _, v in seen
        if second is not None and query.wants(v)
        for start in range(second - query.length + 1, second + 1)
        if start % query.slide == 0
    }
    for start in starts:
        end = start + query.length
        if end > after - delay or (before is not None and end <= before - delay):
            continue
        if since is not None and start <= since:
            continue
        inside = [
            (k if query.keyed else None, v)
            for second, k, v in seen
            if second is not None and start <= second < end and query.wants(v)
        ]
        for key in {k for k, _ in inside}:
            values = [v for k, v in inside if k == key]
            yield name, start * SECOND, key, len(values), sum(values)


def expected_of_rows(life: Life) -> Iterator[tuple[str, int, str | None, int, int]]:
    """Windows of rows in the batch that numbers their last row, once the watermark has passed it.

    The rows of each clock (whole stream, or per key) are numbered as long as it has a query.
    """
    waiting: list[tuple[int, str | None, int]] = []
    numbered: dict[str, dict[str | None, list[tuple[str | None, int]]]] = {}
    born_at: dict[str, dict[str | None, int]] = {}
    latest: int | None = None
    for number, rows in enumerate(life.batches):
        timed = [(second, k, v) for second, k, v in rows if second is not None]
        waiting += [r for r in timed if latest is None or r[0] >= latest - life.delay]
        seen = [r[0] for r in timed] if latest is None else [latest, *(r[0] for r in timed)]
        latest = max(seen, default=None)
        alive = {
            name: query
            for name, (query, born, died) in life.queries.items()
            if query.over != "time" and born <= number < died
        }
        clocks = {query.over for query in alive.values()}
        numbered = {clock: numbered.get(clock, {}) for clock in clocks}
        for name, query in alive.items():
            if life.queries[name][1] == number:
                born_at[name] = {key: len(found) for key, found in numbered[query.over].items()}
        if not clocks or latest is None:
            waiting = []
            continue
        passed = [row for row in waiting if row[0] < latest - life.delay]
        waiting = [row for row in waiting if row[0] >= latest - life.delay]
        passed.sort(key=lambda row: (row[0], row[1] is not None, row[1] or "", row[2]))
        for clock, of_key in numbered.items():
            before = {key: len(found) for key, found in of_key.items()}
            for _, k, v in passed:
                of_key.setdefault(k if clock == "rows per key" else None, []).append((k, v))
            for name, query in alive.items():
                for key, found in of_key.items() if query.over == clock else ():
                    born = born_at[name].get(key)
                    yield from _closed_rows(name, query, found, before.get(key, 0), born)


def _closed_rows(
    name: str,
    query: Counted,
    rows: list[tuple[str | None, int]],
    before: int,
    born: int | None,
) -> Iterator[tuple[str, int, str | None, int, int]]:
    for end in range(query.slide, len(rows) + 1, query.slide):
        start = end - query.length
        if end <= before or (born is not None and start < born):
            continue
        inside = [
            (k if query.keyed else None, v) for k, v in rows[max(start, 0) : end] if query.wants(v)
        ]
        for key in {k for k, _ in inside}:
            values = [v for k, v in inside if k == key]
            yield name, start, key, len(values), sum(values)
