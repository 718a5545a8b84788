"""`gingham run`: all queries of a file in one pass."""

from pathlib import Path

import pyarrow as pa

from gingham.cli.live import run_stream
from gingham.cli.load_workload import load_workload
from gingham.cli.outline import Problems
from gingham.cli.show import show_answer, show_statistics, time_zone
from gingham.cli.sink import write_answer
from gingham.cli.start_spark import start_spark
from gingham.cli.terminal import err, out, progress, show_errors
from gingham.cli.workload import Sink, Workload
from gingham.core.errors import GinghamError
from gingham.core.secrets import without_secrets
from gingham.loom import Loom
from gingham.spark.answers import Answers
from gingham.spark.spark_errors import SPARK_ERRORS, failed_job

# More tables than this are too many to read; all answers are in the files of --output.
MOST_TABLES = 8


def load(workload: Workload, problems: Problems) -> Loom:
    """A loom with the queries of a workload file; raises all errors of the file together."""
    try:
        spark = start_spark()
    except GinghamError as error:
        raise ExceptionGroup("Spark does not start", [*problems.errors, error]) from None
    with progress() as bars:
        task = bars.add_task("adding queries", total=len(workload.queries))
        loom = load_workload(workload, problems, spark, lambda: bars.advance(task))
    problems.raise_any()
    return loom


def run_workload(
    file: Path, workload: Workload, problems: Problems, sink: Sink | None, show: int
) -> int:
    """Run a workload file's queries; show and write answers. Gives the exit code."""
    loom = load(workload, problems)
    if workload.stream is not None and workload.stream.checkpoint is not None:
        return run_stream(file, workload, loom, sink.path if sink else "console")
    try:
        with err.status(f"running {len(loom.queries):,} queries as one"):
            answers = loom.run()
        try:
            failed = answers.failed()
            good = [name for name in answers if name not in failed]
            _show_answers(loom, answers, good, show)
            if sink is not None:
                _write_answers(answers, good, sink)
        finally:
            answers.release()
    except SPARK_ERRORS as error:
        raise failed_job(error) from error
    show_statistics(answers.statistics)
    show_errors(_about_query(name, error) for name, error in failed.items())
    return 1 if failed else 0


def _about_query(name: str, error: GinghamError) -> GinghamError:
    """The error of a query, with its name in front unless it is there already."""
    subject = f"query {name!r}"
    return error if error.what.startswith(subject) else error.about(subject)


def _show_answers(loom: Loom, answers: Answers, names: list[str], show: int) -> None:
    """Print the first `show` rows of some answers on the terminal, of others only the row count."""
    zone = time_zone(loom.spark)
    tables = names[:MOST_TABLES] if show else []
    for name in names:
        rows, count = _first_rows_of_answer(answers, name, show)
        title = f"{name}: {count:,} rows" + (f", the first {show}" if 0 < show < count else "")
        if name in tables and count:
            show_answer(title, rows, zone)
        else:
            out.print(title, highlight=False, markup=False)
    if tables:
        out.print(f"times are in {zone}", style="dim", highlight=False)


def _first_rows_of_answer(answers: Answers, name: str, show: int) -> tuple[pa.Table, int]:
    """The first rows of an answer by window, to print on the terminal; and how many there are."""
    if name in answers.statistics.in_executors:
        rows = answers[name]
        return rows.orderBy("window_start").limit(show).toArrow(), rows.count()
    table = answers.arrow(name)
    return table.sort_by("window_start").slice(0, show), table.num_rows


def _write_answers(answers: Answers, names: list[str], sink: Sink) -> None:
    """Write the answers of a workload to files, with a progress bar."""
    with progress() as bars:
        for name in bars.track(names, description="writing answers"):
            write_answer(answers, name, sink)
    where = without_secrets(sink.path)
    out.print(f"{len(names):,} answers as {sink.format} in {where}", highlight=False, markup=False)
