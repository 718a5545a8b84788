"""Streams that are joined are recovered from their checkpoint and read from there on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gingham.checkpoint.folder import LEASE, SKETCHES, STREAMS, Checkpoint
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log
from gingham.checkpoint.spark_source import SparkSource
from gingham.core.errors import CatalogError, GinghamError, QueryError
from gingham.core.file_names import file_name
from gingham.core.time import parse_duration
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.sketch_session import SketchSession
from gingham.estimates.sketch_work import SketchWork
from gingham.session.sources import RelationSource
from gingham.spark.answer_settings import answer_settings
from gingham.stream.loop import StreamLoop
from gingham.stream.running import Running, RunningStream, stop_streams
from gingham.stream.start import Start, read_stream, refuse_running


def start_estimates(
    session: SketchSession,
    queries: Callable[[], Sequence[BoundJoin]],
    weights: dict[str, float],
    unbound: dict[str, GinghamError],
    checkpoint: str,
    start: Start,
) -> Running:
    """Recover sketches from a checkpoint, and estimate joins over all streams of a session.

    `unbound` gets the queries of the checkpoint that Spark refuses now, and why.
    """
    streams = [source for source in session.sources().values() if source.time is not None]
    for source in streams:
        _refuse_endless_or_ended(source)
    for query in queries():
        refuse_without_window(query)
    labels = {source.name: f"sketches of {source.name}" for source in streams}
    refuse_running(session.spark, labels.values())
    opened, settings = Checkpoint(checkpoint), answer_settings(session.spark)
    for source in streams:
        delay = parse_duration(source.watermark or "0 seconds")
        own = {**settings, "watermark": f"{delay / 1e6:g} seconds"}
        if source.changes is not None:
            own["changes"] = source.changes
        opened.of_joined(source.name, source.rows, source.time or "", own)
    start.claim_sink(opened.id)
    files = opened.files.within(SKETCHES)
    log = Log(files, Lease.take(files.within(LEASE)), opened.id)
    # Not where a loom with the same checkpoint keeps how far it has read the streams.
    folders = {
        source.name: files.within(STREAMS).within(file_name(source.name)) for source in streams
    }
    loop = StreamLoop(
        [source.name for source in streams],
        SketchWork(session, queries, weights, log, unbound),
        log,
        start.delivery(files, log.lease),
        start.listeners,
        start.settings,
        {name: SparkSource(folder) for name, folder in folders.items()},
    )
    loop.recover()
    running: dict[str, RunningStream] = {}
    try:
        for source in streams:
            name, folder = source.name, folders[source.name]
            query = read_stream(
                session.spark, loop, name, source.rows, folder, start, label=labels[name]
            )
            running[name] = RunningStream(name, query, loop)
    except BaseException:
        stop_streams(running.values(), start.settings.stop_patience)
        raise
    return Running(session.spark, running, start.sink, start.listeners, settings=start.settings)


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
