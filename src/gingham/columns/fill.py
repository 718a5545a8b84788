"""Filling grids by columns: chunks of rows in, the shards of each grid out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gingham.aggregates.counts import ADD_INTEGERS
from gingham.columns.arrange import Arranged, Runs, time_order
from gingham.columns.conditions import ChunkConditions, Node, TextTests, compile_condition
from gingham.columns.inputs import Inputs
from gingham.columns.program import GridProgram, InputColumn, KeySet, PartialProgram, Program, Watch
from gingham.columns.reduce import moments_of_rows, reduce_runs
from gingham.columns.shard_pile import ShardPile
from gingham.columns.vectors import Numbers, Vector, derived, gathered, halves, vector
from gingham.core.arrays import Bools, Ints

CHUNK = 1 << 16  # rows that are looked at together: their flags fit into the processor's cache
_MOST_SHARDS = 1 << 21  # that are held before they are handed on
_MOST_WANTED = 0.5  # of the rows: if more are wanted, all may as well be put in order
_SMALL = 1 << 45  # a chunk of numbers below this adds up to a long
_BIGINTS, _MOMENTS = ("high", "low"), ("known", "value", "zero")  # columns made of one input


@dataclass
class RowCounts:
    """How many rows of a stream there were, and how many of them are not counted in windows."""

    rows: int = 0  # with an event time that counts
    late: int = 0
    untimed: int = 0  # without one, or too far ahead
    ahead: int = 0
    latest: int | None = None

    def add(self, columns: Sequence[pa.Array], ahead: pa.Array, watch: Watch) -> Sequence[pa.Array]:
        """Count the rows of a chunk; gives the columns of those with an event time.

        `ahead` are flags of the rows that are too far in the future.
        """
        instants = columns[0]
        self.ahead += int(np.count_nonzero(ahead.fill_null(False)))
        self.untimed += instants.null_count
        if instants.null_count:
            index = pa.array(np.flatnonzero(instants.is_valid()))
            columns = [column.take(index) for column in columns]
        known = np.asarray(columns[0])
        self.rows += len(known)
        self.late += int(np.count_nonzero(known < watch.watermark))
        if len(known):
            latest = int(known.max())
            self.latest = latest if self.latest is None else max(latest, self.latest)
        return columns


class Filler:
    """Fills the grids of a program with the rows of one partition."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.counts = RowCounts()
        self.rows_of: dict[int, int] = dict.fromkeys((g.number for g in program.grids), 0)
        self._nodes = [compile_condition(predicate) for predicate in program.conditions]
        self._tests = TextTests(program.attributes)
        by_key_set: dict[int, dict[int, list[GridProgram]]] = {}
        for grid in program.grids:
            of_condition = by_key_set.setdefault(grid.key_set, {})
            of_condition.setdefault(grid.condition, []).append(grid)
        self._grids = by_key_set
        self._piles = {grid.number: ShardPile(grid.partials) for grid in program.grids}
        self._groups = {number: _GroupNumbers() for number in by_key_set}

    def shards(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
        """The shards of all rows: tables by the number of their grid, some grids repeatedly."""
        for chunk in _chunks(batches):
            self.add(chunk)
            if sum(len(pile) for pile in self._piles.values()) > _MOST_SHARDS:
                yield from self._take()
        yield from self._take()

    def _take(self) -> Iterator[tuple[int, pa.Table]]:
        """Hand on the shards that were made so far."""
        values = {number: groups.values for number, groups in self._groups.items()}
        for grid in self._program.grids:
            pile = self._piles[grid.number]
            if len(pile):
                names = self._program.key_sets[grid.key_set].names
                yield grid.number, pile.table(names, values[grid.key_set])
            self._piles[grid.number] = ShardPile(grid.partials)

    def add(self, columns: Sequence[pa.Array]) -> None:
        """Add a chunk of rows, given by the inputs that were sent, to the shards of all grids."""
        if self._program.watch is not None:
            watch = self._program.watch
            ahead = Inputs(self._program, columns)[watch.ahead]
            columns = self.counts.add(columns, ahead, watch)
        inputs = Inputs(self._program, columns)
        chunk = _Chunk(self._program, self._nodes, inputs, self._tests)
        if not chunk.rows:
            return
        for key_set, by_condition in self._grids.items():
            wanted = chunk.wanted(by_condition)
            if wanted is not None and not len(wanted):
                continue
            keys = self._program.key_sets[key_set]
            arranged = _ArrangedChunk(chunk, keys, self._groups[key_set], wanted)
            for condition, grids in by_condition.items():
                rows = arranged.meeting(condition)
                if rows is not None:
                    for grid in grids:
                        self._fill(grid, arranged, rows)

    def _fill(self, grid: GridProgram, arranged: _ArrangedChunk, rows: _Rows) -> None:
        """Reduce the rows of a condition to the shards of a grid."""
        runs, counts = arranged.runs(grid.window).among(rows.chosen, rows.count)
        self.rows_of[grid.number] += rows.count
        columns = [_reduced(partial, rows, runs, counts) for partial in grid.partials]
        groups = arranged.group_numbers[runs.groups]
        self._piles[grid.number].add(groups, runs.instants, columns)


def _reduced(partial: PartialProgram, rows: _Rows, runs: Runs, counts: Ints) -> list[Vector]:
    """The columns of a partial, reduced over each run of rows."""
    if partial.filter is not None:
        kept = rows.flags(partial.filter)
        if not partial.columns:
            return [Numbers(np.add.reduceat(kept, runs.starts, dtype=np.int64), None, pa.int64())]
        inputs = [rows.vector(column).only(kept) for column in partial.columns]
        return reduce_runs(partial.monoid, inputs, runs.starts)
    hows = tuple(column.how for column in partial.columns)
    if all(c.how == "known" and not rows.has_null(c) for c in partial.columns):
        return [Numbers(counts, None, pa.int64())]
    if hows in (_BIGINTS, _MOMENTS):
        # Several columns of one input, of which its values need to be looked at only once.
        values = rows.vector(InputColumn(partial.columns[0].input, "value", 0))
        if isinstance(values, Numbers) and hows == _MOMENTS:
            return moments_of_rows(values, runs.starts, counts)
        if isinstance(values, Numbers) and rows.adds_up(partial.columns[0]):
            (total,) = reduce_runs(ADD_INTEGERS, [values], runs.starts)
            assert isinstance(total, Numbers)
            return [*halves(total)]
    inputs = [rows.vector(column) for column in partial.columns]
    return reduce_runs(partial.monoid, inputs, runs.starts)


class _Chunk:
    """A chunk of rows: the columns of its inputs, and what was found out about them."""

    def __init__(
        self,
        program: Program,
        nodes: Sequence[Node],
        inputs: Inputs,
        tests: TextTests,
    ) -> None:
        self.program, self.inputs = program, inputs
        self.instants = np.asarray(inputs[0])
        self.rows = len(self.instants)
        self.by_time = time_order(self.instants) if self.rows else None
        self.conditions = ChunkConditions(nodes, program.attributes, inputs, self.rows, tests)
        self._vectors: dict[InputColumn, Vector] = {}
        self._adds_up: dict[int, bool] = {}

    def vector(self, column: InputColumn) -> Vector:
        """The values of a column as a vector, made once."""
        if column not in self._vectors:
            if column.how == "value" and not column.digits:
                self._vectors[column] = vector(self.inputs[column.input])
            else:
                plain = self.vector(InputColumn(column.input, "value", 0))
                self._vectors[column] = derived(plain, column.how, column.digits)
        return self._vectors[column]

    def wanted(self, conditions: Iterable[int]) -> Ints | None:
        """The rows that meet any of some conditions; None if these are most rows."""
        wanted = np.zeros(self.rows, dtype=bool)
        for condition in conditions:
            wanted |= self.conditions.holds(condition)
        few = np.count_nonzero(wanted) < _MOST_WANTED * self.rows
        return np.flatnonzero(wanted) if few else None

    def adds_up(self, number: int) -> bool:
        """Whether the integers of an input are small enough for sums of a whole chunk."""
        if number not in self._adds_up:
            found = self.vector(InputColumn(number, "value", 0))
            assert isinstance(found, Numbers)
            low, high = found.values.min(), found.values.max()
            self._adds_up[number] = bool(low > -_SMALL and high < _SMALL)
        return self._adds_up[number]


class _ArrangedChunk:
    """The wanted rows of a chunk in the order of group and time, for one key set."""

    def __init__(
        self, chunk: _Chunk, keys: KeySet, groups: _GroupNumbers, wanted: Ints | None
    ) -> None:
        """`wanted` are the rows that count; None stands for all."""
        self.chunk = chunk
        codes = [chunk.inputs.codes(i) for i in keys.inputs]
        instants, by_time = chunk.instants, chunk.by_time
        if wanted is not None:
            codes = [key.only(wanted) for key in codes]
            instants = gathered(instants, wanted)
            by_time = None if by_time is None else time_order(instants)
        self.arranged = Arranged(instants, by_time, codes)
        order = self.arranged.order
        self.order = order if wanted is None else wanted if order is None else wanted[order]
        self.rows = len(instants)
        self.group_numbers = groups.of([key.at(self.arranged.first_rows) for key in codes])
        self._runs: dict[int, Runs] = {}
        self._vectors: dict[InputColumn, Vector] = {}

    def runs(self, window: int) -> Runs:
        """The runs of rows between the edges of a window, found once."""
        if window not in self._runs:
            self._runs[window] = self.arranged.runs(self.chunk.program.windows[window])
        return self._runs[window]

    def vector(self, column: InputColumn) -> Vector:
        """The values of a column in this order, made once."""
        if column not in self._vectors:
            found, order = self.chunk.vector(column), self.order
            self._vectors[column] = found if order is None else found.take(order)
        return self._vectors[column]

    def flags(self, condition: int) -> Bools:
        """A flag for each row, in this order: whether it meets a condition."""
        flags, order = self.chunk.conditions.holds(condition), self.order
        return flags if order is None else gathered(flags, order)

    def meeting(self, condition: int) -> _Rows | None:
        """The rows that meet a condition; None if none does."""
        flags = self.chunk.conditions.holds(condition)
        if not flags.any():
            return None
        if flags.all():
            return _Rows(self, None)
        return _Rows(self, np.flatnonzero(self.flags(condition)))


class _Rows:
    """The rows of an arranged chunk that meet a condition; all of them if `chosen` is None."""

    def __init__(self, arranged: _ArrangedChunk, chosen: Ints | None) -> None:
        self._arranged, self.chosen = arranged, chosen
        self.count = arranged.rows if chosen is None else len(chosen)
        self._vectors: dict[InputColumn, Vector] = {}

    def vector(self, column: InputColumn) -> Vector:
        """The values of a column in these rows, made once."""
        if column not in self._vectors:
            found = self._arranged.vector(column)
            self._vectors[column] = found if self.chosen is None else found.take(self.chosen)
        return self._vectors[column]

    def has_null(self, column: InputColumn) -> bool:
        """Whether the input of a column is NULL anywhere in the chunk."""
        return self._arranged.chunk.inputs[column.input].null_count > 0

    def adds_up(self, column: InputColumn) -> bool:
        """Whether the integers of a column are small enough for sums of a whole chunk."""
        return self._arranged.chunk.adds_up(column.input)

    def flags(self, condition: int) -> Bools:
        """A flag for each of these rows: whether it meets another condition."""
        flags = self._arranged.flags(condition)
        return flags if self.chosen is None else gathered(flags, self.chosen)


class _GroupNumbers:
    """Numbers for the combinations of key values in all chunks, and these values."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._parts: list[list[pa.Array]] = []

    def of(self, keys: Sequence[pa.Array]) -> Ints:
        """The numbers of combinations of key values; those that are new get the next numbers."""
        if not keys:
            return np.zeros(1, dtype=np.int64)
        rows = list(zip(*(key.to_pylist() for key in keys), strict=True))
        before, known = len(self._numbers), self._numbers
        numbers = np.array([known.setdefault(row, len(known)) for row in rows], dtype=np.int64)
        # The first row of each combination that is new, in the order of the new numbers.
        new = np.flatnonzero(numbers >= before)
        if len(new):
            _, first = np.unique(numbers[new], return_index=True)
            index = pa.array(new[first])
            self._parts.append([key.take(index) for key in keys])
        return numbers

    @property
    def values(self) -> list[pa.Array]:
        """The key values of all combinations, in the order of their numbers."""
        return [pa.concat_arrays(parts) for parts in zip(*self._parts, strict=True)]


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.Array]]:
    """Batches of rows, several together until they are a chunk; a large one in parts.

    No chunk has twice as many rows as it should: small numbers are added up without a check.
    """
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in (b.slice(at, CHUNK) for b in batches for at in range(0, b.num_rows, CHUNK)):
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= CHUNK:
            yield _together(waiting)
            waiting, rows = [], 0
    if rows:
        yield _together(waiting)


def _together(batches: Sequence[pa.RecordBatch]) -> list[pa.Array]:
    """The columns of several batches, each as one array."""
    if len(batches) == 1:
        return batches[0].columns
    columns = zip(*(batch.columns for batch in batches), strict=True)
    return [pa.concat_arrays(parts) for parts in columns]
