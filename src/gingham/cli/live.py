"""`gingham run` over a stream: live progress, and queries that follow edits of the file."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gingham.checkpoint.folder import Checkpoint
from gingham.cli.load_workload import LoadedWorkload
from gingham.cli.outline import Problems
from gingham.cli.read_workload import read_workload
from gingham.cli.running_parts import RunningParts
from gingham.cli.stop_signals import EXIT_CODE, StopSignals
from gingham.cli.terminal import err, say, show_errors
from gingham.cli.workload import Workload
from gingham.core.errors import GinghamError, WorkloadError
from gingham.loom import Loom
from gingham.spark.spark_errors import SPARK_ERRORS
from gingham.stream.progress import BatchProgress, StreamProgress
from gingham.stream.running import Running
from gingham.stream.settings import StreamSettings

POLL_SECONDS = 0.5  # between two looks at the file and the stream
LINE_SECONDS = 5.0  # between two lines of progress where there is no terminal
GRACE_SECONDS = 10.0  # that a batch may take to end before it is broken off
SHOWN_QUERIES = 20  # those that answered last


def run_stream(file: Path, workload: Workload, loaded: LoadedWorkload, sink: str) -> int:
    """Run the streams until they are stopped, always with the queries that the file has then.

    Gives the exit code: 0 if they ended by themselves with all answers, 1 if some are missing, and
    that of a signal that stopped them.
    """
    with StopSignals() as signals:
        running = start_streams(workload, loaded, sink)
        try:
            _follow(running, WorkloadEdits(file, workload, loaded), signals)
        except (GinghamError, OSError, *SPARK_ERRORS):
            # Java may get the signal too, and be gone: the checkpoint needs no farewell.
            if signals.received is None:
                raise
    for progress in running.progress():
        err.print(_summary(progress), soft_wrap=True)
    failed = running.failed()
    show_errors(failed.values())
    if signals.received is None:
        return 1 if failed else 0
    say(
        f"stopped by {signals.received.name}: {workload.stream_names}, "
        f"queries {loaded.query_count:,}; the same command goes on from the checkpoint "
        f"{workload.checkpoint}"
    )
    return EXIT_CODE + signals.received


def _follow(running: RunningParts, edits: "WorkloadEdits", signals: StopSignals) -> None:
    """Show the progress of streams and apply edits of their file, until they end or are stopped."""
    if not err.is_terminal:
        running.listen(ProgressLines(named=not running.is_one_stream).show)
    with Live(console=err, auto_refresh=False, transient=True) as live:
        while signals.received is None and not running.await_termination(POLL_SECONDS):
            edits.poll()
            if err.is_terminal:
                live.update(_screen(running.progress(), edits.message), refresh=True)
    if signals.received is not None:
        _stop(running)


def start_streams(workload: Workload, loaded: LoadedWorkload, sink: str) -> RunningParts:
    """Start a workload's streams with the queries of the file, whatever its checkpoint has."""
    settings = StreamSettings(**workload.arguments("settings"))
    exact = _start_exact(workload, loaded.loom, sink, settings) if workload.queries else None
    estimates = None
    if loaded.sketches is not None:
        try:
            estimates = loaded.sketches.start(
                sink=sink, settings=settings, **workload.arguments("estimate")
            )
        except BaseException:
            if exact is not None:
                exact.stop()
            raise
    say(
        f"running over {workload.stream_names}: queries {loaded.query_count:,}, answers to "
        f"{sink}, checkpoint {workload.checkpoint}; Ctrl-C stops"
    )
    return RunningParts(exact, estimates)


def _start_exact(workload: Workload, loom: Loom, sink: str, settings: StreamSettings) -> Running:
    """Start the streams of a workload's exact queries."""
    assert workload.checkpoint is not None
    queries = {query.name: query.sql for query in workload.queries}
    # A query that was edited while the stream was down starts as it was, then is replaced.
    for stored in Checkpoint(workload.checkpoint).queries():
        if stored.name in queries and stored.sql != queries[stored.name].strip():
            loom.remove(stored.name)
    running = loom.start(sink=sink, settings=settings, **workload.arguments("start"))
    # The file is the list of queries, also of those that an earlier run left in the checkpoint.
    loom.replace(queries, backfill=_backfilled(workload))
    return running


def _backfilled(workload: Workload) -> list[str]:
    """The queries of a workload that answer windows from before they joined."""
    return [query.name for query in workload.queries if query.arguments.get("backfill")]


def _stop(running: RunningParts) -> None:
    """Stop streams between two batches, or in the middle of one that takes too long."""
    until = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < until and running.is_busy():
        time.sleep(0.02)
    running.stop()


