"""What users see of running streams: progress by batch, by query and by stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gingham.core.time import NEVER


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """What one micro-batch of one stream did: rows, shards, answers, seconds."""

    stream: str
    number: int
    batch: int  # Spark's number; -1 if only time passed
    epoch: int
    queries: int
    rows: int
    late: int
    timeless: int
    ahead: int  # rows too far in the future, which are in no window
    shards: int  # that this batch added; of estimates: rows of sketches
    state: int  # how many of these are in memory after it; of estimates: words of sketches
    watermark: datetime | None
    latest: datetime | None
    answered: Mapping[str, int]  # rows of answers, by query
    failed: Mapping[str, str]  # why a query has no answer, or why its sink did not take it
    # plan, shards (reading, coding and grouping are one Spark job), log, merge, finals, sink
    seconds: Mapping[str, float]

    @property
    def total(self) -> float:
        """The seconds that all steps of the micro-batch took."""
        return sum(self.seconds.values())

    @property
    def lag(self) -> float | None:
        """Seconds from the latest event time of the stream to now; None before any row."""
        return (datetime.now(UTC) - self.latest).total_seconds() if self.latest else None


@dataclass(slots=True)
class QueryProgress:
    """What one query of a stream did since the stream was started."""

    name: str
    matched: int = 0  # rows that meet its predicate, where they are counted
    windows: int = 0  # answered windows, one per group
    last_window: datetime | int | None = None  # the end of the last one; by rows its position
    seconds: float = 0.0
    waiting: int = 0  # answers that wait for the sink
    error: str | None = None


@dataclass(slots=True)
class StreamProgress:
    """What one stream did since it was started."""

    stream: str
    batches: int = 0
    rows: int = 0
    late: int = 0
    timeless: int = 0
    ahead: int = 0
    last: BatchProgress | None = None
    error: str | None = None  # why time does not pass while the stream is idle
    queries: dict[str, QueryProgress] = field(default_factory=dict)


def instant(micros: int) -> datetime | None:
    """Microseconds of event time as a datetime for progress; None before the first row."""
    if micros == NEVER:
        return None
    try:
        return datetime.fromtimestamp(micros / 1e6, UTC)
    except (OverflowError, ValueError, OSError):
        return None  # beyond what datetime holds
