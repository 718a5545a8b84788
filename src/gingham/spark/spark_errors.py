"""Errors that Spark raises, as errors of Gingham with three parts."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from gingham.core.errors import AnswerError, QueryError

# What a call into Spark raises when the query, the data or the session is to blame.
SPARK_ERRORS = (PySparkException, Py4JError)


def failed_job(error: Exception) -> AnswerError:
    """The error of a shared run whose Spark job failed, in three parts."""
    return AnswerError(
        "Spark stopped the shared run",
        spark_message(error),
        "mend the data or the function that raised",
    )


def spark_message(error: Exception) -> str:
    r"""The messages in an exception of Spark's, without error codes and stack traces.

    >>> spark_message(Exception("[READ] Error in x.csv. SQLSTATE: KD1\n  Caused by: a.Error: many"))
    'Error in x.csv. many'
    """
    message = r"(?:\[[A-Z][\w.]+\] |Caused by: [\w.$]+: (?!\[))(.+?)(?:\s*SQLSTATE: .*)?$"
    messages = re.findall(message, str(error), re.MULTILINE)
    if "Python worker" in str(error):
        # What the user's function raised stands on the last line of its trace.
        raised = re.findall(r"^\s*(\w*(?:Error|Exception)(?:: .*)?)$", str(error), re.MULTILINE)
        messages += raised[:1]
    return " ".join(dict.fromkeys(messages)) or str(error).strip().partition("\n")[0]


def refused_by_spark(error: PySparkException) -> QueryError:
    """The error of a query that Spark's parser or analyzer does not accept."""
    error_class, sentence = _class_and_sentence(error)
    return QueryError(
        f"Spark refuses the query: {error_class}",
        sentence,
        "see the names and types with stream.printSchema(), or what the function expects",
    )


def _class_and_sentence(error: Exception) -> tuple[str, str]:
    """The error class and first sentence of Spark's message: `[CLASS] Sentence. More.`."""
    match = re.search(r"\[([A-Z][A-Z0-9_.]+)\] (.*?)(?:\. |\n| SQLSTATE|$)", str(error))
    if match is None:
        return type(error).__name__, str(error).strip().partition("\n")[0]
    return match[1], match[2].rstrip(".")
