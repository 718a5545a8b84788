"""The answers of one shared run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from gingham.core import names
from gingham.core.errors import AnswerError, GinghamError
from gingham.logical.query import Query
from gingham.spark.alone import finish
from gingham.spark.failures import SPARK_ERRORS, failed_job


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a run did, and the seconds it took."""

    queries: int
    shards: int
    grids: int
    cells: int
    partials: int
    in_executors: tuple[str, ...]  # queries whose answers are computed where the shards are
    seconds: Mapping[str, float]
    apart: tuple[str, ...] = ()  # queries that raised, or might have, and run alone
    fragments: tuple[str, ...] = ()  # what was sent in place of shards, for each grid

    @classmethod
    def total(cls, parts: Sequence[Statistics]) -> Statistics:
        """The sums over several streams."""
        seconds: Counter[str] = Counter()
        for part in parts:
            seconds.update(part.seconds)
        return cls(
            queries=sum(p.queries for p in parts),
            shards=sum(p.shards for p in parts),
            grids=sum(p.grids for p in parts),
            cells=sum(p.cells for p in parts),
            partials=sum(p.partials for p in parts),
            in_executors=tuple(name for p in parts for name in p.in_executors),
            seconds=dict(seconds),
            apart=tuple(name for p in parts for name in p.apart),
            fragments=tuple(notice for p in parts for notice in p.fragments),
        )


_TAG = "__query"
Slots = pa.Table | DataFrame | GinghamError  # an answer before SELECT's arithmetic, or why not


def finished(
    spark: SparkSession, queries: Mapping[str, Query], slots: Mapping[str, pa.Table]
) -> tuple[dict[str, pa.Table], dict[str, GinghamError]]:
    """Answers from slots, and why some have none.

    Queries with the same SELECT and HAVING over their slots go through Spark together.
    """
    answers: dict[str, pa.Table] = {}
    alike: dict[object, list[str]] = {}
    for name, table in slots.items():
        query = queries[name]
        if query.plain:
            answers[name] = _picked(table, query)
        else:
            alike.setdefault((table.schema, query.outputs, query.having), []).append(name)
    failed: dict[str, GinghamError] = {}
    for together in alike.values():
        try:
            answers |= _finished_alike(spark, queries[together[0]], {n: slots[n] for n in together})
        except SPARK_ERRORS as error:
            if len(together) == 1:
                failed[together[0]] = failed_job(error)
                continue
            # One of them raised; each gets what it would get alone.
            for name in together:
                found, reasons = finished(spark, queries, {name: slots[name]})
                answers |= found
                failed |= reasons
    return {name: table for name, table in answers.items() if table.num_rows}, failed


def _finished_alike(
    spark: SparkSession, query: Query, slots: Mapping[str, pa.Table]
) -> dict[str, pa.Table]:
    tagged = pa.concat_tables(
        table.append_column(_TAG, pa.array(np.full(table.num_rows, i, dtype=np.int32)))
        for i, table in enumerate(slots.values())
    )
    rows = spark.createDataFrame(tagged, from_arrow_schema(tagged.schema))
    table = finish(rows, query, _TAG).toArrow()
    tags, table = table[_TAG].to_numpy(), table.drop_columns([_TAG])
    return {name: table.filter(pa.array(tags == i)) for i, name in enumerate(slots)}


def _picked(slots: pa.Table, query: Query) -> pa.Table:
    """The answer of a query whose outputs are slots."""
    picked = [names.WINDOW_START, names.WINDOW_END, *(o.sql for o in query.outputs)]
    called = [names.WINDOW_START, names.WINDOW_END, *(o.name for o in query.outputs)]
    return slots.select(picked).rename_columns(called)


class Answers(Mapping[str, DataFrame]):
    """DataFrames by query name: window_start, window_end, the keys, the aggregates.

    A query that fails, as it would fail alone in Spark, raises when its answer is asked for; the
    others have theirs.
    """

    def __init__(
        self,
        spark: SparkSession,
        queries: Mapping[str, Query],
        slots: Mapping[str, Slots],
        statistics: Statistics,
        free: Callable[[], object] = lambda: None,
    ) -> None:
        self._spark = spark
        self.queries = queries
        self.slots = slots
        self._free = free
        self.statistics = statistics

    @classmethod
    def combined(
        cls, spark: SparkSession, parts: Sequence[Answers], order: Sequence[str] = ()
    ) -> Answers:
        """The answers of several runs as one, in this order or one after the other."""
        queries = {n: q for part in parts for n, q in part.queries.items()}
        slots = {n: s for part in parts for n, s in part.slots.items()}

        def release() -> None:
            for part in parts:
                part.release()

        statistics = Statistics.total([part.statistics for part in parts])
        return cls(spark, {n: queries[n] for n in order or queries}, slots, statistics, release)

    @classmethod
    def apart(cls, spark: SparkSession, slots: Mapping[str, tuple[Query, DataFrame]]) -> Answers:
        """Queries that run alone, each when its answer is asked for."""
        queries = {name: query for name, (query, _) in slots.items()}
        statistics = Statistics(len(slots), 0, 0, 0, 0, (), {}, apart=tuple(slots))
        return cls(spark, queries, {n: rows for n, (_, rows) in slots.items()}, statistics)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.queries)

    def __getitem__(self, name: str) -> DataFrame:
        found = self._found(name)
        if isinstance(found, pa.Table):
            found = self._spark.createDataFrame(found, from_arrow_schema(found.schema))
        return finish(found, self.queries[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def arrow(self, name: str) -> pa.Table:
        """The answer as an Arrow table; without a Spark job where none is needed."""
        found, query = self._found(name), self.queries[name]
        if isinstance(found, DataFrame) or not query.plain:
            return self[name].toArrow()
        return _picked(found, query)

    def failed(self) -> Mapping[str, GinghamError]:
        """The queries that fail, with the reason."""
        return {n: e for n, e in self.slots.items() if isinstance(e, GinghamError)}

    def release(self) -> None:
        """Free what executors keep for answers that were not collected."""
        self._free()

    def _found(self, name: str) -> pa.Table | DataFrame:
        if name not in self.slots:
            raise AnswerError(
                f"there is no query {name!r}",
                "answers has " + (", ".join(self.queries) or "none"),
                "one of these names",
            )
        found = self.slots[name]
        if isinstance(found, GinghamError):
            raise found
        return found
