"""The Spark session: getting one, and running jobs under other settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession


def active_or_new_session() -> SparkSession:
    """The active Spark session, or a new local one that uses all cores."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    # Python workers must be this Python, not whichever `python3` comes first on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.appName("gingham")
        .master(os.environ.get("SPARK_MASTER", "local[*]"))
        .config("spark.sql.shuffle.partitions", os.cpu_count() or 2)
        .config("spark.driver.memory", "4g")
        # With many trees the loop over rows is a method so large that HotSpot would interpret it.
        .config("spark.driver.defaultJavaOptions", "-XX:-DontCompileHugeMethods")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


@contextmanager
def without_adaptive_planning(spark: SparkSession, *, few_rows: bool = False) -> Generator[None]:
    """Run Spark jobs that shuffle little: a partition per core, no planning between stages.

    With `few_rows`, whole-stage code generation is off too: it takes longer than such rows do.
    """
    settings = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism),
    }
    if few_rows:
        settings["spark.sql.codegen.wholeStage"] = "false"
    with with_settings(spark, settings):
        yield


@contextmanager
def with_compiled_methods(spark: SparkSession) -> Generator[None]:
    """Run Spark jobs with many expressions: methods stay small enough for the JIT compiler.

    HotSpot interprets methods of more than 8,000 bytes. Spark would put a stage into one method
    whatever its size; above this limit it takes a method for each few expressions.
    """
    with with_settings(spark, {"spark.sql.codegen.hugeMethodLimit": "8000"}):
        yield


@contextmanager
def with_settings(spark: SparkSession, settings: Mapping[str, str]) -> Generator[None]:
    """Change settings of the Spark session for the body of a `with`, then restore them."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


@contextmanager
def without_log_of_errors() -> Generator[None]:
    """Keep PySpark from logging errors of queries that it raises, with all their stack traces."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def is_ansi(spark: SparkSession) -> bool:
    """True if the Spark session is in ANSI mode: it raises on overflow and division by zero."""
    return str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"
