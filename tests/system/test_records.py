"""With fragments reduced to records, answers are still those of each query alone."""

from collections.abc import Mapping

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from gingham import Loom
from gingham.core.arrays import Ints
from gingham.optimizer.cost import Cost
from gingham.plan.forest import Forest
from gingham.session.batch import BatchSession
from gingham.session.choose_records import OccupiedCells
from gingham.spark.rows_to_records import occupied_cells
from tests.oracle.compare import assert_same
from tests.strategies.cases import Case, cases, register_functions
from tests.strategies.queries import STREAM, TIME
from tests.strategies.surprises import surprises

# On a busy machine even drawing an example takes long.
_FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=10, suppress_health_check=_FIXTURES)
@given(case=cases(max_queries=6))
def test_records_equal_the_reference(spark: SparkSession, case: Case):
    _check(spark, case)


def test_records_equal_the_reference_where_sql_surprises(spark: SparkSession):
    _check(spark, surprises())


@settings(max_examples=6, suppress_health_check=_FIXTURES)
@given(case=cases(max_queries=5), data=st.data())
def test_fragments_that_were_not_met_are_sent_as_they_are(
    spark: SparkSession, case: Case, data: st.DataObject
):
    seed = data.draw(st.integers(0, 1_000), label="seed")
    of = {f"q{i}": data.draw(st.integers(0, 2), label="tree") for i in range(5)}
    most = data.draw(st.sampled_from([1_000_000, 0]), label="most on the driver")

    def overlooked(enriched: DataFrame, forest: Forest, folded_cells: Mapping[int, Ints]) -> Ints:
        cells = occupied_cells(enriched, forest, folded_cells)
        return cells[np.random.default_rng(seed).random(len(cells)) < 0.5]

    _check(spark, case, most, of, overlooked)


def _check(
    spark: SparkSession,
    case: Case,
    most: int = 1_000_000,
    trees: dict[str, int] | None = None,
    occupied: OccupiedCells = occupied_cells,
) -> None:
    register_functions(spark)
    loom = Loom(spark).stream(STREAM, case.dataframe(spark), time=TIME)
    for name, (_, key) in case.tables.items():
        loom.table(name, case.table_dataframe(spark, name), key=key)
    for number, query in enumerate(case.queries):
        loom.add(query, name=f"q{number}")
    if trees is not None:
        trees = {name: trees[name] for name in loom.queries}
    loom._batch = BatchSession(spark, loom._sources, Cost(), occupied)
    answers = loom.run(send_records=True, most_on_driver=most, trees=trees)
    for name, query in zip(loom.queries, case.queries, strict=True):
        assert_same(case.expected(query), answers.arrow(name).to_pylist(), query=query)
    answers.release()
