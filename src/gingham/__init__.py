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
from gingham.loom import Loom
from gingham.runtime.estimator import Estimator
from gingham.runtime.progress import BatchProgress, QueryProgress, StreamProgress
from gingham.runtime.running import Running
from gingham.runtime.sketch_streams import RunningSketches
from gingham.spark.answers import Answers, Statistics
from gingham.spark.estimates import Estimates

__all__ = [
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
    "RunningSketches",
    "SinkError",
    "Statistics",
    "StreamProgress",
    "WorkloadError",
]
