"""Binding: Spark tells the types of a query, or refuses it."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from gingham.core import names
from gingham.logical.query import Query
from gingham.logical.risk import RiskOf
from gingham.plan.bind_types import bind_types, expressions_to_type
from gingham.plan.bound import BoundQuery
from gingham.spark.expression_types import ExpressionTypes
from gingham.spark.spark_errors import refused_by_spark, unknown_type


def bind_query(
    query: Query, types: ExpressionTypes, time: str, risk: RiskOf, *, ansi: bool
) -> BoundQuery:
    """Let Spark tell the types of a query's expressions; raises its complaint in three parts."""
    try:
        known_types = types.names(expressions_to_type(query))
        schema = _aggregated_schema(query, types, time)
    except (AnalysisException, ParseException) as error:
        raise refused_by_spark(error) from None
    except PySparkException as error:
        raise unknown_type(error) from None
    return bind_types(query, known_types, schema, risk, ansi=ansi)


def _aggregated_schema(query: Query, types: ExpressionTypes, time: str) -> pa.Schema:
    """The Arrow schema of a query's window bounds, keys and aggregates, as Spark types them."""
    by_rows = query.window.clock.by_rows
    instant = LongType() if by_rows else types.rows.schema[time].dataType
    keys = types.scalars(query.keys)
    calls = [selected.sql for selected in query.aggregates]
    values = types.aggregates(calls)
    fields = [
        StructField(names.WINDOW_START, instant),
        StructField(names.WINDOW_END, instant),
        *(StructField(names.key(i), keys[k]) for i, k in enumerate(query.keys)),
        *(StructField(names.aggregate(i), values[c]) for i, c in enumerate(calls)),
    ]
    return to_arrow_schema(StructType(fields).toNullable(), timezone="UTC")
