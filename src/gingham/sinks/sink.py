"""What a sink promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame

from gingham.sinks.answer import Answer

# f(name of the query, its rows, number of the delivery)
SinkFunction = Callable[[str, DataFrame, int], object]


@runtime_checkable
class Sink(Protocol):
    """Where the answers of queries go.

    A delivery has a number that grows from batch to batch and survives restarts. After a crash the
    same delivery may come again, with the same number and the same rows. A sink therefore lets a
    repeated number replace what it took before, or ignores it: then every answer counts once.

    A sink that cannot take an answer raises, whatever exception it likes. The delivery is tried
    again for a moment, then the answer waits in the checkpoint, in front of later answers of that
    query, and every batch tries again. Other queries do not wait.
    """

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        """Take the answer of one query and batch for good; durable when this returns."""
        ...
