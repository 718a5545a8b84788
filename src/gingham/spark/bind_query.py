"""Binding: Spark tells the types of a query, or refuses it."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from gingham.core import names
from gingham.core.errors import QueryError
from gingham.logical.query import Query
from gingham.logical.try_form import ToTryForm
from gingham.plan.bind_types import bind_types, conditions_to_type, expressions_to_type
from gingham.plan.bound import BoundQuery
from gingham.spark.expression_types import ExpressionTypes
from gingham.spark.spark_errors import refused_by_spark
from gingham.spark.unshared import aggregate_windows, select_outputs


def bind_query(
    query: Query, types: ExpressionTypes, time: str, to_try_form: ToTryForm, *, ansi: bool
) -> BoundQuery:
    """Let Spark tell the types of a query's expressions; raises its complaint in three parts."""
    try:
        known_types = _known_types(query, types)
        schema = _aggregated_schema(query, types, time)
        if known_types is None or not query.plain:
            # Some errors only the query as a whole shows: Spark analyses all of it.
            aggregated = aggregate_windows(types.rows, query, time)
            select_outputs(aggregated, query).schema  # noqa: B018  (asks Spark)
    except (AnalysisException, ParseException) as error:
        raise refused_by_spark(error) from None
    if known_types is None:
        raise QueryError(
            f"a condition that is not boolean: {query.where_sql}",
            "a row is kept or not",
            "a comparison, for example x > 0",
        )
    return bind_types(query, known_types, schema, to_try_form, ansi=ansi)


def _known_types(query: Query, types: ExpressionTypes) -> dict[str, str] | None:
    """The types of all expressions in a query, by their SQL; None if a condition is not boolean."""
    scalars = types.scalars(expressions_to_type(query))
    known = {sql: kind.simpleString() for sql, kind in scalars.items()}
    kinds = types.scalars(conditions_to_type(query, known)).values()
    return known if all(kind.simpleString() == "boolean" for kind in kinds) else None


def _aggregated_schema(query: Query, types: ExpressionTypes, time: str) -> pa.Schema:
    """The Arrow schema of a query's window bounds, keys and aggregates, as Spark types them."""
    instant = types.rows.schema[time].dataType
    keys = types.scalars(query.keys)
    calls = [selected.sql for selected in query.aggregates]
    values = types.aggregates(calls)
    fields = [
        StructField(names.WINDOW_START, instant),
        StructField(names.WINDOW_END, instant),
        *(StructField(names.key(i), keys[k]) for i, k in enumerate(query.keys)),
        *(StructField(names.aggregate(i), values[c]) for i, c in enumerate(calls)),
    ]
    return to_arrow_schema(StructType(fields), timezone="UTC")
