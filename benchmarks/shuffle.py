"""What Spark itself says it has shuffled."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from pyspark.sql import SparkSession

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shuffled:
    """Records and bytes that map tasks wrote for others to read, and the seconds of it all."""

    records: int
    bytes: int
    seconds: float

    def __add__(self, other: Self) -> Self:
        return replace(
            self,
            records=self.records + other.records,
            bytes=self.bytes + other.bytes,
            seconds=self.seconds + other.seconds,
        )


def shuffled(spark: SparkSession, work: Callable[[], T]) -> tuple[T, Shuffled]:
    """Run something, and add up the stages of all its jobs."""
    context = spark.sparkContext
    group = f"gingham {uuid.uuid4()}"
    context.setJobGroup(group, "measured")
    start = time.perf_counter()
    try:
        result = work()
    finally:
        seconds = time.perf_counter() - start
        context.setJobGroup("", "")
    store, tracker = _status_store(spark), context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    return result, _written(store, stages, seconds)


def shuffled_meanwhile(spark: SparkSession, work: Callable[[], T]) -> tuple[T, Shuffled]:
    """Run something, and add up the stages of all jobs of the session meanwhile.

    Jobs of a stream are started by threads of its own.
    """
    before = set(_stages_of_jobs(_status_store(spark)))
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    store = _status_store(spark)
    jobs = {job: stages for job, stages in _stages_of_jobs(store).items() if job not in before}
    return result, _written(store, {stage for own in jobs.values() for stage in own}, seconds)


def _status_store(spark: SparkSession) -> Any:
    """What Spark knows of jobs and stages, up to now.

    Metrics of a stage are in no public API but that of the web interface, which reads this store.
    """
    java: Any = spark.sparkContext._jsc  # noqa: SLF001
    scala = java.sc()
    scala.listenerBus().waitUntilEmpty()
    return scala.statusStore()


def _stages_of_jobs(store: Any) -> dict[int, list[int]]:
    """The stages of every job that Spark remembers, by the number of the job."""
    jobs = store.jobsList(None)
    found = [jobs.apply(place) for place in range(jobs.size())]
    return {
        job.jobId(): [job.stageIds().apply(place) for place in range(job.stageIds().size())]
        for job in found
    }


def _written(store: Any, stages: set[int], seconds: float) -> Shuffled:
    """What the map tasks of some stages wrote."""
    found = [store.lastStageAttempt(stage) for stage in stages]
    return Shuffled(
        sum(stage.shuffleWriteRecords() for stage in found),
        sum(stage.shuffleWriteBytes() for stage in found),
        seconds,
    )
