"""Functions of the session that are not Spark's own: those that its owner has registered."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

_BUILT_IN = "org.apache.spark.sql.catalyst."


class SessionFunctions:
    """Tells which functions queries may call beyond Spark's harmless ones."""

    def __init__(self, spark: SparkSession, allow: Iterable[str] = ()) -> None:
        self._spark = spark
        self._allow = frozenset(name.lower() for name in allow)

    def is_allowed(self, name: str) -> bool:
        """Whether a function was registered by the owner of the session, or allowed by name.

        A name that is unknown to Spark is allowed, too: Spark refuses it with its own words.
        """
        if name in self._allow:
            return True
        try:
            return not (self._spark.catalog.getFunction(name).className or "").startswith(_BUILT_IN)
        except AnalysisException:
            return True
