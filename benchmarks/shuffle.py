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
    # Metrics of a stage are in no public API but that of the web interface, which reads this store.
    java: Any = context._jsc  # noqa: SLF001
    scala = java.sc()
    scala.listenerBus().waitUntilEmpty()
    store, tracker = scala.statusStore(), context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    found = [store.lastStageAttempt(stage) for stage in stages]
    return result, Shuffled(
        sum(stage.shuffleWriteRecords() for stage in found),
        sum(stage.shuffleWriteBytes() for stage in found),
        seconds,
    )
