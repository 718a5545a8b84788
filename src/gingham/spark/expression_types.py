"""The types of SQL expressions over a DataFrame, as Spark's analyzer tells them."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField


def column_types(rows: DataFrame) -> dict[str, str]:
    """The types of a DataFrame's columns by name, as Spark writes them (`bigint`, `string`)."""
    return {field.name: type_name(field) for field in rows.schema.fields}


def type_name(field: StructField) -> str:
    """The name of a column's type; that of CHAR(n) and VARCHAR(n) stands in its metadata.

    Spark compares values of CHAR(n) with blanks at their ends, unlike those of other strings.
    """
    return field.metadata.get(_CHAR_OR_VARCHAR, field.dataType.simpleString())


_CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"


class ExpressionTypes:
    """A cache of the types of SQL expressions over one DataFrame.

    Spark needs some milliseconds to analyse an expression, and most expressions of the thousandth
    query over a stream occur in earlier queries.
    """

    def __init__(self, rows: DataFrame) -> None:
        self.rows = rows
        self._scalars: dict[str, StructField] = {}
        self._aggregates: dict[str, DataType] = {}

    def names(self, expressions: Iterable[str]) -> dict[str, str]:
        """The names of the types of expressions over a row, by their SQL."""
        return {sql: type_name(field) for sql, field in self._fields(expressions).items()}

    def scalars(self, expressions: Iterable[str]) -> dict[str, DataType]:
        """The Spark types of expressions over a row, by their SQL; raises what Spark raises."""
        return {sql: field.dataType for sql, field in self._fields(expressions).items()}

    def _fields(self, expressions: Iterable[str]) -> dict[str, StructField]:
        """The columns that expressions over a row give, by their SQL; raises what Spark raises."""
        wanted = sorted(set(expressions))
        new = [sql for sql in wanted if sql not in self._scalars]
        if new:
            fields = self.rows.selectExpr(*new).schema.fields
            self._scalars |= dict(zip(new, fields, strict=True))
        return {sql: self._scalars[sql] for sql in wanted}

    def aggregates(self, calls: Iterable[str]) -> dict[str, DataType]:
        """The Spark types of aggregate calls, by their SQL; raises what Spark raises."""
        wanted = sorted(set(calls))
        new = [sql for sql in wanted if sql not in self._aggregates]
        if new:
            fields = self.rows.agg(*(F.expr(sql) for sql in new)).schema.fields
            self._aggregates |= {sql: f.dataType for sql, f in zip(new, fields, strict=True)}
        return {sql: self._aggregates[sql] for sql in wanted}
