"""Answers of the windows that a batch closes, computed on the driver or on the executors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from gingham.core.errors import GinghamError
from gingham.finals.answer import answer
from gingham.finals.frames import Due
from gingham.finals.row_counts import RowsDue
from gingham.finals.shards import ShardTable
from gingham.plan.bound import BoundQuery
from gingham.plan.codebook import Codebook
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest
from gingham.sinks.answer import Answer, LocalAnswer, StoredAnswer
from gingham.spark.on_executors import answer_due_on_executors
from gingham.spark.outputs_together import select_outputs_together
from gingham.spark.spark_errors import SPARK_ERRORS, failed_answer, failed_job
from gingham.spark.unshared import select_outputs
from gingham.stream.holes import Holes

DueWindows = Mapping[BoundQuery, Due | RowsDue]


@dataclass
class DueAnswers:
    """Collects answers by query, why some queries have none, and how long each took."""

    holes: Holes
    answers: dict[str, Answer] = field(default_factory=dict)
    failed: dict[str, GinghamError] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def on_driver(
        self, spark: SparkSession, due_windows: DueWindows, table: ShardTable, cells: ConditionCache
    ) -> None:
        """Answer due windows from shards on the driver; a query that fails affects no other."""
        slots: dict[str, pa.Table] = {}
        for query, due in due_windows.items():
            start = time.perf_counter()
            try:
                found = self.holes.outside(query.name, answer(query, table, cells, due))
            except GinghamError as error:
                self.failed[query.name] = error
            except Exception as error:  # noqa: BLE001  (whatever it is, it is this query's alone)
                self.failed[query.name] = failed_answer(error)
            else:
                if found.num_rows:
                    slots[query.name] = found
            self.seconds[query.name] = time.perf_counter() - start
        answers, failed = select_outputs_together(
            spark, {q.name: q.query for q in due_windows}, slots
        )
        self.answers |= {name: LocalAnswer(table) for name, table in answers.items()}
        self.failed |= failed

    def on_executors(
        self,
        due_windows: DueWindows,
        shards: DataFrame,
        forest: Forest,
        codebook: Codebook,
        store: Callable[[str, DataFrame], StoredAnswer],
    ) -> None:
        """Answer due windows from shards on the executors, which write answers into folders."""
        for query, due in due_windows.items():
            start = time.perf_counter()
            slots = self.holes.outside_on_executors(
                query.name, answer_due_on_executors(query, shards, forest, codebook, due)
            )
            try:
                found = store(query.name, select_outputs(slots, query.query))
            except SPARK_ERRORS as error:
                self.failed[query.name] = failed_job(error)
            else:
                if found.num_rows:
                    self.answers[query.name] = found
                else:
                    found.discard()
            self.seconds[query.name] = time.perf_counter() - start
