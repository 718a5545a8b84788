"""Rows to sketches: grouped by their join attributes in the JVM, then sketched in Python.

Few groups are sketched on the driver. Many are sketched on the executors: a task returns one row
of counters for each slice and sketch, however many rows it read.
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
from gingham.estimates.algebra.relation_rows import RelationRows
from gingham.estimates.planning.sketch_plan import (
    FragmentGrid,
    RelationPass,
    SketchPlan,
    SketchTree,
)
from gingham.estimates.planning.sketch_table import no_sketches, pack_counters
from gingham.plan.slices import Slices
from gingham.spark.event_time import micros_sql
from gingham.spark.interval_search import interval_columns, with_cut_positions
from gingham.spark.rows_to_shards import array_sql, slice_number
from gingham.spark.select_chain import SelectChain
from gingham.spark.spark_session import without_adaptive_planning

Sketcher = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_SCHEMA = f"{names.INSTANT} BIGINT, {names.SKETCH} INT, {names.COUNTERS} BINARY"
# Groups that are sketched at a time: the more, the more of them agree on a sketch's attributes.
_GROUPS = 1 << 20
# Keys times words that are sketched on the driver: a quarter of a second.
DRIVER_WORK = 1 << 28
# Sums are 64-bit integers; magnitudes below this fit.
_LIMIT = 2.0**63
_NO_COUNTERS = np.zeros((0, 0), dtype=np.int64)


class SketchPasses:
    """Runs passes over relations, and remembers which relations have many groups.

    `driver_work` bounds what is sketched on the driver: groups times the words of their sketches.
    """

    def __init__(self, driver_work: int = DRIVER_WORK) -> None:
        self._driver_work = driver_work
        self.on_executors: set[str] = set()  # relations with too many groups for the driver

    def sketch(
        self,
        plan: SketchPlan,
        passes: Sequence[RelationPass],
        rows: Mapping[str, DataFrame],
        times: Mapping[str, str | None],
        slices: Slices | None,
    ) -> pa.Table:
        """Sketch each relation in one pass, for all trees of a plan.

        The result has `__instant`, `__sketch` and `__counters`, with several rows for an instant
        and sketch if several tasks saw rows of it: they are yet to be added.
        """
        grouped: dict[RelationPass, DataFrame] = {}
        sketchers: dict[RelationPass, Sketcher] = {}
        for step in passes:
            step_slices = slices if step.sliced else None
            grouped[step] = group_rows(rows[step.relation], step, times[step.relation], step_slices)
            sketchers[step] = make_sketcher(plan, step, step_slices)
        tried = [step for step in passes if step.relation not in self.on_executors]
        with without_adaptive_planning(grouped[passes[0]].sparkSession):
            # Jobs of many relations side by side: each alone would leave cores idle.
            with ThreadPoolExecutor() as pool:
                tables = list(
                    pool.map(lambda s: self._collect_few(grouped[s], plan.sharing, s), tried)
                )
            collected = {s: t for s, t in zip(tried, tables, strict=True) if t is not None}
            self.on_executors |= {step.relation for step in tried if step not in collected}
            remote = [
                grouped[step].mapInArrow(sketchers[step], _SCHEMA)
                for step in passes
                if step not in collected
            ]
            parts = [reduce(DataFrame.unionAll, remote).toArrow()] if remote else []
        for step, table in collected.items():
            parts += [pa.Table.from_batches([b]) for b in sketchers[step](table.to_batches())]
        return pa.concat_tables([no_sketches(), *parts])

    def _collect_few(
        self, grouped: DataFrame, sharing: SharingPlan, step: RelationPass
    ) -> pa.Table | None:
        """Collect a relation's groups of join keys; None if too many for the driver to sketch."""
        words = sum(sharing.words[vertex.number] for vertex in sharing.of(step.relation))
        most = min(_GROUPS, self._driver_work // words)
        table = grouped.limit(most + 1).toArrow()
        return table if table.num_rows <= most else None


def group_rows(
    rows: DataFrame, step: RelationPass, time: str | None, slices: Slices | None
) -> DataFrame:
    """Group rows to sketch by `__slice`, `__word_0`, ...: `__rows` and sums of each.

    They are grouped by `__fragment` and by `__change` (how many rows a row adds), too, if there are
    such.

    `slices` is None for a relation that is not cut into slices, `time` for one without a time.
    """
    words = [names.word(i) for i in range(len(step.attributes))]
    chain = SelectChain(rows).with_columns(
        *(f"{sql} AS {name}" for sql, name in zip(step.attributes, words, strict=True))
    )
    keys = list(words)
    if slices is not None:
        assert time is not None  # only streams are cut into slices
        chain = chain.with_columns(f"{micros_sql(rows, time)} AS {names.TIME}")
        chain, number = slice_number(chain, slices, names.SLICE)
        chain = chain.with_columns(number)
        keys.insert(0, names.SLICE)
    if step.fragments.cell_fragments:
        chain = _number_fragments(chain, step.fragments)
        keys.insert(0, names.FRAGMENT)
        if -1 in step.fragments.cell_fragments:
            chain = SelectChain(chain.to_dataframe().where(f"{names.FRAGMENT} >= 0"))
    if step.changes is not None:
        chain = chain.with_columns(f"{step.changes} AS {names.CHANGE}")
        keys.insert(0, names.CHANGE)
    # NULL where a sum would overflow.
    sums = [f"try_sum({m}) AS {names.partial(i)}" for i, m in enumerate(step.measures)]
    return chain.select(*keys, f"count(*) AS {names.ROWS}", *sums).to_dataframe(
        group_by=", ".join(keys)
    )


def make_sketcher(plan: SketchPlan, step: RelationPass, slices: Slices | None) -> Sketcher:
    """Make the function that turns groups of join keys into sketches, on driver or executor.

    Groups are cut at the edges of all trees; each tree puts together those of its own slices.
    """
    sharing = plan.sharing
    vertices = {
        tree: [v for v in sharing.of(step.relation) if v.number in tree.vertices]
        for tree in plan.trees
    }

    def sketch(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for groups in _larger_tables(batches):
            for tree, own in vertices.items():
                if own:
                    yield from _sketch_tree(groups, sharing, own, step, _Cut(tree, slices))

    return sketch


@dataclass(frozen=True, slots=True)
class _Cut:
    """How the groups of a relation, cut into `slices`, become slices of a tree."""

    tree: SketchTree
    slices: Slices | None

    def rows(self, groups: pa.Table) -> tuple[pa.Table, Ints | None, bool]:
        """Groups with an event time, the starts of their slices, and whether none are joined.

        Without slices all groups, and no starts.
        """
        if self.slices is None or not self.tree.edges:
            return groups, None, self.slices is None
        groups = groups.filter(groups[names.SLICE].is_valid())
        starts = self.slices.starts(_integers(groups[names.SLICE]))
        of_tree = self.tree.starts(starts)
        return groups, of_tree, bool((of_tree == starts).all())


def _sketch_tree(
    groups: pa.Table,
    sharing: SharingPlan,
    vertices: Sequence[Vertex],
    step: RelationPass,
    cut: _Cut,
) -> Iterator[pa.RecordBatch]:
    """Sketch groups of a relation's join keys for one tree."""
    groups, starts, distinct = cut.rows(groups)
    values = {None: _Sums(_integers(groups[names.ROWS]), np.zeros(groups.num_rows, np.bool_))}
    values |= {m: _read_sums(groups[names.partial(i)]) for i, m in enumerate(step.measures)}
    if step.changes is not None:
        changes = _integers(groups[names.CHANGE])
        values = {measure: sums.times(changes) for measure, sums in values.items()}
    words = {a: _masked_words(groups[names.word(i)]) for i, a in enumerate(step.attributes)}
    fragmented = bool(step.fragments.cell_fragments)
    rows = RelationRows.of(
        vertices,
        words,
        counts=values[None].values,
        sums={measure: sums.values for measure, sums in values.items() if measure is not None},
        fragments=_integers(groups[names.FRAGMENT]) if fragmented else None,
        slices=starts,
        grouped=distinct and not fragmented and step.changes is None,
    )
    row_slices = np.zeros(rows.size, np.int64) if starts is None else starts

    def instants(numbers: Ints) -> pa.Array:
        return pa.nulls(len(numbers), pa.int64()) if starts is None else pa.array(numbers)

    for vertex in vertices:
        overflown = row_slices[values[vertex.measure].overflown]
        try:
            numbers, counters = rows.count(sharing, vertex)
        except AnswerError:
            numbers, counters, overflown = row_slices[:0], _NO_COUNTERS, row_slices
        fits = ~np.isin(numbers, overflown)
        yield pack_counters(vertex.number, instants(numbers[fits]), counters[fits])
        yield pack_counters(vertex.number, instants(np.unique(overflown)), None)


def _number_fragments(chain: SelectChain, fragments: FragmentGrid) -> SelectChain:
    """Add the column `__fragment` to rows to sketch: the fragment of the cell they fall into."""
    axes = fragments.axes
    chain = with_cut_positions(chain, axes).with_columns(*interval_columns(axes))
    cell = "0"
    for position, axis in enumerate(axes):
        cell = f"({cell}) * {axis.size} + {names.interval(position)}"
    listed = array_sql(list(fragments.cell_fragments), "array<int>")
    return chain.with_columns(f"get({listed}, CAST({cell} AS INT)) AS {names.FRAGMENT}")


def _larger_tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches of groups to sketch into few larger tables."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= _GROUPS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _integers(column: pa.ChunkedArray) -> Ints:
    """Read an Arrow column of groups to sketch as 64-bit integers."""
    return column.cast(pa.int64()).to_numpy()


def _masked_words(column: pa.ChunkedArray) -> npt.ArrayLike:
    """Read an Arrow column of join-key words as integers, masked where NULL."""
    words = _integers(column.fill_null(0))
    if not column.null_count:
        return words
    return np.ma.MaskedArray(words, column.is_null().to_numpy())


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of measures by group as 64-bit integers for sketches, and which of them overflow."""

    values: Ints
    overflown: Bools

    def times(self, changes: Ints) -> _Sums:
        """The sums of groups whose rows add so many rows each."""
        large = np.abs(self.values.astype(np.float64)) * np.abs(changes.astype(np.float64))
        overflown = self.overflown | (large >= _LIMIT)
        return _Sums(np.where(overflown, 0, self.values) * changes, overflown)


def _read_sums(column: pa.ChunkedArray) -> _Sums:
    """Read sums of measures that Spark computed; a decimal is read as its unscaled integer."""
    overflown = column.is_null().to_numpy().astype(np.bool_)
    column = column.fill_null(0)
    if not pa.types.is_decimal(column.type):
        return _Sums(_integers(column), overflown)
    halves = [
        np.frombuffer(chunk.buffers()[1], dtype="<i8").reshape(-1, 2)[
            chunk.offset : chunk.offset + len(chunk)
        ]
        for chunk in column.chunks
        if len(chunk)
    ]
    low, high = np.concatenate([np.zeros((0, 2), dtype=np.int64), *halves]).T
    overflown = overflown | (high != low >> 63)
    return _Sums(np.where(overflown, 0, low), overflown)