class ProgressLines:
    """Prints progress as plain lines, for logs: a batch every few seconds, and errors at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, named: bool = False) -> None:
        self._clock = clock
        self._named = named  # whether a line begins with the name of its stream
        self._next = 0.0  # when the next line may be printed
        self._errors: dict[str, dict[str, str]] = {}  # of each stream: its queries' last errors

    def show(self, batch: BatchProgress) -> None:
        """Print what a batch did, if the last line is old enough, and new errors in any case."""
        known = self._errors.get(batch.stream, {})
        new = {name: why for name, why in batch.failed.items() if known.get(name) != why}
        self._errors[batch.stream] = dict(batch.failed)
        for name, why in new.items():
            say(f"query {name!r}: {why}")
        if new or self._clock() >= self._next:
            self._next = self._clock() + LINE_SECONDS
            say((f"{batch.stream}: " if self._named else "") + _batch_line(batch))


class WorkloadEdits:
    """Applies edits of a workload file to a running loom; an edit with an error changes nothing."""

    def __init__(self, file: Path, workload: Workload, loaded: LoadedWorkload) -> None:
        self._file, self._workload, self._loaded = file, workload, loaded
        self._modified = self._modification_time()
        self.message = ""

    def poll(self) -> None:
        """Read the workload file again if it has changed, and apply its queries."""
        modified = self._modification_time()
        if modified == self._modified:
            return
        self._modified = modified
        before = self._queries()
        try:
            self._apply(*read_workload(self._file))
        except* GinghamError as group:
            errors = [error for error in group.exceptions if isinstance(error, GinghamError)]
            self.message = f"{self._file} is refused, everything runs on as before"
            say(self.message)
            show_errors(errors)
        else:
            now = self._queries()
            self.message = f"{len(now - before)} queries joined, {len(before - now)} left"
            say(self.message)

    def _apply(self, workload: Workload, problems: Problems) -> None:
        """Make the file's queries those that run; raises if anything else was changed."""
        problems.raise_any()
        if _without_queries(workload) != _without_queries(self._workload):
            raise WorkloadError(
                "something else than queries was changed",
                "only queries can change while a stream runs",
                "the old streams, tables, options and sink, or stop and start again",
            )
        if workload.queries and not self._workload.queries:
            raise WorkloadError(
                "queries beside sketches that were started alone",
                "their streams would have to be started, too",
                "without queries, or stop and start again",
            )
        loom, sketches = self._loaded.loom, self._loaded.sketches
        queries = {query.name: query.sql for query in workload.queries}
        takes = [loom.replacement(queries, backfill=_backfilled(workload))]
        if sketches is not None:
            takes.append(sketches.replacement({q.name: q.sql for q in workload.sketches}))
        for take in takes:  # only when none of them was refused
            take()

    def _queries(self) -> set[str]:
        """The names of all queries and sketches that run."""
        sketches = self._loaded.sketches
        return {*self._loaded.loom.queries, *(sketches.queries if sketches else ())}

    def _modification_time(self) -> float:
        """When the workload file was last written; 0 if it is not there."""
        return self._file.stat().st_mtime if self._file.exists() else 0.0


def _without_queries(workload: Workload) -> Workload:
    """What of a workload cannot change while its streams run."""
    return replace(workload, queries=(), sketches=())


def _screen(streams: Sequence[StreamProgress], message: str) -> Group:
    """The progress of all streams as tables for the terminal, above the last message."""
    parts: list[Table | Text] = []
    for progress in streams:
        parts.append(_summary(progress))
        table = Table(box=SIMPLE_HEAD)
        for header in ("query", "rows matched", "windows", "last window", "ms", "waiting", ""):
            table.add_column(header, justify="left" if header in ("query", "") else "right")
        recent = sorted(
            progress.queries.values(), key=lambda q: (q.last_window is not None, str(q.last_window))
        )
        for query in reversed(recent[-SHOWN_QUERIES:]):
            table.add_row(
                Text(query.name),
                f"{query.matched:,}",
                f"{query.windows:,}",
                str(query.last_window or ""),
                f"{query.seconds * 1e3:,.0f}",
                f"{query.waiting:,}" if query.waiting else "",
                Text(query.error or "", style="red"),
            )
        parts.append(table)
    return Group(*parts, Text(message, style="dim"))


def _summary(progress: StreamProgress) -> Text:
    """The totals of a running stream and its last batch, as one line on the terminal."""
    last = progress.last
    late = f", {progress.late:,} late" if progress.late else ""
    timeless = f", {progress.timeless:,} without a time" if progress.timeless else ""
    ahead = f", {progress.ahead:,} too far ahead" if progress.ahead else ""
    head = (
        f"{progress.stream}: {progress.batches:,} batches, "
        f"{progress.rows:,} rows{late}{timeless}{ahead}"
    )
    return Text(f"{head}; {_batch_line(last)}" if last else head)


def _batch_line(batch: BatchProgress) -> str:
    """What one micro-batch did, as one line on the terminal."""
    seconds = ", ".join(f"{part} {s:.2f}" for part, s in batch.seconds.items())
    answered = sum(batch.answered.values())
    lag = f", {batch.lag:,.0f} s behind the clock" if batch.lag is not None else ""
    failed = f", {len(batch.failed)} failed" if batch.failed else ""
    return (
        f"batch {batch.number}: {batch.rows:,} rows, {batch.shards:,} shards, {batch.queries:,} "
        f"queries, {answered:,} answers{failed}, watermark {batch.watermark}{lag}, "
        f"{batch.total:.2f} s ({seconds})"
    )
