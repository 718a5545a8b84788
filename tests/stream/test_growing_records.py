"""Records of a stream: fragments appear, queries come and go, and answers are those of all rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gingham.core import names
from gingham.core.arrays import Ints
from gingham.core.errors import FragmentError
from gingham.core.time import FOREVER, NEVER
from gingham.finals.answer import answer
from gingham.finals.frames import Due
from gingham.finals.recode import recode
from gingham.finals.shards import ShardTable
from gingham.logical.predicate import Axis
from gingham.plan.bound import BoundQuery
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import FixedDecisions, Forest, Plan
from gingham.plan.grid import Grid
from gingham.plan.row_statistics import RowStatistics
from gingham.stream.codec import codebook_from_json, codebook_to_json
from gingham.stream.epoch import NO_EPOCH, Epoch
from gingham.stream.growing_records import GrowingRecords, StreamRecords, check_records
from gingham.stream.state import State
from tests.strategies.hand_made import AXIS, CELLS, GRID, Row, collected, query, sorted_rows

CALLS = ["count(*)", "count(v)", "sum(v)", "max(v)", "bit_xor(v)"]


@dataclass(frozen=True)
class Batch:
    """Rows, and the queries that are alive; whether the process was restarted before it."""

    rows: list[Row]
    alive: frozenset[int]
    restarted: bool = False


ROWS = st.lists(
    st.builds(
        Row,
        st.sampled_from([0, 10, 20, 30, 40]),
        st.integers(0, CELLS - 1),
        st.sampled_from("ab"),
        st.none() | st.integers(-5, 5),
    ),
    max_size=10,
)
SETS = st.lists(st.frozensets(st.integers(0, CELLS - 1)), min_size=2, max_size=6)
BATCHES = st.lists(
    st.builds(Batch, ROWS, st.frozensets(st.integers(0, 5), min_size=1), st.booleans()),
    min_size=1,
    max_size=6,
)
# Sectors 1 2 and 3 4, countries 1 3 and 2 4, all: four fragments of rank three.
SECTORS = [frozenset(s) for s in ({1, 2}, {3, 4}, {1, 3}, {2, 4}, {1, 2, 3, 4})]
# Neighbours in a ring: the last is what the others are, added and subtracted.
RING = [frozenset(s) for s in ({1, 2}, {2, 3}, {3, 4}, {1, 4})]
ALL, LAST = frozenset(range(5)), frozenset({3})


def rows(*cells: int, instant: int = 0) -> list[Row]:
    return [Row(instant, cell, "a", cell) for cell in cells]


@settings(max_examples=60)
@example(SECTORS, [["sum(v)"]], [Batch(rows(1), ALL), Batch(rows(2, 3, 4), ALL)] * 2, True)
@example(SECTORS, [["max(v)"]], [Batch(rows(1, 2), ALL), Batch(rows(3), ALL - {1}, True)], True)
@example(RING, [["sum(v)"]], [*[Batch(rows(1, 2, 3, 4), ALL)] * 2, Batch([], LAST)], True)
@given(
    SETS,
    st.lists(st.lists(st.sampled_from(CALLS), max_size=3, unique=True), min_size=1, max_size=3),
    BATCHES,
    st.sampled_from([True, "static"]),
)
def test_records_of_all_epochs_answer_what_the_rows_answer(
    sets: list[frozenset[int]], calls: list[list[str]], batches: list[Batch], send: StreamRecords
):
    queries = [query(f"q{n}", cells, calls[n % len(calls)]) for n, cells in enumerate(sets)]
    stream = Stream(send)
    born: dict[str, int] = {}
    latest, seen = NEVER, list[Row]()
    for batch in batches:
        living = [q for n, q in enumerate(queries) if n in batch.alive] or queries[:1]
        born = {q.name: born.get(q.name, latest) for q in living}
        if batch.restarted:
            stream.restart()
        stream.take(batch.rows, living)
        seen += batch.rows
        latest = max([latest, *(row.instant for row in batch.rows)])
        for one in living:
            # Those that end up to the latest time, and others that the batch has changed.
            due = Due(NEVER, latest, born[one.name], open=NEVER, early=True)
            expected = answer(one, plain(seen, batch.rows, one), ConditionCache(), due)
            assert sorted_rows(stream.answer(one, due)) == sorted_rows(expected)


def plain(before: Sequence[Row], fresh: Sequence[Row], one: BoundQuery) -> ShardTable:
    """The shards of some rows in plain cells, without a stream; the last of them are fresh."""
    old = list(before)[: len(before) - len(fresh)]
    forest = Forest((one,), (GRID,), (0,))
    tables = [collected(part, forest.columns, lambda cell: [cell]) for part in (old, list(fresh))]
    is_fresh = np.repeat([False, True], [table.num_rows for table in tables])
    return ShardTable(pa.concat_tables(tables), forest, is_fresh)


class Stream:
    """What a stream does with batches, but for Spark: epochs, records, and the state."""

    def __init__(self, send: StreamRecords) -> None:
        self.growing, self.state, self.epoch = GrowingRecords(send), State(), NO_EPOCH
        self.sent: list[int] = []  # records of each batch

    def take(self, rows: list[Row], living: Sequence[BoundQuery]) -> None:
        epoch = self.epoch
        if [q.name for q in epoch.queries] != [q.name for q in living]:
            epoch = Epoch(epoch.number + 1, planned(living))
        self.epoch = epoch = self.growing.chosen(epoch, self.epoch)
        forest, records = epoch.forest, epoch.records
        assert forest is not None
        assert records is not None
        cell_of, [part] = coarser(forest.grids[0].axes), records.grids
        table = collected(rows, records.columns, lambda cell: part.records_of(cell_of[cell]))
        self.sent.append(table.num_rows)
        self.state.add(table, epoch.codebook)
        numbers = np.unique(table[names.CELL].to_numpy())
        self.epoch = replace(epoch, records=records.having_seen(numbers))

    def answer(self, one: BoundQuery, due: Due) -> pa.Table:
        assert self.epoch.forest is not None
        shards = self.state.between(NEVER, FOREVER, self.epoch.forest)
        return answer(one, shards, ConditionCache(), due)

    def restart(self) -> None:
        """Write a snapshot, and read it into another state."""
        table = self.state.table
        book = self.state.codebook.used(table[names.CELL].to_numpy())
        again = codebook_from_json(codebook_to_json(book))
        codebook = self.epoch.codebook.carrying(again)
        self.state = State()
        self.state.add(recode(table, again, codebook), codebook)


def planned(living: Sequence[BoundQuery]) -> Plan:
    """A plan with one grid, which is cut only where these queries need it."""
    cuts = {cut for one in living for _, cut in one.where.cuts}
    axes = (Axis(AXIS.attribute, tuple(sorted(cuts))),) if cuts else ()
    forest = Forest(tuple(living), (replace(GRID, axes=axes),), (0,) * len(living))
    return Plan("s", (), (), forest, (), FixedDecisions(), RowStatistics(), 0.0)


def coarser(axes: Iterable[Axis]) -> Ints:
    """For each cell of the finest grid, the cell of one with these axes."""
    cuts = [cut for axis in axes for cut in axis.cuts]
    return np.searchsorted(cuts, np.arange(CELLS) - 1, side="right")


def test_fragments_are_sent_as_they_are_until_they_are_known():
    queries = [query(f"q{n}", cells, ["sum(v)"]) for n, cells in enumerate(SECTORS)]
    stream = Stream(send=True)
    for _ in range(3):
        stream.take(rows(1, 2, 3, 4), queries)
    # Four fragments at first, then their rank.
    assert stream.sent == [4, 3, 3]


def test_a_new_fragment_goes_into_records_that_can_take_it_in():
    queries = [query(f"q{n}", cells, ["sum(v)"]) for n, cells in enumerate(SECTORS)]
    stream = Stream(send=True)
    stream.take(rows(1, 2, 3), queries)
    stream.take(rows(1, 2, 3), queries)
    first = stream.epoch.number
    stream.take(rows(1, 2, 3, 4), queries)
    # Rank three, which is that of the first three fragments: as many records, and no new epoch.
    assert stream.sent == [3, 3, 4]
    assert stream.epoch.number == first


def test_static_records_are_reduced_from_the_first_batch_on():
    queries = [query(f"q{n}", cells, ["sum(v)"]) for n, cells in enumerate(SECTORS)]
    stream = Stream(send="static")
    for _ in range(2):
        stream.take(rows(1, 2, 3, 4), queries)
    assert stream.sent == [3, 3]


def test_a_query_that_joins_leaves_known_fragments_known():
    queries = [query(f"q{n}", cells, ["sum(v)"]) for n, cells in enumerate(SECTORS)]
    stream = Stream(send=True)
    stream.take(rows(1, 2, 3, 4), queries[:4])
    stream.take(rows(1, 2, 3, 4), queries)
    assert stream.sent == [4, 3]


def test_records_of_a_stream_are_not_decided_by_cost():
    check_records("static")
    with pytest.raises(FragmentError, match="'auto' of a stream"):
        check_records("auto")


def test_grids_by_columns_have_no_records():
    one = query("q0", {1}, ["sum(v)"])
    by_columns = Grid((), ("k",), 0, 0, selects="x = 0")
    plan = replace(planned([one]), forest=Forest((one,), (by_columns,), (0,)))
    epoch = Epoch(1, plan)
    assert GrowingRecords(send_records=True).chosen(epoch, NO_EPOCH) is epoch
