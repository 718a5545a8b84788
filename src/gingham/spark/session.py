"""The Spark session, and what Gingham needs to know of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


def session() -> SparkSession:
    """The active session, or a new local one that uses all cores."""
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
def planned_once(spark: SparkSession, *, few: bool = False) -> Generator[None]:
    """Run a job that shuffles little: one partition per core, and no planning between stages.

    Few rows also take less time than generating code for them.
    """
    wanted = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism),
    }
    if few:
        wanted["spark.sql.codegen.wholeStage"] = "false"
    with configured(spark, wanted):
        yield


@contextmanager
def configured(spark: SparkSession, wanted: Mapping[str, str]) -> Generator[None]:
    """Run something with other settings, and set them back."""
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def is_ansi(spark: SparkSession) -> bool:
    """True if Spark raises on overflow and division by zero."""
    return str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"
