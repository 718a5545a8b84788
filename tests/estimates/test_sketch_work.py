"""The loop of joined streams, without Spark: all keys are equal, so estimates are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import IntegerType, StructField, StructType, TimestampType

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log
from gingham.core import names
from gingham.core.errors import AnswerError, GinghamError, QueryError
from gingham.core.time import NEVER
from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.parse_joins import parse_join_aggregate
from gingham.estimates.planning.query_weights import PriorWeights
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import no_sketches
from gingham.estimates.sketch_epoch import SketchEpoch
from gingham.estimates.sketch_session import RowCounts, SketchSession, relation_of
from gingham.estimates.sketch_work import SketchWork
from gingham.estimates.spark.sketch_pass import make_sketcher
from gingham.plan.slices import Slices
from gingham.session.sources import RelationSource
from gingham.session.stand_ins import StandIns
from gingham.sinks.delivery import Delivery
from gingham.sinks.memory import MemorySink
from gingham.stream.clock import Marks
from gingham.stream.loop import StreamLoop
from gingham.stream.settings import StreamSettings

SECOND = 1_000_000
PAIRS = "SELECT count(*) FROM r, s WHERE r.k = s.k GROUP BY window(ts, '{}')"
TEN = PAIRS.format("10 seconds")
FRAGILE = TEN.replace("count(*)", "sum(r.w)")
SLIDING = PAIRS.format("100 seconds', '10 seconds")


@dataclass
class _Rows:
    """Rows of a batch: when each is, and whether one of them makes a fragile query raise."""

    seconds: tuple[int, ...]
    bad: bool = False

    def persist(self) -> _Rows:
        return self

    def unpersist(self) -> None:
        pass


class _Session(SketchSession):
    """Rows have one key, 1, and the measure v is 1; measures of w raise where rows are bad."""

    missing: ClassVar[str | None] = None  # what Spark does not know any more

    def bind(self, sql: str, name: str) -> BoundJoin:
        if self.missing is not None and self.missing in sql:
            raise QueryError("Spark refuses the query", f"there is no {self.missing}", "it")
        catalog = {key: relation_of(source) for key, source in self.sources().items()}
        query = parse_join_aggregate(sql, name, catalog).query
        measures = {alias: Measure(sql) for alias, sql in query.measures.items()}
        fragile = any("w" in measure.sql for measure in measures.values())
        divisor = None
        if query.divisor is not None:
            divisor = {alias: Measure(sql) for alias, sql in query.divisor.items()}
        return BoundJoin(query, query.joins, measures, {}, fragile=fragile, divisor=divisor)

    def look(self, stream: str, rows: Any, marks: Marks) -> tuple[RowCounts, Any]:  # noqa: ARG002
        latest = max((second * SECOND for second in rows.seconds), default=NEVER)
        return RowCounts(rows=len(rows.seconds), late=0, timeless=0, ahead=0, latest=latest), rows

    def sketch(self, plan: SketchPlan, rows: Mapping[str, Any]) -> pa.Table:
        parts = [no_sketches()]
        for one in plan.passes:
            if one.relation not in rows:
                continue
            its = rows[one.relation]
            if its.bad and any("w" in measure for measure in one.measures):
                raise PySparkException("[CAST_INVALID_INPUT] 'x' is no number")
            count = len(its.seconds)
            ones = pa.array(np.ones(count, dtype=np.int64))
            slices = self._slices(plan, rows, {one.relation: "ts"})
            assert slices is not None
            columns = {names.word(i): ones for i in range(len(one.attributes))}
            columns |= {names.partial(i): ones for i in range(len(one.measures))}
            columns |= {names.ROWS: ones, names.SLICE: pa.array(_numbers(its.seconds, slices))}
            batches = pa.table(columns).to_batches()
            parts += [pa.Table.from_batches([b]) for b in make_sketcher(plan, one, slices)(batches)]
        return pa.concat_tables(parts)


def _numbers(seconds: tuple[int, ...], slices: Slices) -> list[int]:
    starts = slices.starts(np.arange(1000))
    return [int(np.searchsorted(starts, s * SECOND, side="right")) - 1 for s in seconds]


class _Streams:
    """Two streams in a folder, r and s, and the queries over them."""

    def __init__(self, folder: Path, sink: Any = None, budget: int = 60) -> None:
        self.folder = folder
        self.settings = StreamSettings(snapshot_every=4, sink_patience=0.0)  # snapshots often
        self.sink = sink or MemorySink()
        self.queries: dict[str, BoundJoin] = {}
        columns = StructType(
            [
                StructField("ts", TimestampType()),
                *(StructField(name, IntegerType()) for name in ("k", "v", "w")),
            ]
        )
        frame: Any = SimpleNamespace(schema=columns)
        sources = {
            name: RelationSource(name, frame, "ts", "0 seconds") for name in ("r", "s", "quiet")
        }
        spark: Any = None
        stand_ins = StandIns(spark)
        self.session = _Session(
            spark, lambda: sources, stand_ins, lambda _: False, budget, "average", 0, 0.95
        )
        self.batches = 0
        self.start()

    def start(self) -> None:
        """Start from what is in the folder, as after a crash."""
        files = Files(str(self.folder))
        queries = lambda: tuple(self.queries.values())  # noqa: E731
        self.log = log = Log(files, Lease.take(files.within("lease")))
        self.unbound: dict[str, GinghamError] = {}
        self.work = work = SketchWork(self.session, queries, {}, log, self.unbound)
        delivery = Delivery(self.sink, files, log.lease, self.settings.sink_patience)
        self.loop = StreamLoop(["r", "s", "quiet"], work, log, delivery, [], self.settings)
        self.loop.recover()

    def add(self, sql: str, name: str) -> None:
        self.queries[name] = self.session.bind(sql, name)

    def feed(self, *seconds: int, only: str = "rs", bad: bool = False) -> None:
        """The same rows for both streams, or for one."""
        rows: Any = _Rows(seconds, bad)
        for stream in only:
            self.loop.batch(stream, rows, self.batches)
        self.batches += 1

    @property
    def epochs(self) -> list[str]:
        """The epochs that are kept."""
        return Files(str(self.folder)).within("epochs").names()

    def answers(self, name: str) -> dict[int, int]:
        """Estimates by the start of the window, in seconds."""
        table = self.sink.arrow(name)
        if table is None:
            return {}
        starts = table[names.WINDOW_START].cast(pa.int64()).to_numpy() // SECOND
        found = list(zip(starts.tolist(), table["estimate"].to_pylist(), strict=True))
        assert len(dict(found)) == len(found)  # each window once
        return {start: round(value) for start, value in found}


# Twenty windows of different lengths: from 10 s, tumbling, to 200 s that move by 10 s or 20 s.
LENGTHS = {
    f"w{i}": PAIRS.format(f"{10 * i} seconds', '{(10 * i, 10, 20)[i % 3]} seconds")
    for i in range(1, 21)
}


def _expected(times: Sequence[int], length: int, slide: int, until: int) -> dict[int, int]:
    """Pairs of rows at these times in each window that ends by then."""
    starts = range(-(length // slide) * slide, until - length + 1, slide)
    rows = {start: sum(start <= at < start + length for at in times) for start in starts}
    return {start: n * n for start, n in rows.items() if n}


@pytest.mark.parametrize("restart", [False, True])
def test_twenty_windows_of_different_lengths_are_held_to_one_budget(
    tmp_path: Path,
    restart: bool,  # noqa: FBT001
):
    streams = _Streams(tmp_path, budget=4000)
    for name, sql in LENGTHS.items():
        streams.add(sql, name)
    times = range(3, 330, 7)
    held: list[int] = []
    for batch, at in enumerate(times):
        streams.feed(at)
        held.append(streams.work.size)
        if restart and batch % 30 == 20:
            streams.start()
            held.append(streams.work.size)
    assert max(held) <= 4000
    assert sorted(held)[len(held) // 2] > 2000  # most of it is used
    for i in range(1, 21):
        found, slide = streams.answers(f"w{i}"), (10 * i, 10, 20)[i % 3]
        assert found == _expected(times, 10 * i, slide, times[-1])


def test_a_stream_that_is_far_ahead_costs_copies_and_no_memory(tmp_path: Path):
    # r  [0-----------------------400)
    # s  [0--------100)                  r is kept from 0 on until s has come so far
    streams = _Streams(tmp_path, budget=600)
    streams.add(SLIDING, "sliding")
    for at in range(5, 400, 10):
        streams.feed(at, only="r")
        assert streams.work.size <= 600
    for at in range(5, 400, 10):
        streams.feed(at, only="s")
        assert streams.work.size <= 600
    assert streams.answers("sliding") == _expected(range(5, 400, 10), 100, 10, 395)
    table = streams.sink.arrow("sliding")
    starts = table[names.WINDOW_START].cast(pa.int64()).to_numpy() // SECOND
    words = dict(zip(starts.tolist(), table["words"].to_pylist(), strict=True))
    planned = 2 * min(streams.session.plan(list(streams.queries.values()), {}).sharing.words)
    assert 0 < words[0] < planned // 2


def test_two_plans_together_are_held_to_the_budget(streams: _Streams):
    streams.add(SLIDING, "sliding")
    for at in range(5, 200, 10):
        streams.feed(at)
    streams.add(PAIRS.format("70 seconds', '10 seconds"), "seventy")
    for at in range(205, 400, 10):
        streams.feed(at)
        assert streams.work.size <= 60
    assert streams.answers("sliding") == _expected(range(5, 400, 10), 100, 10, 395)


def test_an_epoch_of_a_log_from_before_windows_were_woven_goes_on(
    streams: _Streams, monkeypatch: pytest.MonkeyPatch
):
    planned = _Session.plan_by_weights

    def per_slice(self: Any, queries: Any, weights: Any, **_: Any) -> SketchPlan:
        return planned(self, queries, weights, per_slice=True)

    def write(epoch: SketchEpoch) -> None:
        about = asdict(epoch.stored)
        del about["per_slice"]
        streams.log.write_epoch(epoch.number, about, epoch.tables)

    streams.add(TEN, "ten")
    streams.add(SLIDING, "sliding")
    with monkeypatch.context() as before:
        before.setattr(_Session, "plan_by_weights", per_slice)
        before.setattr(streams.work, "_write_epoch", write)
        for at in range(5, 100, 10):
            streams.feed(at)
    streams.start()
    for at in range(105, 200, 10):
        streams.feed(at)
    assert streams.answers("sliding") == _expected(range(5, 200, 10), 100, 10, 195)
    assert streams.answers("ten") == _expected(range(5, 200, 10), 10, 10, 195)


class _BrokenSink(MemorySink):
    """Takes nothing as long as it is broken."""

    broken = True

    def deliver(self, name: str, answer: Any, number: int) -> None:
        if self.broken:
            raise OSError("disk full")
        super().deliver(name, answer, number)


@pytest.fixture
def streams(tmp_path: Path) -> _Streams:
    return _Streams(tmp_path)


def test_windows_are_answered_once_they_are_closed(streams: _Streams):
    streams.add(TEN, "ten")
    streams.feed(1, 2, 3)
    streams.feed(12)
    streams.feed(21, 22)
    assert streams.answers("ten") == {0: 9, 10: 1}


@pytest.mark.parametrize("restart", [False, True])
def test_an_average_is_answered_window_by_window(
    streams: _Streams,
    restart: bool,  # noqa: FBT001
):
    streams.add(TEN.replace("count(*)", "avg(r.v)"), "mean")
    streams.add(TEN.replace("count(*)", "sum(r.v)"), "sum")
    streams.feed(1, 2, 3)
    if restart:
        streams.start()
    streams.feed(12)
    streams.feed(21, 22)
    assert streams.answers("sum") == {0: 9, 10: 1}
    assert streams.answers("mean") == {0: 1, 10: 1}


def test_other_weights_after_a_restart_are_those_of_later_plans(streams: _Streams):
    streams.add(TEN, "ten")
    streams.add(TEN.replace("r.k = s.k", "r.v = s.v"), "other")
    streams.feed(1)
    streams.session = replace(streams.session, prior=PriorWeights({"ten": 50.0, "other": 1.0}))
    streams.start()
    streams.feed(12)
    streams.add(SLIDING, "sliding")
    streams.feed(21)
    streams.feed(32)
    assert streams.answers("ten") == {0: 1, 10: 1, 20: 1}
    first, second = (logged.about["weights"] for logged in streams.log.epochs())
    assert first["ten"] == first["other"] == 1
    assert second["ten"] == 50 * second["other"]


@pytest.mark.parametrize("restart", [False, True])
def test_a_newcomer_answers_no_window_whose_first_slices_are_dropped(
    streams: _Streams,
    restart: bool,  # noqa: FBT001
):
    # ten      [0 - 10) ... [70 - 80) | [80 - 85           | up to here slices are dropped
    # sliding  [-10 ------------- 90)   only windows from 80 on are whole
    streams.add(TEN, "ten")
    for second in range(5, 90, 10):
        streams.feed(second)
    if restart:
        streams.start()
    streams.add(SLIDING, "sliding")
    for second in range(95, 300, 10):
        streams.feed(second)
    found = streams.answers("sliding")
    assert min(found) == 80
    assert set(found.values()) == {100}


def test_a_query_that_comes_back_answers_no_window_whose_first_slices_are_dropped(
    streams: _Streams,
):
    streams.add(TEN, "ten")
    streams.add(SLIDING, "sliding")
    for second in range(5, 100, 10):
        streams.feed(second)
    del streams.queries["sliding"]
    for second in range(105, 200, 10):
        streams.feed(second)
    streams.add(SLIDING, "sliding")
    for second in range(205, 400, 10):
        streams.feed(second)
    found = {start: n for start, n in streams.answers("sliding").items() if start >= 0}
    assert found
    assert set(found.values()) == {100}


def test_an_epoch_ends_although_a_stream_of_a_removed_query_is_quiet(streams: _Streams):
    streams.add(TEN, "ten")
    streams.add(TEN.replace("r, s", "r, quiet s"), "quiet")
    streams.feed(5)
    del streams.queries["quiet"]
    for second in range(15, 100, 10):
        streams.feed(second)
    assert len(streams.epochs) == 1
    assert streams.answers("ten") == dict.fromkeys(range(0, 90, 10), 1)


def test_with_no_query_the_newest_epoch_stays_and_keeps_nothing(streams: _Streams):
    streams.add(TEN, "ten")
    streams.feed(5)
    del streams.queries["ten"]
    for second in range(15, 100, 10):
        streams.feed(second)
    assert len(streams.epochs) == 1
    streams.add(TEN, "ten")
    streams.feed(105)
    streams.feed(115)
    streams.feed(125)
    found = streams.answers("ten")
    assert set(found.values()) == {1}
    assert {100, 110} <= found.keys()


@pytest.fixture
def broken(streams: _Streams) -> _BrokenSink:
    streams.sink = _BrokenSink()
    streams.start()
    return streams.sink


def test_a_sink_that_fails_is_said_until_it_takes_what_waits(
    streams: _Streams, broken: _BrokenSink
):
    streams.add(TEN, "ten")
    streams.feed(5)
    streams.feed(15)
    assert "disk full" in str(streams.loop.failed["ten"])
    broken.broken = False
    streams.feed(17)
    assert not streams.loop.failed
    assert streams.answers("ten") == {0: 1}


@pytest.mark.parametrize("restart", [False, True])
def test_answers_that_wait_go_with_their_query(
    streams: _Streams,
    broken: _BrokenSink,
    restart: bool,  # noqa: FBT001
):
    streams.add(TEN, "ten")
    streams.feed(5)
    streams.feed(15)
    del streams.queries["ten"]
    if restart:
        streams.start()
    # Another query of that name.
    streams.add(TEN.replace("count(*)", "sum(r.v)"), "ten")
    broken.broken = False
    for second in (25, 35, 45):
        streams.feed(second)
    assert streams.answers("ten") == {20: 1, 30: 1}
    assert not streams.loop.failed


def test_a_query_that_comes_back_answers_windows_that_end_later(streams: _Streams):
    streams.add(TEN, "ten")
    streams.add(TEN, "other")
    streams.feed(5)
    streams.feed(15)
    del streams.queries["ten"]
    streams.feed(25)
    streams.feed(35)
    streams.add(TEN, "ten")
    streams.feed(45)
    assert streams.answers("ten") == {0: 1, 30: 1}


@pytest.mark.parametrize("restart", [False, True])
def test_a_query_that_raises_fails_alone(
    streams: _Streams,
    restart: bool,  # noqa: FBT001
):
    streams.add(TEN, "ten")
    streams.add(FRAGILE, "bad")
    for second in (3, 5, 15):
        streams.feed(second)
    streams.feed(17, bad=True)
    assert streams.answers("bad") == {0: 4}
    assert "is no number" in str(streams.loop.failed["bad"])
    if restart:
        streams.start()
        assert "is no number" in str(streams.loop.failed["bad"])
        del streams.queries["bad"]
    for second in (18, 25, 35, 45):
        streams.feed(second, bad=True)
    assert streams.answers("ten") == {0: 4, 10: 9, 20: 1, 30: 1}
    # The window with the row that it cannot read has no answer, and none is answered in part.
    assert streams.answers("bad") == {0: 4}
    assert not streams.loop.error


def test_a_query_that_raised_has_another_chance_when_it_comes_back(streams: _Streams):
    streams.add(TEN, "ten")
    streams.add(FRAGILE, "bad")
    streams.feed(5, bad=True)
    del streams.queries["bad"]
    streams.feed(15)
    streams.add(FRAGILE, "bad")
    for second in (16, 25, 35):
        streams.feed(second)
    assert streams.answers("bad") == {20: 1}
    assert streams.answers("ten") == {0: 1, 10: 4, 20: 1}
    assert not streams.loop.failed


def test_a_newcomer_reads_no_sketch_that_is_not_made_any_more(streams: _Streams):
    streams.add(TEN, "ten")
    streams.add(FRAGILE, "bad")
    streams.feed(1)
    streams.feed(5, bad=True)
    streams.add(FRAGILE, "other")
    for second in (6, 15, 25):
        streams.feed(second)
    assert streams.answers("other") == {10: 1}


def test_a_query_that_spark_refuses_after_a_restart_is_set_aside_and_can_be_removed(
    streams: _Streams, monkeypatch: pytest.MonkeyPatch
):
    streams.add(TEN, "ten")
    streams.add(FRAGILE, "bad")
    streams.feed(3, 5)
    monkeypatch.setattr(_Session, "missing", "r.w")
    del streams.queries["bad"]
    streams.start()
    assert "is set aside" in str(streams.loop.failed["bad"])
    assert "there is no r.w" in str(streams.loop.failed["bad"])
    for second in (6, 15, 25):
        streams.feed(second, bad=True)  # nothing of it is evaluated
    assert streams.answers("ten") == {0: 9, 10: 1}
    assert streams.answers("bad") == {}
    assert set(streams.loop.failed) == {"bad"}
    streams.unbound.clear()
    streams.feed(35)
    assert not streams.loop.failed
    streams.start()
    assert not streams.loop.failed


def test_a_query_that_was_set_aside_answers_no_window_that_it_missed_rows_of(
    streams: _Streams, monkeypatch: pytest.MonkeyPatch
):
    # bad   [0 - 4 | set aside: 6 - 10) [10 - 20) [20 -
    streams.add(TEN, "ten")
    streams.add(FRAGILE, "bad")
    streams.feed(4)
    with monkeypatch.context() as patched:
        patched.setattr(_Session, "missing", "r.w")
        del streams.queries["bad"]
        streams.start()
        streams.feed(6)
    streams.add(FRAGILE, "bad")
    streams.start()
    for second in (15, 25, 35):
        streams.feed(second)
    assert streams.answers("ten") == {0: 4, 10: 1, 20: 1}
    assert streams.answers("bad") == {10: 1, 20: 1}


def test_an_epoch_of_a_relation_that_is_gone_is_refused(
    streams: _Streams, monkeypatch: pytest.MonkeyPatch
):
    streams.add(TEN, "ten")
    streams.feed(3)
    monkeypatch.setattr(_Session, "missing", "r.k")
    sources = {n: s for n, s in streams.session.sources().items() if n != "r"}
    object.__setattr__(streams.session, "sources", lambda: sources)
    with pytest.raises(QueryError, match=r"there is no r\.k"):
        streams.start()


def test_what_raises_without_a_fragile_query_stops_the_streams(
    streams: _Streams, monkeypatch: pytest.MonkeyPatch
):
    def sketch(*_: Any) -> pa.Table:
        raise PySparkException("[LOST] no executor")

    monkeypatch.setattr(_Session, "sketch", sketch)
    streams.add(TEN, "ten")
    with pytest.raises(AnswerError, match="no executor"):
        streams.feed(5)
    assert streams.loop.error
