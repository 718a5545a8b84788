"""SELECTs over a DataFrame, written down first and given to Spark as one statement.

Each step that is given to Spark alone costs a dozen calls to the JVM, which is most of what a
small batch costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from pyspark.sql import DataFrame

_numbers = count()


@dataclass(frozen=True, slots=True)
class Draft:
    """Rows, and what is to be selected from them, innermost first."""

    rows: DataFrame
    steps: tuple[str, ...] = ()

    def plus(self, *columns: str) -> Draft:
        """All columns and these."""
        return self.select("*", *columns) if columns else self

    def select(self, *columns: str) -> Draft:
        """These columns."""
        return Draft(self.rows, (*self.steps, ", ".join(columns)))

    def made(self, group_by: str = "") -> DataFrame:
        """The DataFrame, with the last step grouped."""
        if not self.steps:
            return self.rows
        spark, name = self.rows.sparkSession, f"__gingham_{next(_numbers)}"
        text = name
        for step in self.steps:
            text = f"(SELECT {step} FROM {text})"  # noqa: S608  (every part is ours, or checked)
        text = text.removeprefix("(").removesuffix(")")
        self.rows.createOrReplaceTempView(name)
        try:
            return spark.sql(f"{text} GROUP BY {group_by}" if group_by else text)
        finally:
            spark.catalog.dropTempView(name)
