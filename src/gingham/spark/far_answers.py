"""Answers of a batch run whose shards stay with the executors: one job answers all queries."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from gingham.aggregates.monoid import flat
from gingham.columns.codes import coded
from gingham.core import names
from gingham.core.arrays import Ints
from gingham.core.errors import AnswerError, GinghamError
from gingham.finals.answer import answer
from gingham.finals.record_table import ShardReader
from gingham.finals.shards import ShardTable, no_shards
from gingham.plan.bound import BoundQuery
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest
from gingham.plan.grid import Grid
from gingham.plan.slices import Slices
from gingham.spark.fill_partition import GRID, PACKED
from gingham.spark.outputs_together import OutputsTogether
from gingham.spark.packed_tables import collect_packed, packed, unpacked
from gingham.spark.rows_to_shards import in_grids_sql, shard_cell_sql
from gingham.spark.spark_errors import failed_answer
from gingham.spark.unshared import select_outputs

_PLACE, _BUCKET = "__place", "__bucket"
_QUERY, _COUNT, _ERROR = "__query", "__count", "__error"
_SHARDS_PER_BUCKET = 100_000
# A task has several buckets: each reads the whole plan first.
_BUCKETS_PER_TASK, _TASKS_PER_CORE = 10, 2
_PLACED = pa.schema([(GRID, pa.int32()), (_BUCKET, pa.int32()), (PACKED, pa.binary())])
# Aggregates of a query for the groups of one bucket, or the error that it failed with.
_ANSWERED = pa.schema(
    [
        (_QUERY, pa.int32()),
        (_COUNT, pa.int64()),
        (PACKED, pa.binary()),
        (_ERROR, pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True, slots=True)
class _Collected:
    """Answers that came to the driver together, and the errors of those that failed."""

    names: frozenset[str]
    outputs: OutputsTogether
    failed: Mapping[str, GinghamError]

    def answer(self, name: str) -> pa.Table:
        """The answer of a query; raises why it failed."""
        if name in self.failed:
            raise self.failed[name]
        return self.outputs.answer(name)


class FarAnswers:
    """The answers of queries whose shards are on the executors, computed when one is asked for."""

    def __init__(
        self, spark: SparkSession, answered: DataFrame, queries: Sequence[BoundQuery], most: int
    ) -> None:
        """`answered` are packed aggregates; up to `most` rows of them may come to the driver."""
        self._spark = spark
        self._answered = answered.persist(StorageLevel.MEMORY_AND_DISK)
        self._queries = {query.name: query for query in queries}
        self._numbers = {query.name: number for number, query in enumerate(queries)}
        self._most = most
        self._large = _Collected(frozenset(), OutputsTogether(spark, {}, {}), {})

    def dataframe(self, name: str) -> DataFrame:
        """The answer of a query as a DataFrame, none of which comes to the driver."""
        query = self._queries[name]
        slots = query.slots
        of_query = self._answered.where(f"{_QUERY} = {self._numbers[name]}")

        def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            """Unpack aggregates of the query, on an executor."""
            for batch in batches:
                for error in batch.column(_ERROR).drop_null():
                    raise AnswerError(*error.as_py())
                yield from unpacked(batch.column(PACKED)).cast(slots).to_batches()

        aggregated = of_query.select(PACKED, _ERROR).mapInArrow(unpack, from_arrow_schema(slots))
        return select_outputs(aggregated, query.query)

    def answer(self, name: str) -> pa.Table:
        """The answer of a query; others come to the driver with it.

        All small ones come with the first that is asked for, and stay. Of the large ones some come
        together, and go when others come: whoever asks in the order of the queries gets all of them
        in a few jobs.
        """
        if name in self._small:
            return self._collected_small.answer(name)
        if name not in self._large.names:
            self._large = self._collected(next(g for g in self._groups if name in g))
        return self._large.answer(name)

    def release(self) -> None:
        """Free what the executors keep of the answers."""
        self._answered.unpersist()

    @cached_property
    def _rows(self) -> dict[str, int]:
        """How many rows the aggregates of each query have."""
        counted = self._answered.groupBy(_QUERY).sum(_COUNT).toArrow()
        rows = dict(zip(*(column.to_pylist() for column in counted.columns), strict=True))
        return {name: rows.get(number, 0) for name, number in self._numbers.items()}

    @cached_property
    def _small(self) -> frozenset[str]:
        """The queries with the smallest answers, as many as come to the driver at once."""
        by_size = sorted(self._rows, key=lambda name: self._rows[name])
        sizes = np.cumsum([self._rows[name] for name in by_size])
        return frozenset(by_size[: int(np.searchsorted(sizes, self._most, side="right"))])

    @cached_property
    def _groups(self) -> list[list[str]]:
        """The other queries in their order, those together that come to the driver at once."""
        groups: list[list[str]] = []
        room = 0
        for name in self._queries:
            if name not in self._small:
                if not groups or self._rows[name] > room:
                    groups.append([])
                    room = self._most
                groups[-1].append(name)
                room -= self._rows[name]
        return groups

    @cached_property
    def _collected_small(self) -> _Collected:
        return self._collected(self._small)

    def _collected(self, wanted: Collection[str]) -> _Collected:
        """Bring the aggregates of some queries to the driver."""
        numbers = ", ".join(str(self._numbers[name]) for name in wanted) or "-1"
        found = collect_packed(self._answered.where(f"{_QUERY} IN ({numbers})"))
        parts: dict[str, list[pa.Scalar]] = {name: [] for name in wanted}
        failed: dict[str, GinghamError] = {}
        of_number = list(self._queries)
        columns = (found[_QUERY].to_pylist(), found[PACKED], found[_ERROR].to_pylist())
        for number, part, error in zip(*columns, strict=True):
            if error is not None:
                failed[of_number[number]] = AnswerError(*error)
            else:
                parts[of_number[number]].append(part)
        aggregated = {
            name: unpacked(own) if own else self._queries[name].slots.empty_table()
            for name, own in parts.items()
            if name not in failed
        }
        queries = {name: self._queries[name].query for name in aggregated}
        outputs = OutputsTogether(self._spark, queries, aggregated)
        return _Collected(frozenset(wanted), outputs, failed)


def answer_shards(
    queries: Sequence[BoundQuery],
    shards: DataFrame,
    counts: Mapping[Grid, int],
    reader: ShardReader,
    slices: Mapping[int, Slices],
) -> DataFrame:
    """Let the executors answer queries where their shards are: packed aggregates.

    `counts` are the numbers of shards of all grids.
    """
    forest, cell = reader.forest, shard_cell_sql(reader.layout, slices)
    grids = dict.fromkeys(map(forest.grid_of, queries))
    place_sql: list[str] = []
    for grid in grids:
        keys = ", ".join(names.key(forest.keys.index(k)) for k in grid.keys)
        bucket = f"pmod(hash({keys}), {_buckets(counts[grid])})" if keys else "0"
        place = f"named_struct('{GRID}', {grid.number}, '{_BUCKET}', {bucket})"
        place_sql.append(f"WHEN {in_grids_sql(cell, [reader.grid_layout(grid)])} THEN {place}")
    columns = shards.columns
    compute = _Computation(queries, forest)

    def answers(place: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        """Answer the queries of a grid for the groups of one bucket, on an executor."""
        return compute.answers(place[0].as_py(), reader.table(table.select(columns), slices))

    placed = shards.selectExpr("*", f"CASE {' '.join(place_sql)} END AS {_PLACE}")
    wanted = placed.where(f"{_PLACE} IS NOT NULL").selectExpr(*columns, f"{_PLACE}.*")
    in_buckets = _in_buckets(wanted, [counts[grid] for grid in grids])
    return in_buckets.applyInArrow(answers, from_arrow_schema(_ANSWERED))


def answer_packed_shards(
    queries: Sequence[BoundQuery], shards: DataFrame, counts: Mapping[Grid, int], forest: Forest
) -> DataFrame:
    """The same for queries that go by columns, from packed shards."""
    grids = dict.fromkeys(map(forest.grid_of, queries))
    buckets = {grid.number: _buckets(counts[grid]) for grid in grids}
    keys = {grid.number: [names.key(forest.keys.index(k)) for k in grid.keys] for grid in grids}
    compute = _Computation(queries, forest)

    def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put shards of a grid into buckets by their keys, on an executor."""
        for batch in batches:
            for grid, part in zip(
                batch.column(GRID).to_pylist(), batch.column(PACKED), strict=True
            ):
                table = unpacked([part])
                bucket_of = _bucket_numbers(table.select(keys[grid]), buckets[grid])
                for bucket in np.unique(bucket_of):
                    own = table.take(pa.array(np.flatnonzero(bucket_of == bucket)))
                    row = {GRID: grid, _BUCKET: int(bucket), PACKED: packed(own)}
                    yield pa.RecordBatch.from_pylist([row], _PLACED)

    def answers(place: tuple[pa.Scalar, ...], parts: pa.Table) -> pa.Table:
        """Answer the queries of a grid for the groups of one bucket, on an executor."""
        grid = place[0].as_py()
        table = ShardTable(
            no_shards(forest.codebook), forest, apart={grid: unpacked(parts[PACKED])}
        )
        return compute.answers(grid, table)

    wanted = shards.where(f"{GRID} IN ({', '.join(map(str, buckets))})").select(GRID, PACKED)
    placed = wanted.mapInArrow(place, from_arrow_schema(_PLACED))
    in_buckets = _in_buckets(placed, [counts[grid] for grid in grids])
    return in_buckets.applyInArrow(answers, from_arrow_schema(_ANSWERED))


