"""What Spark says is told whole: classes, causes and advice, without traces and secrets."""

from __future__ import annotations

import errno

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gingham.spark.failure_cause import is_caused_by_rows
from gingham.spark.spark_errors import (
    MOST_CHARACTERS,
    SPARK_ERRORS,
    failed_job,
    refused_by_spark,
    spark_message,
    stopped_stream,
)

# As Spark wrote it, shortened.
STREAM = """\
[STREAM_FAILED] Query [id = ea-1, runId = 9f-2] terminated with exception: {} SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = ea-1, runId = 9f-2]
Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink, [checkpointLocation=/tmp/x], Append
"""
KAFKA = """\
org.apache.spark.SparkException: [KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] Some data may have \
been lost because they are not available in Kafka any more;
either the data was aged out by Kafka or the topic may have been deleted.
If you don't want your streaming query to fail on such cases, set the source option
failOnDataLoss to false. SQLSTATE: 22000
\tat org.apache.spark.sql.kafka010.KafkaSource.report(KafkaSource.scala:1)
\t... 34 more
Caused by: org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired
"""
IN_PYTHON = """\
[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach \
batch sink. Reason: An exception was raised by the Python Proxy. Return Message: Traceback (most \
recent call last):
  File "x.py", line 31, in full
    raise OSError(28, "No space left on device", "/data/x")
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
OSError: [Errno 28] No space left on device: '/data/x'
 SQLSTATE: 39000"""
JOB = """\
An error occurred while calling o156.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 \
times, most recent failure: Lost task 0.3 in stage 1.0 (TID 4) (10.0.0.1 executor 1): \
java.io.FileNotFoundException: /tmp/blockmgr-1/0d (No space left on device)
\tat java.base/java.io.FileOutputStream.open(FileOutputStream.java:1)
Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)
Caused by: java.io.FileNotFoundException: /tmp/blockmgr-1/0d (No space left on device)
"""
MISSPELT = """\
[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `nope` cannot be resolved. Did you mean one \
of the following? [`id`, `x`]. SQLSTATE: 42703; line 1 pos 7;
'Project ['nope]
+- Range (0, 10, step=1, splits=Some(2))
"""


def test_the_advice_of_a_source_is_kept_and_not_contradicted():
    error = stopped_stream(PySparkException(STREAM.format(KAFKA)))
    assert error.why == (
        "[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] Some data may have been lost because they "
        "are not available in Kafka any more; either the data was aged out by Kafka or the topic "
        "may have been deleted. If you don't want your streaming query to fail on such cases, set "
        "the source option failOnDataLoss to false. Timeout of 60000ms expired"
    )
    assert "mend what is said there" in error.instead


def test_a_full_disk_that_stops_a_stream_is_named_with_what_to_do():
    error = stopped_stream(PySparkException(STREAM.format(IN_PYTHON)))
    assert error.what == "the stream stopped: the disk of /data/x is full"
    assert error.why == "OSError: [Errno 28] No space left on device: '/data/x'"
    assert error.instead.startswith("free space there, then start again with the same checkpoint")


def test_a_full_disk_of_an_executor_is_named():
    error = failed_job(Py4JError(JOB))
    assert error.what == "Spark stopped the shared run: the disk of /tmp/blockmgr-1/0d is full"
    assert error.why == "/tmp/blockmgr-1/0d (No space left on device)"  # noqa: S108
    assert "free space" in error.instead
    assert "a disk is full" in failed_job(OSError(errno.ENOSPC, "No space left on device")).what


def test_a_refused_query_comes_with_all_that_spark_suggests():
    error = refused_by_spark(AnalysisException(MISSPELT))
    assert error.what == "Spark refuses the query: UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert error.why == (
        "A column with name `nope` cannot be resolved. Did you mean one of the following? "
        "[`id`, `x`]."
    )
    assert "what Spark advises there" in error.instead


def test_a_message_has_an_end_and_no_secrets():
    message = spark_message(Exception("password=hunter2 " + "x y " * 10_000))
    assert len(message) <= MOST_CHARACTERS
    assert message.startswith("password=*** x y")
    assert message.endswith(" ...")


def test_what_a_terminal_would_obey_is_not_repeated():
    assert spark_message(Exception("Header: \x1b[2J\x07PAR1\x85")) == "Header: ?[2J?PAR1"


def test_an_exception_without_a_text_is_told_by_its_class():
    assert spark_message(Py4JError("")) == "Py4JError"
    assert spark_message(Exception("java.lang.NullPointerException")) == (
        "java.lang.NullPointerException"
    )


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("1 / (id - 1)", "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate"),
        ("raise_error('one\ntwo\n\nthree')", "[USER_RAISED_EXCEPTION] one two three"),
        ("nope", "Did you mean one of the following? [`id`]."),
    ],
)
def test_a_message_of_spark_itself_is_one_paragraph(
    spark: SparkSession, expression: str, said: str
):
    with pytest.raises(SPARK_ERRORS) as raised:
        spark.range(3).select(F.expr(expression)).collect()
    message = spark_message(raised.value)
    assert said in message
    assert not any(noise in message for noise in ("\n", "SQLSTATE", "\tat ", "== SQL", "+- "))


def test_what_a_function_raised_is_told_with_all_its_lines(spark: SparkSession):
    @F.udf("int")
    def fails(_):
        raise ValueError("first line\nthen advice")

    with pytest.raises(SPARK_ERRORS) as raised:
        spark.range(1).select(fails("id")).collect()
    assert spark_message(raised.value) == "ValueError: first line then advice"


@pytest.mark.parametrize(
    "text",
    [
        "[CAST_INVALID_INPUT] The value 'cancelled' cannot be cast to INT. SQLSTATE: 22018",
        "[USER_RAISED_EXCEPTION] Connection refused SQLSTATE: P0001",
        "ValueError: this order was cancelled",
        "ValueError: an interrupted call",
    ],
)
def test_values_that_read_like_a_fault_are_values(text: str):
    assert is_caused_by_rows(PySparkException(text))


@pytest.mark.parametrize(
    "text",
    [
        "[SPARK_JOB_CANCELLED] Job 12 cancelled as part of all jobs SQLSTATE: XXKDA",
        "Job 3 cancelled because SparkContext was shut down",
        "org.apache.spark.SparkException: Task 4 interrupted",
        "java.lang.InterruptedException",
        "Job aborted due to stage failure: Task 0 in stage 3.0 failed: ExecutorLostFailure",
        "ModuleNotFoundError: No module named 'mine'",
    ],
)
def test_faults_are_not_taken_for_values(text: str):
    assert not is_caused_by_rows(PySparkException(text))
