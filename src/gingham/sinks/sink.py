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
    query, and is tried again with every batch and from time to time. Other queries do not wait.

    A sink is called by one thread at a time, which is not that of the stream. While it does not
    return, its stream waits; `running.stop()` waits for a while and then leaves it behind, and
    after the next start the delivery comes again.

    A sink that is durable may also have the method of `OwnedSink`: then answers of two checkpoints,
    or of an older copy of one, are not mixed unnoticed.
    """

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        """Take the answer of one query and batch for good; durable when this returns."""
        ...


@runtime_checkable
class OwnedSink(Sink, Protocol):
    """A durable sink that knows the checkpoint whose answers it holds."""

    def claim(self, checkpoint: str, *, adopt: bool) -> None:
        """Hold answers of this checkpoint, given by its id; called before the first delivery.

        Raises if the sink holds answers of another checkpoint. With `adopt` these stay, and those
        to come are added to them. Later the sink raises in `deliver` if a number goes back and is
        not the repetition of what was delivered under it: then the checkpoint is an older copy.
        """
        ...