class _Computation:
    """Answers all queries of a grid at once, on an executor."""

    def __init__(self, queries: Sequence[BoundQuery], forest: Forest) -> None:
        self._queries: dict[int, list[tuple[int, BoundQuery]]] = {}
        for number, query in enumerate(queries):
            self._queries.setdefault(forest.grid_of(query).number, []).append((number, query))

    def answers(self, grid: int, table: ShardTable) -> pa.Table:
        """The packed aggregates of each query of a grid; one that fails affects no other."""
        conditions = ConditionCache()
        found = [_answered(n, query, table, conditions) for n, query in self._queries[grid]]
        return pa.Table.from_pylist(found, _ANSWERED)


def _answered(
    number: int, query: BoundQuery, table: ShardTable, conditions: ConditionCache
) -> dict[str, object]:
    """The packed aggregates of one query, or its error."""
    try:
        aggregated = answer(query, table, conditions)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is this query's alone)
        found = error if isinstance(error, GinghamError) else failed_answer(error)
        return {_QUERY: number, _COUNT: 0, _ERROR: [found.what, found.why, found.instead]}
    return {_QUERY: number, _COUNT: aggregated.num_rows, PACKED: packed(aggregated)}


def _in_buckets(placed: DataFrame, counts: Sequence[int]) -> GroupedData:
    """Shards by grid and bucket, in as many tasks as they are worth; `counts` are those of grids.

    Spark's own number of tasks knows nothing of the size of shards that are packed.
    """
    buckets = sum(map(_buckets, counts))
    cores = placed.sparkSession.sparkContext.defaultParallelism
    tasks = min(buckets, max(buckets // _BUCKETS_PER_TASK, _TASKS_PER_CORE * cores))
    return placed.repartition(tasks, GRID, _BUCKET).groupBy(GRID, _BUCKET)


def _buckets(shards: int) -> int:
    """How many buckets so many shards are put into."""
    return max(1, shards // _SHARDS_PER_BUCKET)


def _bucket_numbers(keys: pa.Table, buckets: int) -> Ints:
    """The bucket of each row: the same for the same keys, in whichever process."""
    hashes = np.zeros(keys.num_rows, dtype=np.uint64)
    if buckets > 1:
        for column in keys.columns:
            codes = coded(flat(column))
            of_value = [zlib.crc32(repr(value).encode()) for value in codes.values.to_pylist()]
            hashes = hashes * np.uint64(1_000_003) + np.array(of_value, np.uint64)[codes.numbers]
    return (hashes % np.uint64(buckets)).astype(np.int64)
