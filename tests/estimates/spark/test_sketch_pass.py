"""Groups of join keys become sketches: those of deleted rows are as if the rows had never been."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gingham.core import names
from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.estimates.planning.share_sketches import share_sketches
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import SketchTable, no_sketches
from gingham.estimates.spark.sketch_pass import make_sketcher
from gingham.logical.window import Window
from gingham.plan.slices import periodic

JOINS = (("r", "k", "s", "k"),)
SUM = Measure("x")


def _query(name: str, window: Window | None, measures: dict[str, Measure]) -> BoundJoin:
    parsed = JoinAggregate(name, name, {"r": "r", "s": "s"}, JOINS, {}, {}, window)
    return BoundJoin(parsed, JOINS, measures, {})


PLAN = share_sketches(
    [
        _query("tens", Window(10, 10), {}),
        _query("sums", Window(10, 10), {"r": SUM}),
        _query("long", Window(60, 20), {}),
        _query("whole", None, {"r": SUM}),
    ],
    {"r": "ts", "s": "ts"},
    budget=600,
    changes={"r": "op"},
)

Row = tuple[int | None, int | None, int]  # key, slice (None without a time), measure
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 3), st.none() | st.integers(-2, 4), st.integers(-(2**40), 2**40)
    ),
    max_size=12,
)


def _sketches(rows: list[tuple[Row, int]], plan: SketchPlan = PLAN) -> SketchTable:
    """Sketch rows of r as Spark hands them over, each with how many rows it adds."""
    step = next(step for step in plan.passes if step.relation == "r")
    columns = {
        names.word(0): pa.array([row[0] for row, _ in rows], pa.int64()),
        names.SLICE: pa.array([row[1] for row, _ in rows], pa.int64()),
        names.CHANGE: pa.array([added for _, added in rows], pa.int64()),
        names.ROWS: pa.array(np.ones(len(rows), dtype=np.int64)),
    }
    columns |= {
        names.partial(i): pa.array([row[2] for row, _ in rows], pa.int64())
        for i in range(len(step.measures))
    }
    sketcher = make_sketcher(plan, step, periodic(plan.edges))
    made = [pa.Table.from_batches([b]) for b in sketcher(pa.table(columns).to_batches())]
    return SketchTable(pa.concat_tables([no_sketches(), *made]), plan.sharing)


@given(ROWS, ROWS, st.data())
def test_sketches_with_deletions_are_those_of_the_rows_that_are_left(left, deleted, data):
    changes = [*((row, 1) for row in [*left, *deleted]), *((row, -1) for row in deleted)]
    found = _sketches(data.draw(st.permutations(changes)))
    expected = _sketches([(row, 1) for row in left])
    for vertex in PLAN.sharing.of("r"):
        one, other = found.of(vertex.number), expected.of(vertex.number)
        sums = dict(zip(other.instants.tolist(), other.counters.tolist(), strict=True))
        for instant, counters in zip(one.instants.tolist(), one.counters.tolist(), strict=True):
            assert counters == sums.pop(instant, [0] * len(counters))
        assert not sums
        assert one.timeless is not None
        assert other.timeless is not None
        assert one.timeless.tolist() == other.timeless.tolist()


@given(ROWS, st.integers(-5, 5))
def test_a_row_that_adds_several_is_several_rows(rows, times):
    found = _sketches([(row, times) for row in rows])
    sign = 1 if times > 0 else -1
    expected = _sketches([(row, sign) for row in rows for _ in range(abs(times))])
    for vertex in PLAN.sharing.of("r"):
        one, other = (sketches.of(vertex.number) for sketches in (found, expected))
        assert one.counters.any() == other.counters.any()
        if times:
            assert one.counters.tolist() == other.counters.tolist()


def test_a_sum_that_does_not_fit_64_bits_when_it_is_deleted_is_lost_with_its_slice_only():
    found = _sketches([((1, 0, -(2**63)), -1), ((1, 1, 5), 1)])
    for tree in PLAN.trees:
        for vertex in PLAN.sharing.of("r"):
            if vertex.number not in tree.vertices or tree.queries == ("whole",):
                continue
            lost = found.of(vertex.number).overflown.tolist()
            assert lost == ([0] if vertex.measure else [])
