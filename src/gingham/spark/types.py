"""What Spark says about expressions over one DataFrame; it is asked about each only once."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType


def column_types(rows: DataFrame) -> dict[str, str]:
    """The columns of some rows, and their types as Spark writes them."""
    return {field.name: field.dataType.simpleString() for field in rows.schema.fields}


class Types:
    """The types of expressions over some rows, remembered.

    Spark needs some milliseconds to analyse a query, and the thousandth query over a stream
    mostly says what others said before.
    """

    def __init__(self, rows: DataFrame) -> None:
        self.rows = rows
        self._scalars: dict[str, DataType] = {}
        self._aggregates: dict[str, DataType] = {}

    def scalars(self, expressions: Iterable[str]) -> dict[str, DataType]:
        """The types of expressions over a row; raises what Spark raises."""
        wanted = sorted(set(expressions))
        new = [sql for sql in wanted if sql not in self._scalars]
        if new:
            fields = self.rows.selectExpr(*new).schema.fields
            self._scalars |= {sql: f.dataType for sql, f in zip(new, fields, strict=True)}
        return {sql: self._scalars[sql] for sql in wanted}

    def aggregates(self, calls: Iterable[str]) -> dict[str, DataType]:
        """The types of aggregates over all rows; raises what Spark raises."""
        wanted = sorted(set(calls))
        new = [sql for sql in wanted if sql not in self._aggregates]
        if new:
            fields = self.rows.agg(*(F.expr(sql) for sql in new)).schema.fields
            self._aggregates |= {sql: f.dataType for sql, f in zip(new, fields, strict=True)}
        return {sql: self._aggregates[sql] for sql in wanted}
