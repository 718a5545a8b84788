"""Rows to sketches: grouped by their join attributes in the JVM, then sketched.

Few groups are sketched in this process. Many are sketched where they are: what leaves a task is
one row of counters for each slice and sketch, however many rows it read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.core.arrays import Bools, Ints
from gingham.core.errors import AnswerError
from gingham.estimates.algebra import SharingPlan, Vertex
from gingham.estimates.algebra.sketch_counts import Rows
from gingham.estimates.planning.sketch_plan import Fragments, Pass
from gingham.estimates.planning.sliced_sketches import no_sketches, packed
from gingham.plan.slices import Slices
from gingham.spark.draft import Draft
from gingham.spark.event_time import micros
from gingham.spark.search import intervals, place, searches, values
from gingham.spark.session import planned_once
from gingham.spark.shards import constant, number_slices

Sketcher = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_SCHEMA = f"{names.INSTANT} BIGINT, {names.SKETCH} INT, {names.COUNTERS} BINARY"
# Groups at a time: the more, the more of them agree on the attributes of one sketch.
_GROUPS = 1 << 20
# Keys times words that are sketched in this process: a quarter of a second.
WORK_HERE = 1 << 28
# The slice of rows without a time.
_TIMELESS = -(1 << 63)
_NO_COUNTERS = np.zeros((0, 0), dtype=np.int64)


class SketchPasses:
    """Passes over relations; it is remembered which of them have many groups."""

    def __init__(self) -> None:
        self.many: set[str] = set()

    def sketch(
        self,
        sharing: SharingPlan,
        passes: Sequence[Pass],
        rows: Mapping[str, DataFrame],
        times: Mapping[str, str | None],
        slices: Slices | None,
    ) -> pa.Table:
        """One pass over each relation: `__instant`, `__sketch`, `__counters`, yet to be added."""
        grouped: dict[Pass, DataFrame] = {}
        sketchers: dict[Pass, Sketcher] = {}
        for one in passes:
            cut = slices if one.sliced else None
            grouped[one] = group(rows[one.relation], one, times[one.relation], cut)
            sketchers[one] = sketcher(sharing, one, cut)
        few = [one for one in passes if one.relation not in self.many]
        with planned_once(grouped[passes[0]].sparkSession):
            # Jobs of many relations side by side: each alone would leave cores idle.
            with ThreadPoolExecutor() as pool:
                tables = list(pool.map(lambda one: _if_few(grouped[one], sharing, one), few))
            here = {one: t for one, t in zip(few, tables, strict=True) if t is not None}
            self.many |= {one.relation for one in few if one not in here}
            there = [
                grouped[one].mapInArrow(sketchers[one], _SCHEMA)
                for one in passes
                if one not in here
            ]
            parts = [reduce(DataFrame.unionAll, there).toArrow()] if there else []
        for one, table in here.items():
            parts += [pa.Table.from_batches([b]) for b in sketchers[one](table.to_batches())]
        return pa.concat_tables([no_sketches(), *parts])


def group(rows: DataFrame, one: Pass, time: str | None, slices: Slices | None) -> DataFrame:
    """Rows with equal `__slice`, `__fragment`, `__word_0`, ... as one, with `__rows` and sums."""
    words = [names.word(i) for i in range(len(one.attributes))]
    draft = Draft(rows).plus(
        *(f"{sql} AS {name}" for sql, name in zip(one.attributes, words, strict=True))
    )
    keys = list(words)
    if slices is not None:
        assert time is not None  # only streams are cut into slices
        draft = draft.plus(f"{micros(rows, time)} AS {names.TIME}")
        draft, number = number_slices(draft, slices, names.SLICE)
        draft = draft.plus(number)
        keys.insert(0, names.SLICE)
    if one.fragments.of_cells:
        draft = _number_fragments(draft, one.fragments)
        keys.insert(0, names.FRAGMENT)
        if -1 in one.fragments.of_cells:
            draft = Draft(draft.made().where(f"{names.FRAGMENT} >= 0"))
    # NULL where it would overflow.
    sums = [f"try_sum({m}) AS {names.partial(i)}" for i, m in enumerate(one.measures)]
    return draft.select(*keys, f"count(*) AS {names.ROWS}", *sums).made(group_by=", ".join(keys))


def _number_fragments(draft: Draft, fragments: Fragments) -> Draft:
    axes = fragments.axes
    draft = place(draft.plus(*values(axes)), searches(axes)).plus(*intervals(axes))
    cell = "0"
    for position, axis in enumerate(axes):
        cell = f"({cell}) * {axis.size} + {names.interval(position)}"
    listed = constant(list(fragments.of_cells), "array<int>")
    return draft.plus(f"get({listed}, CAST({cell} AS INT)) AS {names.FRAGMENT}")


def _if_few(grouped: DataFrame, sharing: SharingPlan, one: Pass) -> pa.Table | None:
    """All groups, unless there are more than are sketched quickly in this process."""
    words = sum(sharing.words[vertex.number] for vertex in sharing.of(one.relation))
    most = min(_GROUPS, WORK_HERE // words)
    table = grouped.limit(most + 1).toArrow()
    return table if table.num_rows <= most else None


def sketcher(sharing: SharingPlan, one: Pass, slices: Slices | None) -> Sketcher:
    """What makes sketches of groups, wherever they are."""
    vertices = sharing.of(one.relation)

    def compute(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for groups in _together(batches):
            sums = {m: _sums(groups[names.partial(i)]) for i, m in enumerate(one.measures)}
            rows = _rows(groups, vertices, one, {m: found.values for m, found in sums.items()})
            cut = np.zeros(rows.size, np.int64) if rows.slices is None else rows.slices
            for vertex in vertices:
                lost = cut[sums[vertex.measure].lost] if vertex.measure in sums else cut[:0]
                try:
                    numbers, counters = rows.counted(sharing, vertex)
                except AnswerError:
                    numbers, counters, lost = cut[:0], _NO_COUNTERS, cut
                kept, lost = ~np.isin(numbers, lost), np.unique(lost)
                yield packed(vertex.number, _instants(numbers[kept], slices), counters[kept])
                yield packed(vertex.number, _instants(lost, slices), None)

    return compute


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches of groups as few larger tables."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= _GROUPS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _rows(
    groups: pa.Table, vertices: Sequence[Vertex], one: Pass, sums: Mapping[str, Ints]
) -> Rows:
    words = {a: _masked(groups[names.word(i)]) for i, a in enumerate(one.attributes)}
    cut = bool(one.fragments.of_cells)
    return Rows.of(
        vertices,
        words,
        _integers(groups[names.ROWS]),
        sums,
        _integers(groups[names.FRAGMENT]) if cut else None,
        _integers(groups[names.SLICE].fill_null(_TIMELESS)) if one.sliced else None,
        grouped=not cut,
    )


def _integers(column: pa.ChunkedArray) -> Ints:
    return column.cast(pa.int64()).to_numpy()


def _masked(column: pa.ChunkedArray) -> npt.ArrayLike:
    words = _integers(column.fill_null(0))
    if not column.null_count:
        return words
    return np.ma.MaskedArray(words, column.is_null().to_numpy())


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of groups, and which of them 64 bits do not hold."""

    values: Ints
    lost: Bools


def _sums(column: pa.ChunkedArray) -> _Sums:
    """Ints numbers, or the digits of decimals as such."""
    lost = column.is_null().to_numpy().astype(np.bool_)
    column = column.fill_null(0)
    if not pa.types.is_decimal(column.type):
        return _Sums(_integers(column), lost)
    halves = [
        np.frombuffer(chunk.buffers()[1], dtype="<i8").reshape(-1, 2)[
            chunk.offset : chunk.offset + len(chunk)
        ]
        for chunk in column.chunks
        if len(chunk)
    ]
    low, high = np.concatenate([np.zeros((0, 2), dtype=np.int64), *halves]).T
    lost = lost | (high != low >> 63)
    return _Sums(np.where(lost, 0, low), lost)


def _instants(numbers: Ints, slices: Slices | None) -> pa.Array:
    if slices is None:
        return pa.nulls(len(numbers), pa.int64())
    timeless = numbers == _TIMELESS
    return pa.array(slices.starts(np.where(timeless, 0, numbers)), mask=timeless)
