"""A chain of nested SELECTs over a DataFrame, given to Spark as one SQL statement.

Every DataFrame method called from Python costs a dozen calls to the JVM; for a small batch these
calls are most of its cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from pyspark.sql import DataFrame

_view_numbers = count()


class _Select(NamedTuple):
    """A SELECT of these columns, and its WHERE clause if it has one."""

    columns: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class SelectChain:
    """A DataFrame, and the SELECTs to apply to it, the first one innermost."""

    rows: DataFrame
    steps: tuple[_Select, ...] = ()

    def with_columns(self, *columns: str) -> SelectChain:
        """Nest one more SELECT of all columns and these, each written as `sql AS name`."""
        return self.select("*", *columns) if columns else self

    def select(self, *columns: str) -> SelectChain:
        """Nest one more SELECT of only these columns."""
        return SelectChain(self.rows, (*self.steps, _Select(", ".join(columns))))

    def where(self, condition: str) -> SelectChain:
        """Nest one more SELECT, of the rows that meet a condition."""
        return SelectChain(self.rows, (*self.steps, _Select("*", f" WHERE {condition}")))

    def to_dataframe(self, group_by: str = "") -> DataFrame:
        """The nested SELECTs as one DataFrame; `group_by` is for the outermost of them."""
        if not self.steps:
            return self.rows
        spark, view = self.rows.sparkSession, f"__gingham_{next(_view_numbers)}"
        text = view
        for columns, where in self.steps:
            text = f"(SELECT {columns} FROM {text}{where})"  # noqa: S608  (every part is ours, or checked)
        text = text.removeprefix("(").removesuffix(")")
        self.rows.createOrReplaceTempView(view)
        try:
            return spark.sql(f"{text} GROUP BY {group_by}" if group_by else text)
        finally:
            spark.catalog.dropTempView(view)
