"""Types without Spark are those that Spark gives, for all that golden workloads use."""

from __future__ import annotations

from pyspark.sql import SparkSession

from gingham.core.names import quoted
from gingham.plan.bind_types import expressions_to_type
from gingham.spark.expression_types import ExpressionTypes
from tests.planning.golden import parsed, workloads
from tests.planning.stand_in_types import type_of


def test_spark_gives_the_same_types(spark: SparkSession):
    for path in workloads():
        for query, columns in parsed(path) if path.parent.name != "share_sketches" else ():
            schema = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
            types = ExpressionTypes(spark.createDataFrame([], schema or "nothing int"))
            scalars = types.scalars({*expressions_to_type(query), *query.keys})
            aggregates = types.aggregates(selected.sql for selected in query.aggregates)
            for sql, kind in (*scalars.items(), *aggregates.items()):
                assert type_of(sql, columns) == kind.simpleString(), sql
