"""What takes too long is stopped, and what comes after it meets free cores."""

import time

from benchmarks.capped import CappedRuns

FOREVER = 600


def test_work_that_ends_in_time_gives_its_result(spark):
    done = CappedRuns(spark, 60).run(lambda: spark.range(10).count())
    assert (done.result, done.capped, done.error) == (10, False, "")


def test_what_work_raises_is_told_in_a_line(spark):
    done = CappedRuns(spark, 60).run(lambda: spark.sql("SELECT nothing FROM nowhere"))
    assert done.result is None
    assert "TABLE_OR_VIEW_NOT_FOUND" in done.error


def test_a_spark_job_that_takes_too_long_is_cancelled_and_the_next_work_runs(spark):
    def asleep(batches):
        time.sleep(FOREVER)
        yield from batches

    runs, start = CappedRuns(spark, 3), time.monotonic()
    done = runs.run(lambda: spark.range(4).mapInArrow(asleep, "id long").count())
    assert done.capped
    assert runs.run(lambda: spark.range(10).count(), cap=60).result == 10
    assert time.monotonic() - start < FOREVER


def test_python_code_that_takes_too_long_is_stopped_even_if_it_catches_exceptions(spark):
    reached = []

    def stubborn():
        while True:
            try:
                time.sleep(0.01)
                reached.append(1)
            except Exception:  # noqa: BLE001, S110  (that is what is tried)
                pass

    runs = CappedRuns(spark, 0.5)
    assert runs.run(stubborn).capped
    count = len(reached)
    time.sleep(0.1)
    assert len(reached) == count
