"""Streams that are joined are recovered from their checkpoint and read from there on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gingham.checkpoint.folder import Checkpoint
from gingham.checkpoint.log import Log
from gingham.core.errors import CatalogError, QueryError
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.sketch_session import SketchSession
from gingham.estimates.sketch_work import SketchWork
from gingham.session.sources import RelationSource
from gingham.stream.loop import StreamLoop
from gingham.stream.running import Running, RunningStream
from gingham.stream.start import Start, read_stream


def start_estimates(
    session: SketchSession,
    queries: Callable[[], Sequence[BoundJoin]],
    weights: dict[str, float],
    checkpoint: str,
    start: Start,
) -> Running:
    """Recover sketches from a checkpoint, and estimate joins over all streams of a session."""
    streams = [source for source in session.sources().values() if source.time is not None]
    for source in streams:
        _refuse_endless_or_ended(source)
    for query in queries():
        refuse_without_window(query)
    opened = Checkpoint(checkpoint)
    for source in streams:
        opened.of(source.name, source.rows, source.time or "")
    files = opened.files.within("sketches")
    log = Log(files)
    loop = StreamLoop(
        [source.name for source in streams],
        SketchWork(session, queries, weights, log),
        log,
        start.delivery(files),
        start.listeners,
        start.settings,
    )
    loop.recover()
    running: dict[str, RunningStream] = {}
    for source in streams:
        # Not where a loom with the same checkpoint keeps how far it has read the stream.
        folder, label = files.within("streams").within(source.name), f"sketches of {source.name}"
        query = read_stream(
            session.spark, loop, source.name, source.rows, folder, start, label=label
        )
        running[source.name] = RunningStream(query, loop)
    return Running(session.spark, running, start.sink, start.listeners)


def refuse_without_window(query: BoundJoin) -> None:
    """Refuse a join aggregate without a window: over a stream it never ends."""
    if query.query.window is None:
        raise QueryError(
            f"query {query.name!r}: no window",
            "an aggregate over endless streams needs one",
            "GROUP BY window(ts, '10 minutes')",
        )


def _refuse_endless_or_ended(source: RelationSource) -> None:
    """Refuse a joined stream that is a static DataFrame or has no watermark."""
    if not source.rows.isStreaming:
        raise CatalogError(
            f"{source.name} is a static DataFrame",
            "its rows are all there, and no watermark passes them",
            f"sketches.relation({source.name!r}, rows), or run() if nothing is streaming",
        )
    if source.watermark is None:
        raise CatalogError.no_watermark(source.name)
