"""Gingham runs many windowed aggregate queries over one stream as one Spark pipeline."""

from gingham.core.errors import (
    AnswerError,
    CatalogError,
    GinghamError,
    QueryError,
    WorkloadError,
)
from gingham.loom import Loom
from gingham.spark.answers import Answers, Statistics

__all__ = [
    "AnswerError",
    "Answers",
    "CatalogError",
    "GinghamError",
    "Loom",
    "QueryError",
    "Statistics",
    "WorkloadError",
]
