"""`gingham run`: all queries of a file in one pass."""

from pathlib import Path

import pyarrow as pa

from gingham.cli.live import follow
from gingham.cli.load import SPARK_ERRORS, load
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
from gingham.cli.sink import refuse_old_answers, write_answer
from gingham.cli.start import start
from gingham.cli.workload import Sink, Workload, read
from gingham.core.errors import AnswerError
from gingham.loom import Loom
from gingham.spark.answers import Answers
from gingham.spark.spark_errors import spark_message

# More tables than this nobody reads; all answers are in the files of --output.
MOST_TABLES = 8


def prepare(file: Path) -> tuple[Workload, Problems, Loom]:
    """Read a file and add its queries, with a bar; what is wrong is in the problems."""
    workload, problems = read(file)
    spark = start()
    with progress() as bars:
        task = bars.add_task("adding queries", total=len(workload.queries))
        loom = load(workload, problems, spark, lambda: bars.advance(task))
    return workload, problems, loom


def run(
    file: Path, output: str | None, form: str | None, show: int, *, overwrite: bool = False
) -> bool:
    """Run a file's queries together, show and write answers; False if a query failed."""
    workload, problems, loom = prepare(file)
    problems.raise_any()
    sink = _sink(workload, output, form)
    if workload.stream is not None and workload.stream.checkpoint is not None:
        return follow(file, workload, loom, sink.path if sink else "console")
    if sink is not None and not overwrite:
        refuse_old_answers(sink, loom.queries)

    try:
        with err.status(f"running {len(loom.queries):,} queries as one"):
            answers = loom.run()
        try:
            failed = answers.failed()
            good = [name for name in answers if name not in failed]
            _show(loom, answers, good, show)
            if sink is not None:
                _write(answers, good, sink)
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
    """Where answers go: what the command line says comes before what the file says."""
    path = output or (workload.sink and workload.sink.path)
    kind = form or (workload.sink.format if workload.sink else "parquet")
    return Sink(path, kind) if path else None


def _show(loom: Loom, answers: Answers, names: list[str], show: int) -> None:
    zone = time_zone(loom.spark)
    tables = names[:MOST_TABLES] if show else []
    for name in names:
        rows, count = _first(answers, name, show)
        title = f"{name}: {count:,} rows" + (f", the first {show}" if 0 < show < count else "")
        if name in tables and count:
            show_answer(title, rows, zone)
        else:
            out.print(title.partition(",")[0] if not show else title, highlight=False)
    if tables:
        out.print(f"times are in {zone}", style="dim", highlight=False)


def _first(answers: Answers, name: str, show: int) -> tuple[pa.Table, int]:
    """The first rows by time, and how many there are."""
    if name in answers.statistics.in_executors:
        rows = answers[name]
        return rows.orderBy("window_start").limit(show).toArrow(), rows.count()
    table = answers.arrow(name)
    return table.sort_by("window_start").slice(0, show), table.num_rows


def _write(answers: Answers, names: list[str], sink: Sink) -> None:
    with progress() as bars:
        for name in bars.track(names, description="writing answers"):
            write_answer(answers, name, sink)
    out.print(f"{len(names):,} answers as {sink.format} in {sink.path}", highlight=False)
