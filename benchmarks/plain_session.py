"""A Spark session as users make it: two cores, and nothing set."""

import os
import sys

from pyspark.sql import SparkSession


def plain_session() -> SparkSession:
    """The active session, or a new one with Spark's defaults on two cores."""
    # Spark starts its Python workers as `python3` unless told otherwise.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.master("local[2]").appName("gingham benchmark").getOrCreate()
