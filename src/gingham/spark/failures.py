"""What Spark raised, and how to say it."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from gingham.core.errors import AnswerError, QueryError

# What a call into Spark raises when the query, the data or the session is to blame.
SPARK_ERRORS = (PySparkException, Py4JError)


def failed_job(error: Exception) -> AnswerError:
    """A shared run that Spark stopped."""
    return AnswerError(
        "Spark stopped the shared run",
        spark_says(error),
        "mend the data or the function that raised",
    )


def spark_says(error: Exception) -> str:
    r"""All that Spark's messages say, without their codes and without the traces between them.

    >>> spark_says(Exception("[READ] Error in x.csv. SQLSTATE: KD1\n  Caused by: a.Error: many"))
    'Error in x.csv. many'
    """
    message = r"(?:\[[A-Z][\w.]+\] |Caused by: [\w.$]+: (?!\[))(.+?)(?:\s*SQLSTATE: .*)?$"
    found = re.findall(message, str(error), re.MULTILINE)
    if "Python worker" in str(error):
        # What the user's function raised stands on the last line of its trace.
        found += re.findall(r"^\s*(\w*(?:Error|Exception)(?:: .*)?)$", str(error), re.MULTILINE)[:1]
    return " ".join(dict.fromkeys(found)) or str(error).strip().partition("\n")[0]


def complaint(error: PySparkException) -> QueryError:
    """Spark's own complaint about a query, in three parts."""
    what, first = _message(error)
    return QueryError(
        f"Spark refuses the query: {what}",
        first,
        "see the names and types with stream.printSchema(), or what the function expects",
    )


def _message(error: Exception) -> tuple[str, str]:
    """The class and the first sentence of Spark's message: `[CLASS] Sentence. More.`."""
    found = re.search(r"\[([A-Z][A-Z0-9_.]+)\] (.*?)(?:\. |\n| SQLSTATE|$)", str(error))
    if found is None:
        return type(error).__name__, str(error).strip().partition("\n")[0]
    return found[1], found[2].rstrip(".")
