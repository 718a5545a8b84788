"""HAVING and SELECT of many queries, applied to aggregates on the driver by few Spark jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from gingham.core import names
from gingham.core.errors import GinghamError
from gingham.logical.query import Query
from gingham.spark.spark_errors import SPARK_ERRORS, failed_answer, failed_job
from gingham.spark.to_dataframe import to_dataframe

_QUESTION, _ROW = "__question", "__row"
# Bounds of one job: what Spark compiles, and what goes to it and back.
_MOST_TEXTS = 64
_MOST_ROWS = 1_000_000


class SelectedOutputs(NamedTuple):
    """The answers of some queries, and the errors of those that failed, both by query name."""

    answers: dict[str, pa.Table]
    failed: dict[str, GinghamError]


class OutputsTogether:
    """The answers of many queries: who asks for one that needs Spark gets its neighbours, too."""

    def __init__(
        self, spark: SparkSession, queries: Mapping[str, Query], aggregated: Mapping[str, pa.Table]
    ) -> None:
        self._spark = spark
        self._queries = queries
        self._aggregated = aggregated
        jobs = list(_jobs(queries, aggregated))
        self._job_of = {name: job for job in jobs for name in job}
        self._selected = SelectedOutputs({}, {})

    def aggregated(self, name: str) -> pa.Table:
        """The aggregates of a query by window and keys, before HAVING and SELECT."""
        return self._aggregated[name]

    def answer(self, name: str) -> pa.Table:
        """The answer of a query; raises why it has none."""
        if self._queries[name].plain:
            return _rename_outputs(self._aggregated[name], self._queries[name])
        answers, failed = self._selected
        if name not in answers and name not in failed:
            job = {other: self._aggregated[other] for other in self._job_of[name]}
            found = _select_in_one_job(self._spark, self._queries, job)
            answers.update(found.answers)
            failed.update(found.failed)
        if name in failed:
            raise failed[name]
        return answers[name]


def select_outputs_together(
    spark: SparkSession, queries: Mapping[str, Query], aggregated: Mapping[str, pa.Table]
) -> SelectedOutputs:
    """Apply HAVING and SELECT of many queries to their aggregates; drop answers without rows."""
    together = OutputsTogether(spark, queries, aggregated)
    found = SelectedOutputs({}, {})
    for name in aggregated:
        try:
            answer = together.answer(name)
        except GinghamError as error:
            found.failed[name] = error
        else:
            if answer.num_rows:
                found.answers[name] = answer
    return found


def _jobs(
    queries: Mapping[str, Query], aggregated: Mapping[str, pa.Table]
) -> Iterator[tuple[str, ...]]:
    """Queries that need Spark, by job: over the same columns, and with not too much to do."""
    alike: dict[pa.Schema, list[str]] = {}
    for name, table in aggregated.items():
        if not queries[name].plain:
            alike.setdefault(table.schema, []).append(name)
    for together in alike.values():
        job: list[str] = []
        texts: set[str] = set()
        rows = 0
        for name in together:
            more = _texts(queries[name])
            count = aggregated[name].num_rows
            if job and (len(texts | more) > _MOST_TEXTS or rows + count > _MOST_ROWS):
                yield tuple(job)
                job, texts, rows = [], set(), 0
            job.append(name)
            texts |= more
            rows += count
        yield tuple(job)


def _texts(query: Query) -> set[str]:
    """The SQL of a query that Spark evaluates: HAVING, and what SELECT computes."""
    return {*query.computed, *([] if query.having is None else [query.having])}


def _select_in_one_job(
    spark: SparkSession, queries: Mapping[str, Query], aggregated: Mapping[str, pa.Table]
) -> SelectedOutputs:
    """Apply HAVING and SELECT of queries over the same columns; one that fails affects no other."""
    try:
        return SelectedOutputs(_select(spark, queries, aggregated), {})
    except (*SPARK_ERRORS, pa.ArrowException) as error:
        if len(aggregated) == 1:
            why = (
                failed_answer(error) if isinstance(error, pa.ArrowException) else failed_job(error)
            )
            return SelectedOutputs({}, dict.fromkeys(aggregated, why))
        # One of them raised, or its outputs (VARIANT) cannot be NULL for rows of the others; it is
        # found by halves.
        halves = np.array_split(np.array(list(aggregated), dtype=object), 2)
        first, second = (
            _select_in_one_job(spark, queries, {name: aggregated[name] for name in half})
            for half in halves
        )
        return SelectedOutputs(first.answers | second.answers, first.failed | second.failed)


def _select(
    spark: SparkSession, queries: Mapping[str, Query], aggregated: Mapping[str, pa.Table]
) -> dict[str, pa.Table]:
    """Apply HAVING and SELECT of queries over the same columns, in one Spark job.

    Every row has the number of what its query asks, and is asked only that. What comes back are the
    numbers of the rows that HAVING keeps, and the outputs that had to be computed.
    """
    own = [queries[name] for name in aggregated]
    ends = np.cumsum([table.num_rows for table in aggregated.values()])
    # Not the query's number: the statement grows with what is asked, not with who asks.
    questions: dict[tuple[str | None, tuple[str, ...]], int] = {}
    asks = [questions.setdefault((q.having, q.computed), len(questions)) for q in own]
    numbers = np.repeat(np.array(asks, dtype=np.int32), np.diff(ends, prepend=0))
    whole = pa.concat_tables(aggregated.values())
    rows = whole.append_column(_QUESTION, pa.array(numbers)).append_column(
        _ROW, pa.array(np.arange(len(numbers)))
    )
    having = _askers([(sql, i) for (sql, _), i in questions.items() if sql is not None])
    computed = _askers([(sql, i) for (_, outputs), i in questions.items() for sql in outputs])
    columns = {sql: f"__output_{number}" for number, sql in enumerate(computed)}
    asked = to_dataframe(spark, rows)
    if having:
        # As Spark does: HAVING takes what can be cast to a boolean.
        branches = (f"WHEN {who} THEN CAST(({sql}) AS BOOLEAN)" for sql, who in having.items())
        asked = asked.where(f"CASE {' '.join(branches)} ELSE true END")
    found = asked.selectExpr(
        _ROW,
        *(f"CASE WHEN {who} THEN {sql} END AS {columns[sql]}" for sql, who in computed.items()),
    ).toArrow()
    kept = found[_ROW].to_numpy()
    whole = whole.take(found[_ROW])
    bounds = np.searchsorted(kept, [0, *ends])
    answers: dict[str, pa.Table] = {}
    for name, query, low, high in zip(aggregated, own, bounds, bounds[1:], strict=False):
        values = [
            (found[columns[o.sql]] if o.sql in columns else whole[o.sql]).slice(low, high - low)
            for o in query.outputs
        ]
        window = [whole[c].slice(low, high - low) for c in (names.WINDOW_START, names.WINDOW_END)]
        answers[name] = pa.Table.from_arrays([*window, *values], names=_output_names(query))
    return answers


def _askers(texts: Sequence[tuple[str, int]]) -> dict[str, str]:
    """For each different text, the SQL condition that a row's question has it."""
    askers: dict[str, list[str]] = {}
    for sql, number in texts:
        askers.setdefault(sql, []).append(str(number))
    return {sql: f"{_QUESTION} IN ({', '.join(numbers)})" for sql, numbers in askers.items()}


def _rename_outputs(aggregated: pa.Table, query: Query) -> pa.Table:
    """The answer of a query whose SELECT has only keys, aggregates and window bounds."""
    columns = [names.WINDOW_START, names.WINDOW_END, *(o.sql for o in query.outputs)]
    return aggregated.select(columns).rename_columns(_output_names(query))


def _output_names(query: Query) -> list[str]:
    """The names of the columns of a query's answer."""
    return [names.WINDOW_START, names.WINDOW_END, *(o.name for o in query.outputs)]
