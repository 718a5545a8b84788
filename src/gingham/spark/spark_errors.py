"""Errors that Spark raises, as errors of Gingham with three parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from gingham.core.errors import AnswerError, QueryError
from gingham.core.full_disk import full_disk
from gingham.core.secrets import without_secrets

# What a call into Spark raises when the query, the data or the session is to blame.
SPARK_ERRORS = (PySparkException, Py4JError)

MOST_CHARACTERS = 2_000  # of a message; more is never read

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ")
_ADVICE = re.compile(r"did you mean|\buse `|\bplease\b|\bset \"|\btry_", re.IGNORECASE)
# What a line of a message says besides the cause: who called, where it ran, how it is filed.
_FRAME = re.compile(
    r"\s*SQLSTATE: \w+(?:; line \d+ pos \d+)?(?: \(line \d+, pos \d+\))?;?"
    r"|^\s*(?:Caused by|Suppressed): "
    r"|Exception thrown in awaitResult:? ?"
    r"|^An error occurred while calling [\w.$]+\.?$"
    r"|^: "
    r"|\[STREAM_FAILED\] Query \[[^]]*\] terminated with exception: "
    r"|\[FOREACH_BATCH_USER_FUNCTION_ERROR\] .*? Reason: "
    r"|An exception was (?:raised by the Python Proxy\. Return Message|thrown from the Python "
    r"worker.*?): ?"
    r"|Job aborted due to stage failure: .*?most recent failure: .*?\([^)]* executor [^)]*\): "
    r"|^During handling of the above exception, another exception occurred:"
    r"|^The above exception was the direct cause of the following exception:"
    r"|Driver stacktrace:"
    r"|Traceback \(most recent call last\):"
    # The class of an exception, if a message follows.
    r"|(?:^|(?<=: ))(?:[a-zA-Z_]\w*\.)+[\w$]*(?:Exception|Error|Throwable): "
)
_MARKER = re.compile(r"^[-\s]*\^+$")  # below the place in a query
_BEFORE_PLAN = re.compile(r"SQLSTATE: \w+;(?: line \d+ pos \d+;)?$")
_AFTER_TRACE = re.compile(r"\S")
_AFTER_PLAN = re.compile(r"\s*$|Caused by: ")
_AFTER_QUERY = re.compile(rf"{_MARKER.pattern}|{_AFTER_PLAN.pattern}")
_STACK = re.compile(r"\s+at [\w.$/<>]+\(.*|\s+\.\.\. \d+ (?:more|common frames).*")


def failed_job(error: Exception) -> AnswerError:
    """The error of a shared run whose Spark job failed, in three parts."""
    if (full := full_disk(error)) is not None:
        return AnswerError(
            f"Spark stopped the shared run: {full} is full",
            spark_message(error),
            "free space there, or another folder for Spark's own files (spark.local.dir), then "
            "run again; a stream goes on from its checkpoint",
        )
    return AnswerError(
        "Spark stopped the shared run",
        spark_message(error),
        "what Spark advises there, or data and functions that do not raise",
    )


def failed_alone(name: str, error: Exception) -> AnswerError:
    """The error of a query that fails for some row, alone as well as shared."""
    return AnswerError(
        f"query {name!r} fails for some row",
        spark_message(error),
        "a predicate that keeps such rows away, or the try_ form of the function",
    )


def failed_answer(error: Exception) -> AnswerError:
    """The error of a query whose answer could not be computed from its shards."""
    return AnswerError(
        "the answer could not be put together",
        f"{type(error).__name__}: {error}",
        "a simpler query: this is a mistake in Gingham",
    )


def stopped_stream(error: Exception) -> AnswerError:
    """The error of a stream that Spark stopped: what it says, and that nothing is lost."""
    goes_on = "start again with the same checkpoint: the stream goes on where it stopped"
    if (full := full_disk(error)) is not None:
        return AnswerError(
            f"the stream stopped: {full} is full",
            spark_message(error),
            f"free space there, then {goes_on}, and nothing is lost",
        )
    return AnswerError(
        "the stream stopped", spark_message(error), f"mend what is said there, then {goes_on}"
    )


def refused_by_spark(error: Exception) -> QueryError:
    """The error of a query that Spark's parser or analyzer does not accept."""
    message = spark_message(error)
    error_class = _CLASS.match(message)
    instead = "see the names and types with stream.printSchema(), or what the function expects"
    if _ADVICE.search(message):
        instead = "what Spark advises there; stream.printSchema() shows names and types"
    return QueryError(
        f"Spark refuses the query: {error_class[1] if error_class else type(error).__name__}",
        message[error_class.end() :] if error_class else message,
        instead,
    )


def unknown_type(error: Exception) -> QueryError:
    """The error of a query with a value of a type that PySpark or Arrow does not know."""
    return QueryError(
        "a key, an aggregate or a column of a type that Arrow does not know",
        spark_message(error),
        "a cast of it to a number or a string",
    )


def spark_message(error: Exception) -> str:
    r"""All that an exception of Spark's says, with error classes and advice, in one paragraph.

    Stack traces, plans and secrets are left out, and so is what is beyond 2,000 characters.

    >>> spark_message(Exception("[READ] Error in x.csv. SQLSTATE: KD1\n\tat a.B(C:1)\n"
    ...     "Caused by: a.IOError: many\nSee the guide."))
    '[READ] Error in x.csv. many See the guide.'
    """
    sentences: list[str] = []
    for line in _telling_lines(without_secrets(str(error))):
        sentence = " ".join(_FRAME.sub("", line).split())
        # An exception says again what its cause says.
        if sentence and not any(sentence in said for said in sentences):
            sentences.append(sentence)
    message = " ".join(sentences) or type(error).__name__
    # Spark quotes rows and files, which may hold what a terminal would obey.
    message = "".join(c if c.isprintable() else "?" for c in message[: MOST_CHARACTERS + 1])
    return message if len(message) <= MOST_CHARACTERS else message[: MOST_CHARACTERS - 4] + " ..."


def _telling_lines(text: str) -> Iterator[str]:
    """The lines of Spark's text that are no stack trace, plan or copy of the query."""
    end_of_skipped: re.Pattern[str] | None = None  # the first line that is told again
    for line in text.partition("=== Streaming Query ===")[0].splitlines():
        if end_of_skipped and end_of_skipped.match(line):
            end_of_skipped = None
        if line.startswith("== SQL"):
            end_of_skipped = _AFTER_QUERY
        if end_of_skipped is None and not _STACK.fullmatch(line):
            yield _MARKER.sub("", line)
        if line.endswith("Traceback (most recent call last):"):
            end_of_skipped = _AFTER_TRACE
        elif _BEFORE_PLAN.search(line):
            end_of_skipped = _AFTER_PLAN
