"""`gingham run`: all queries of a file in one pass."""

from pathlib import Path

import pyarrow as pa

from gingham.cli.live import run_stream
from gingham.cli.load_workload import load_workload
from gingham.cli.outline import Problems
from gingham.cli.show import (
    err,
    out,
    progress,
    show_answer,
    show_errors,
    show_statistics,
    time_zone,
)
from gingham.cli.sink import refuse_to_overwrite, write_answer
from gingham.cli.start_spark import start_spark
from gingham.cli.workload import Sink, Workload, read_workload
from gingham.core.errors import AnswerError
from gingham.loom import Loom
from gingham.spark.answers import Answers
from gingham.spark.spark_errors import SPARK_ERRORS, spark_message

# More tables than this are too many to read; all answers are in the files of --output.
MOST_TABLES = 8


def load_file(file: Path) -> tuple[Workload, Problems, Loom]:
    """Read a workload file with a progress bar: content, errors, and a loom with its queries."""
    workload, problems = read_workload(file)
    spark = start_spark()
    with progress() as bars:
        task = bars.add_task("adding queries", total=len(workload.queries))
        loom = load_workload(workload, problems, spark, lambda: bars.advance(task))
    return workload, problems, loom


def run_file(
    file: Path, output: str | None, form: str | None, show: int, *, overwrite: bool = False
) -> bool:
    """Run a workload file's queries; show and write answers. False if a query failed."""
    workload, problems, loom = load_file(file)
    problems.raise_any()
    sink = _sink(workload, output, form)
    if workload.stream is not None and workload.stream.checkpoint is not None:
        return run_stream(file, workload, loom, sink.path if sink else "console")
    if sink is not None and not overwrite:
        refuse_to_overwrite(sink, loom.queries)

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
        raise AnswerError(
            "Spark stopped", spark_message(error), "data that the queries and schemas suit"
        ) from error
    show_statistics(answers.statistics)
    show_errors(error.about(f"query {name!r}") for name, error in failed.items())
    return not failed


def _sink(workload: Workload, output: str | None, form: str | None) -> Sink | None:
    """Where answers of a workload go: by the options of the command line, else by the file."""
    path = output or (workload.sink and workload.sink.path)
    kind = form or (workload.sink.format if workload.sink else "parquet")
    return Sink(path, kind) if path else None


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
            out.print(title.partition(",")[0] if not show else title, highlight=False)
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
    out.print(f"{len(names):,} answers as {sink.format} in {sink.path}", highlight=False)
