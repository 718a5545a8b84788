"""`gingham run` over a stream: live progress, and queries that follow edits of the file."""

from collections.abc import Mapping
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gingham.cli.outline import Problems
from gingham.cli.show import err, show_errors
from gingham.cli.workload import Workload, read_workload
from gingham.core.errors import GinghamError, WorkloadError
from gingham.loom import Loom
from gingham.stream.progress import BatchProgress, StreamProgress

POLL_SECONDS = 0.5  # between two looks at the file and the stream
SHOWN_QUERIES = 20  # those that answered last


def run_stream(file: Path, workload: Workload, loom: Loom, sink: str) -> bool:
    """Run the stream until it is interrupted, always with the queries that the file has then."""
    stream = workload.stream
    assert stream is not None
    assert stream.checkpoint is not None
    running = loom.start(
        checkpoint=stream.checkpoint,
        sink=sink,
        trigger={"processingTime": stream.trigger or "0 seconds"},
    )
    # The file is the list of queries, also of those that an earlier run left in the checkpoint.
    loom.replace({query.name: query.sql for query in workload.queries})
    edits = WorkloadEdits(file, workload, loom)
    if not err.is_terminal:
        running.listen(lambda batch: err.print(_batch_line(batch), highlight=False, soft_wrap=True))
    try:
        with Live(console=err, auto_refresh=False, transient=True) as live:
            while not running.await_termination(POLL_SECONDS):
                edits.poll()
                if err.is_terminal:
                    live.update(_screen(running.progress(), edits.message), refresh=True)
    except KeyboardInterrupt:
        running.stop()
    for progress in running.progress().values():
        err.print(_summary(progress), highlight=False)
    return True


class WorkloadEdits:
    """Applies edits of a workload file to a running loom; an edit with an error changes nothing."""

    def __init__(self, file: Path, workload: Workload, loom: Loom) -> None:
        self._file, self._workload, self._loom = file, workload, loom
        self._modified = self._modification_time()
        self.message = ""

    def poll(self) -> None:
        """Read the workload file again if it has changed, and apply its queries."""
        modified = self._modification_time()
        if modified == self._modified:
            return
        self._modified = modified
        before = set(self._loom.queries)
        try:
            self._apply(*read_workload(self._file))
        except* GinghamError as group:
            errors = [error for error in group.exceptions if isinstance(error, GinghamError)]
            self.message = f"{self._file} is refused, everything runs on as before"
            err.print(self.message, style="red", highlight=False)
            show_errors(errors)
        else:
            now = set(self._loom.queries)
            self.message = f"{len(now - before)} queries joined, {len(before - now)} left"
            err.print(self.message, highlight=False)

    def _apply(self, workload: Workload, problems: Problems) -> None:
        """Make the file's queries those of the loom; raises if anything else was changed."""
        problems.raise_any()
        if (workload.stream, workload.tables, workload.sink) != (
            self._workload.stream,
            self._workload.tables,
            self._workload.sink,
        ):
            raise WorkloadError(
                "stream, tables or sink were changed",
                "only queries can change while a stream runs",
                "the old ones, or stop and start again",
            )
        self._loom.replace({query.name: query.sql for query in workload.queries})

    def _modification_time(self) -> float:
        """When the workload file was last written; 0 if it is not there."""
        return self._file.stat().st_mtime if self._file.exists() else 0.0


def _screen(streams: Mapping[str, StreamProgress], message: str) -> Group:
    """The progress of all streams as tables for the terminal, above the last message."""
    parts: list[Table | Text] = []
    for progress in streams.values():
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
    head = (
        f"{progress.stream}: {progress.batches:,} batches, {progress.rows:,} rows{late}{timeless}"
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
