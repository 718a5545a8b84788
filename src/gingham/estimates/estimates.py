"""The estimates of a batch run, by query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from gingham.core.errors import AnswerError, GinghamError
from gingham.spark.to_dataframe import to_dataframe


@dataclass(frozen=True)
class Estimates(Mapping[str, DataFrame]):
    """Estimates of joins as DataFrames by query name: estimate, lower, upper, words, window bounds.

    The truth lies between lower and upper with the confidence that was asked for, or more. A query
    that fails raises when its answer is asked for; the others have theirs.
    """

    spark: SparkSession
    tables: Mapping[str, pa.Table | GinghamError]
    seconds: Mapping[str, float]

    def __getitem__(self, name: str) -> DataFrame:
        table = self.arrow(name)
        return to_dataframe(self.spark, table)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def arrow(self, name: str) -> pa.Table:
        """The estimates of a query as an Arrow table, without a Spark job."""
        if name not in self.tables:
            raise AnswerError(
                f"there is no query {name!r}",
                "estimates has " + (", ".join(self.tables) or "none"),
                "one of these names",
            )
        found = self.tables[name]
        if isinstance(found, GinghamError):
            raise found
        return found

    def failed(self) -> Mapping[str, GinghamError]:
        """The join queries that could not be estimated, with the reason."""
        return {n: e for n, e in self.tables.items() if isinstance(e, GinghamError)}
