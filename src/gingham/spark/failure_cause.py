"""Why a Spark job failed: because of the rows, or because of what it runs on.

Only rows may cost a query its answer. Everything else is raised, so that the batch is tried again.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException

# SQL's own word for a value that cannot be computed with, or for what raise_error raises: the
# values that such a message quotes may read like anything.
_BY_ROWS = re.compile(r"\bSQLSTATE: (?:22(?!000)\w{3}|P0001)\b")
# A job that was cancelled or interrupted, a context that was stopped, machines that are lost or
# full, and functions that executors cannot load.
_NOT_BY_ROWS = re.compile(
    r"\b(?:Job|Stage|Task|Query|Operation)\b[\w .-]{0,40}\b(?:cancell?ed|interrupted)\b"
    r"|\[(?:SPARK_JOB|OPERATION)_CANCELL?ED\b|\bcancelled job group\b"
    r"|\bInterrupted(?:IO)?Exception|ClosedByInterruptException|SparkContext (?:was|has been) "
    r"(?:shut down|stopped)|stopped SparkContext|OutOfMemoryError|No space left on device"
    r"|ExecutorLostFailure|FetchFailed|Connection (?:refused|reset)|TaskKilled"
    r"|ModuleNotFoundError|ImportError|PYTHON_VERSION_MISMATCH|Cannot run program",
    re.IGNORECASE,
)
# A plan that Spark cannot analyse, compile or run, and mistakes in what executors run of ours.
_BY_PLAN = re.compile(
    r"Max iterations \(\d+\) reached|TOO_COMPLEX|StackOverflowError|\[INTERNAL_ERROR"
    r"|JaninoRuntimeException|CodeGenerator|[/\\]gingham[/\\](?:columns|finals)[/\\]"
)


def is_caused_by_plan(error: BaseException) -> bool:
    """Whether a Spark job failed because of how queries were put together.

    Spark has analysed every query by itself when it was added, so an error in the analysis of the
    shared plan is no query's.

    >>> is_caused_by_plan(Exception("[FAILED_TO_PARSE_TOO_COMPLEX] The statement ..."))
    True
    >>> is_caused_by_plan(Exception("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"))
    False
    """
    by_analysis = isinstance(error, AnalysisException | ParseException)
    return by_analysis or _BY_PLAN.search(str(error)) is not None


def is_caused_by_rows(error: BaseException) -> bool:
    """Whether a failed Spark job may fail because of the values in its rows.

    >>> is_caused_by_rows(Exception("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"))
    True
    >>> is_caused_by_rows(Exception("Job 7 cancelled part of cancelled job group"))
    False
    """
    if isinstance(error, Py4JNetworkError):
        return False
    text = str(error)
    return _BY_ROWS.search(text) is not None or _NOT_BY_ROWS.search(text) is None
