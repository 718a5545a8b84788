"""Gingham runs many windowed aggregate queries over one stream as one Spark pipeline."""

from gingham.core.errors import (
    AnswerError,
    CatalogError,
    CheckpointError,
    GinghamError,
    QueryError,
    SinkError,
    WorkloadError,
)
from gingham.estimates.estimates import Estimates
from gingham.estimates.estimator import Estimator
from gingham.loom import Loom
from gingham.sinks.answer import Answer
from gingham.sinks.sink import Sink
from gingham.spark.answers import Answers, Statistics
from gingham.stream.progress import BatchProgress, QueryProgress, StreamProgress
from gingham.stream.running import Running
from gingham.stream.settings import StreamSettings

__all__ = [
    "Answer",
    "AnswerError",
    "Answers",
    "BatchProgress",
    "CatalogError",
    "CheckpointError",
    "Estimates",
    "Estimator",
    "GinghamError",
    "Loom",
    "QueryError",
    "QueryProgress",
    "Running",
    "Sink",
    "SinkError",
    "Statistics",
    "StreamProgress",
    "StreamSettings",
    "WorkloadError",
]
