"""`gingham run`: all queries of a file in one pass over each stream."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from gingham.cli.live import run_stream
from gingham.cli.load_workload import LoadedWorkload, load_workload
from gingham.cli.outline import Problems
from gingham.cli.show import show_answer, show_estimates, show_statistics, time_zone
from gingham.cli.sink import is_on_executors, write_answer
from gingham.cli.start_spark import start_spark
from gingham.cli.terminal import err, out, progress, show_errors
from gingham.cli.workload import Sink, Workload
from gingham.core.errors import GinghamError
from gingham.core.secrets import without_secrets
from gingham.estimates.estimates import Estimates
from gingham.spark.answers import Answers
from gingham.spark.spark_errors import SPARK_ERRORS, failed_job

# More tables than this are too many to read; all answers are in the files of --output.
MOST_TABLES = 8


def load(workload: Workload, problems: Problems) -> LoadedWorkload:
    """A loom with the queries of a workload file; raises all errors of the file together."""
    try:
        spark = start_spark()
    except GinghamError as error:
        raise ExceptionGroup("Spark does not start", [*problems.errors, error]) from None
    with progress() as bars:
        task = bars.add_task("adding queries", total=len(workload.queries) + len(workload.sketches))
        loaded = load_workload(workload, problems, spark, lambda: bars.advance(task))
    problems.raise_any()
    return loaded


def explain_workload(workload: Workload, problems: Problems) -> str:
    """The plans of a workload's queries and of its sketches, as text."""
    loaded = load(workload, problems)
    plans = [loaded.loom.explain(**workload.arguments("plan"))] if workload.queries else []
    return "\n".join([*plans, *([loaded.sketches.explain()] if loaded.sketches else [])])


def run_workload(
    file: Path, workload: Workload, problems: Problems, sink: Sink | None, show: int
) -> int:
    """Run a workload file's queries; show and write answers. Gives the exit code."""
    loaded = load(workload, problems)
    if workload.checkpoint is not None:
        return run_stream(file, workload, loaded, sink.path if sink else "console")
    loom, sketches = loaded.loom, loaded.sketches
    try:
        with err.status(f"running {loaded.query_count:,} queries as one"):
            answers = loom.run(**workload.arguments("run"))
            estimates = sketches.run() if sketches else Estimates(loom.spark, {}, {})
        try:
            failed = {**answers.failed(), **estimates.failed()}
            good = {
                name: result
                for result in (answers, estimates)
                for name in result
                if name not in failed
            }
            _show_answers(loom.spark, good, show)
            if sink is not None:
                _write_answers(good, sink)
        finally:
            answers.release()
    except SPARK_ERRORS as error:
        raise failed_job(error) from error
    if workload.queries:
        show_statistics(answers.statistics)
    if sketches:
        show_estimates(estimates)
    show_errors(_about_query(name, error) for name, error in failed.items())
    return 1 if failed else 0


def _about_query(name: str, error: GinghamError) -> GinghamError:
    """The error of a query, with its name in front unless it is there already."""
    subject = f"query {name!r}"
    return error if error.what.startswith(subject) else error.about(subject)


def _show_answers(
    spark: SparkSession, answers: Mapping[str, Answers | Estimates], show: int
) -> None:
    """Print the first `show` rows of some answers on the terminal, of others only the row count.

    `answers` has for each query the run that holds its answer.
    """
    zone = time_zone(spark)
    tables = list(answers)[:MOST_TABLES] if show else []
    for name, run in answers.items():
        rows, count = _first_rows_of_answer(run, name, show)
        title = f"{name}: {count:,} rows" + (f", the first {show}" if 0 < show < count else "")
        if name in tables and count:
            show_answer(title, rows, zone)
        else:
            out.print(title, highlight=False, markup=False)
    if tables:
        out.print(f"times are in {zone}", style="dim", highlight=False)


def _first_rows_of_answer(
    answers: Answers | Estimates, name: str, show: int
) -> tuple[pa.Table, int]:
    """The first rows of an answer by window, to print on the terminal; and how many there are."""
    if is_on_executors(answers, name):
        rows = answers[name]
        return rows.orderBy("window_start").limit(show).toArrow(), rows.count()
    table = answers.arrow(name)
    if "window_start" in table.column_names:  # an estimate over whole relations has no window
        table = table.sort_by("window_start")
    return table.slice(0, show), table.num_rows


def _write_answers(answers: Mapping[str, Answers | Estimates], sink: Sink) -> None:
    """Write the answers of a workload to files, with a progress bar."""
    with progress() as bars:
        for name in bars.track(list(answers), description="writing answers"):
            write_answer(answers[name], name, sink)
    where = without_secrets(sink.path)
    out.print(
        f"{len(answers):,} answers as {sink.format} in {where}", highlight=False, markup=False
    )
