"""Streams that are joined, started and watched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming import StreamingQuery

from gingham.checkpoint.folder import Checkpoint
from gingham.core.errors import AnswerError, CatalogError, GinghamError, QueryError
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.sketch_log import SketchLog
from gingham.estimates.sketch_loop import SketchLoop
from gingham.estimates.sketch_session import SketchSession
from gingham.session.sources import RelationSource
from gingham.sinks.delivery import Delivery
from gingham.sinks.sinks import Sink
from gingham.spark.failures import spark_says
from gingham.stream.running import in_memory, process_all
from gingham.stream.start import read_stream


def start_sketches(
    session: SketchSession,
    queries: Callable[[], Sequence[BoundJoin]],
    weights: dict[str, float],
    checkpoint: str,
    sink: Sink,
    trigger: Mapping[str, object],
) -> RunningSketches:
    """Recover from a checkpoint, and read all streams from there on."""
    streams = [source for source in session.sources().values() if source.time is not None]
    for source in streams:
        _refuse_endless_or_ended(source)
    for query in queries():
        refuse_without_window(query)
    opened = Checkpoint(checkpoint)
    for source in streams:
        opened.of(source.name, source.rows, source.time or "")
    own = opened.files.within("sketches")
    loop = SketchLoop(session, queries, weights, SketchLog(own), Delivery(sink, own))
    loop.recover()
    running = {
        source.name: read_stream(
            session.spark,
            f"sketches of {source.name}",
            source.rows,
            partial(loop.batch, source.name),
            # Not where a loom with the same checkpoint keeps how far it has read the stream.
            own.within("streams").within(source.name),
            trigger,
            loop.last_batch(source.name),
        )
        for source in streams
    }
    return RunningSketches(running, loop, sink)


def refuse_without_window(query: BoundJoin) -> None:
    """Over a stream an aggregate without a window never ends."""
    if query.query.window is None:
        raise QueryError(
            f"query {query.name!r}: no window",
            "an aggregate over endless streams needs one",
            "GROUP BY window(ts, '10 minutes')",
        )


def _refuse_endless_or_ended(source: RelationSource) -> None:
    if not source.rows.isStreaming:
        raise CatalogError(
            f"{source.name} is a static DataFrame",
            "its rows are all there, and no watermark passes them",
            f"sketches.relation({source.name!r}, rows), or run() if nothing is streaming",
        )
    if source.watermark is None:
        raise CatalogError.no_watermark(source.name)


class RunningSketches:
    """What `sketches.start` gives: one streaming query for each stream."""

    def __init__(self, streams: Mapping[str, StreamingQuery], loop: SketchLoop, sink: Sink) -> None:
        self.streaming = streams
        self._loop = loop
        self._sink = sink

    @property
    def is_active(self) -> bool:
        """Whether every stream is still running."""
        return all(query.isActive for query in self.streaming.values())

    def failed(self) -> Mapping[str, GinghamError]:
        """Why queries have no answer for some window, or it waits: the last reason of each."""
        return self._loop.failed

    def stop(self) -> None:
        """Stop after the batches that are being worked on."""
        for query in self.streaming.values():
            query.stop()

    def process_all_available(self) -> None:
        """Wait until everything that is in the sources now has been sketched; for tests."""
        process_all(self.streaming.values(), self._why)

    def await_termination(self) -> None:
        """Wait for the end of all streams, which may be an error."""
        for query in self.streaming.values():
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                raise self._why(error) from error

    def arrow(self, name: str) -> pa.Table:
        """All answers of a query that the memory sink holds."""
        return in_memory(self._sink, name, "running.failed() to see why a query has none")

    def _why(self, error: StreamingQueryException) -> GinghamError:
        return self._loop.error or AnswerError(
            "the stream stopped", spark_says(error), "a source that can be read"
        )
