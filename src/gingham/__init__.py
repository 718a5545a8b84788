"""Gingham runs many windowed aggregate queries over one stream as one Spark pipeline."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gingham.core.errors import (
        AnswerError,
        CatalogError,
        CheckpointError,
        GinghamError,
        QueryError,
        SinkError,
        WorkloadError,
    )
    from gingham.estimates.algebra.weights import Histogram
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
    "Histogram",
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

# Names are imported when they are asked for: `gingham --help` does not wait for Spark.
_HOMES = {
    "Answer": "gingham.sinks.answer",
    "AnswerError": "gingham.core.errors",
    "Answers": "gingham.spark.answers",
    "BatchProgress": "gingham.stream.progress",
    "CatalogError": "gingham.core.errors",
    "CheckpointError": "gingham.core.errors",
    "Estimates": "gingham.estimates.estimates",
    "Estimator": "gingham.estimates.estimator",
    "GinghamError": "gingham.core.errors",
    "Histogram": "gingham.estimates.algebra.weights",
    "Loom": "gingham.loom",
    "QueryError": "gingham.core.errors",
    "QueryProgress": "gingham.stream.progress",
    "Running": "gingham.stream.running",
    "Sink": "gingham.sinks.sink",
    "SinkError": "gingham.core.errors",
    "Statistics": "gingham.spark.answers",
    "StreamProgress": "gingham.stream.progress",
    "StreamSettings": "gingham.stream.settings",
    "WorkloadError": "gingham.core.errors",
}


def __getattr__(name: str) -> object:
    """Import a public name from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    """All public names, imported or not."""
    return sorted({*globals(), *__all__})
