"""The answers of one shared run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from gingham.core.errors import AnswerError, GinghamError
from gingham.logical.query import Query
from gingham.spark.far_answers import FarAnswers
from gingham.spark.outputs_together import OutputsTogether
from gingham.spark.spark_errors import SPARK_ERRORS, failed_alone
from gingham.spark.to_dataframe import to_dataframe
from gingham.spark.unshared import select_outputs


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a batch run did: queries, shards, grids, and the seconds of each step."""

    queries: int
    shards: int
    grids: int
    cells: int
    partials: int
    in_executors: tuple[str, ...]  # queries whose answers are computed where the shards are
    seconds: Mapping[str, float]
    apart: tuple[str, ...] = ()  # queries that raised, or might have, and run alone
    fragments: tuple[str, ...] = ()  # what was sent in place of shards, for each grid
    detours: tuple[str, ...] = ()  # what did not run as planned, and why

    @classmethod
    def total(cls, parts: Sequence[Statistics]) -> Statistics:
        """The statistics of a batch run over several streams, added up."""
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
            detours=tuple(line for p in parts for line in p.detours),
        )


class QueryAnswer(Protocol):
    """The answer of one query, wherever its rows are; a failed query raises its error."""

    @property
    def error(self) -> GinghamError | None:
        """The reason why the query failed in Spark, if it did."""
        ...

    def dataframe(self) -> DataFrame:
        """The answer of the query as a Spark DataFrame."""
        ...

    def arrow(self) -> pa.Table:
        """The answer of the query as an Arrow table; without a Spark job if none is needed."""
        ...


@dataclass(frozen=True, slots=True)
class CollectedAnswer:
    """An answer whose aggregates by window and keys are on the driver."""

    spark: SparkSession
    query: Query
    outputs: OutputsTogether
    error: None = None

    def dataframe(self) -> DataFrame:
        """The answer as a DataFrame made from the driver's rows, with HAVING and SELECT."""
        aggregated = self.outputs.aggregated(self.query.name)
        return select_outputs(to_dataframe(self.spark, aggregated), self.query)

    def arrow(self) -> pa.Table:
        """The answer as an Arrow table; Spark applies HAVING and SELECT of many if need be."""
        return self.outputs.answer(self.query.name)


@dataclass(frozen=True, slots=True)
class LazyAnswer:
    """An answer that executors compute when it is needed, with the others that they have."""

    name: str
    far: FarAnswers
    error: None = None

    def dataframe(self) -> DataFrame:
        """The answer as a DataFrame that Spark computes on the executors."""
        return self.far.dataframe(self.name)

    def arrow(self) -> pa.Table:
        """Let Spark compute the answer, and collect it as an Arrow table."""
        return self.far.answer(self.name)


@dataclass(frozen=True)  # no slots: cached properties need a __dict__
class AloneAnswer:
    """The answer of a query that brought the shared job down: a Spark job of its own.

    Alone it may well run, or fail; which of the two is found out when somebody asks.
    """

    query: Query
    aggregated: DataFrame

    @property
    def error(self) -> GinghamError | None:
        """The reason why the query fails alone, too; None if it does not."""
        return self._error

    @cached_property
    def _error(self) -> GinghamError | None:
        """The error of running the query alone, found once."""
        try:
            self._outputs.write.format("noop").mode("overwrite").save()
        except SPARK_ERRORS as error:
            return failed_alone(self.query.name, error)
        return None

    @property
    def _outputs(self) -> DataFrame:
        """The answer as a DataFrame that Spark computes without sharing."""
        return select_outputs(self.aggregated, self.query)

    def dataframe(self) -> DataFrame:
        """The answer as a DataFrame; raises why the query fails, if it does."""
        if self.error is not None:
            raise self.error
        return self._outputs

    def arrow(self) -> pa.Table:
        """Let Spark compute the answer, and collect it; raises why the query fails."""
        try:
            return self._outputs.toArrow()
        except SPARK_ERRORS as error:
            raise failed_alone(self.query.name, error) from error


@dataclass(frozen=True, slots=True)
class FailedAnswer:
    """The answer of a query that failed, as it would fail alone in Spark."""

    error: GinghamError

    def dataframe(self) -> DataFrame:
        """Raise the error that the query failed with."""
        raise self.error

    def arrow(self) -> pa.Table:
        """Raise the error that the query failed with."""
        raise self.error


class Answers(Mapping[str, DataFrame]):
    """DataFrames by query name: window_start, window_end, the keys, the aggregates.

    A query that fails, as it would fail alone in Spark, raises when its answer is asked for; the
    others have theirs.
    """

    def __init__(
        self,
        answers: Mapping[str, QueryAnswer],
        statistics: Statistics,
        release: Callable[[], object] = lambda: None,
    ) -> None:
        self.answers = answers
        self._release = release
        self.statistics = statistics

    @classmethod
    def combined(cls, parts: Sequence[Answers], order: Sequence[str] = ()) -> Answers:
        """The answers of several batch runs as one, in the order of these query names if given."""
        answers = {name: a for part in parts for name, a in part.answers.items()}

        def release() -> None:
            """Free what the executors keep for any of the runs."""
            for part in parts:
                part.release()

        statistics = Statistics.total([part.statistics for part in parts])
        return cls({name: answers[name] for name in order or answers}, statistics, release)

    @classmethod
    def apart(cls, answers: Mapping[str, AloneAnswer], why: Sequence[str]) -> Answers:
        """The answers of queries that run alone in Spark, each when it is asked for, and why."""
        statistics = Statistics(
            queries=len(answers),
            shards=0,
            grids=0,
            cells=0,
            partials=0,
            in_executors=(),
            seconds={},
            apart=tuple(answers),
            detours=tuple(why),
        )
        return cls(answers, statistics)

    def with_detour(self, detour: str) -> Answers:
        """The same answers, with a line about what did not run as planned."""
        statistics = replace(self.statistics, detours=(detour, *self.statistics.detours))
        return Answers(self.answers, statistics, self._release)

    def holding(self, release: Callable[[], object]) -> Answers:
        """The same answers, with something more to free once no executor has to answer any more."""

        def release_both() -> None:
            """Free what the executors keep for answers, and what these are made of."""
            self._release()
            release()

        if not self.statistics.in_executors:
            release()
            return self
        return Answers(self.answers, self.statistics, release_both)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries that have been run."""
        return tuple(self.answers)

    def __getitem__(self, name: str) -> DataFrame:
        return self._answer(name).dataframe()

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def arrow(self, name: str) -> pa.Table:
        """The answer of a query as an Arrow table; without a Spark job if none is needed."""
        return self._answer(name).arrow()

    def failed(self) -> Mapping[str, GinghamError]:
        """The queries that failed in the run, with the reason."""
        return {name: a.error for name, a in self.answers.items() if a.error is not None}

    def release(self) -> None:
        """Free shards that executors keep for answers that were not collected."""
        self._release()

    def _answer(self, name: str) -> QueryAnswer:
        """The answer of a query by its name; raises if no such query was run."""
        if name not in self.answers:
            raise AnswerError(
                f"there is no query {name!r}",
                "answers has " + (", ".join(self.answers) or "none"),
                "one of these names",
            )
        return self.answers[name]
