"""Stand-ins: views without rows, over which Spark analyses queries as they were written.

A query is understood if Spark finds that two statements mean the same: the user's own text, and
what Gingham has made of it. Both are over stand-ins, which have the columns of the relations, and
a column `window` in place of window(...).
"""

from __future__ import annotations

from itertools import count

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, LongType, StructField, StructType

from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.spark.spark_errors import SPARK_ERRORS, refused_by_spark, unknown_type
from gingham.spark.spark_session import without_log_of_errors
from gingham.sql.comparison import Comparison
from gingham.sql.windows import window_marker

_numbers = count()
_RAW_STRINGS = "spark.sql.parser.escapedStringLiterals"


class StandIns:
    """The stand-ins of a session's relations, by their names in lower case."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.views: dict[str, str] = {}
        self.views_by_rows: dict[str, str] = {}  # of streams: windows are bounded by positions
        self._windows: set[tuple[str, str, str]] = set()  # pairs that mean the same, with a view

    def add(self, name: str, rows: DataFrame, time: str | None = None) -> str:
        """Make the stand-in of a relation; that of a stream has a column for its windows."""
        schema = rows.schema
        if time is not None:
            self.views_by_rows[name.lower()] = self._view(_with_window(schema, LongType()))
            schema = _with_window(schema, schema[time].dataType)
        view = self.views[name.lower()] = self._view(schema)
        return view

    def _view(self, schema: StructType) -> str:
        """Make a view without rows; gives its name."""
        view = f"__gingham_stand_in_{next(_numbers)}"
        self._spark.createDataFrame([], schema).createOrReplaceTempView(view)
        return view

    def compare(self, comparison: Comparison) -> list[str]:
        """Raise unless Spark reads a query as Gingham does; gives the names of its columns."""
        self._refuse_raw_backslashes(comparison.written)
        with without_log_of_errors():
            columns = self._compare_statements(comparison)
            for call in comparison.windows:
                for written, understood in call.lengths:
                    self._compare_windows(written, understood, comparison.view)
            return columns

    def _refuse_raw_backslashes(self, written: str) -> None:
        """Raise for a backslash that Spark is told to take for itself: both texts would look equal.

        Where a constant is compared with a cut, Gingham reads its escapes.
        """
        if "\\" in written and self._spark.conf.get(_RAW_STRINGS) == "true":
            raise QueryError(
                "a backslash in a query",
                f"{_RAW_STRINGS} is set, and Gingham reads strings as Spark does without it",
                "the session without this setting",
            )

    def _compare_statements(self, comparison: Comparison) -> list[str]:
        """Compare the two statements of a query; gives the columns of the user's own."""
        try:
            written = self._spark.sql(comparison.written)
        except SPARK_ERRORS as error:
            # Its parser may also run out of its stack, or stumble over a number.
            raise refused_by_spark(error) from None
        try:
            same = written.sameSemantics(self._spark.sql(comparison.check))
        except SPARK_ERRORS:
            same = False
        if not same:
            raise QueryError(
                "the query could not be read without changing its meaning",
                "Spark reads its text in another way than Gingham: this is a limit of Gingham's, "
                "not a mistake in the query",
                "a simpler spelling: fewer names that are also words of SQL, more parentheses",
            )
        try:
            return written.columns
        except PySparkException as error:
            raise unknown_type(error) from None

    def _compare_windows(self, written: str, understood: str, view: str) -> None:
        """Raise unless Spark takes two calls of window(...) for the same windows."""
        if (written, understood, view) in self._windows:
            return
        try:
            one, other = (
                self._spark.sql(f"SELECT {sql} AS w FROM {quoted(view)}")  # noqa: S608
                for sql in (written, understood)
            )
        except SPARK_ERRORS as error:
            raise refused_by_spark(error) from None
        if not one.sameSemantics(other):
            raise QueryError(
                f"{written} is another window in Spark",
                "its lengths mean something else there",
                "lengths as numbers with units: '90 seconds'",
            )
        self._windows.add((written, understood, view))


def _with_window(schema: StructType, bound: DataType) -> StructType:
    """The columns of a stream, and one for its windows, whose bounds have this type."""
    taken = {column.lower() for column in schema.names}
    struct = StructType([StructField("start", bound), StructField("end", bound)])
    marker = window_marker(taken.__contains__)
    return StructType([*schema.fields, StructField(marker, struct)])
