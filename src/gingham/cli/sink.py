"""Writing answers of a static run to files: a folder per query."""

from pathlib import Path

import pyarrow.csv
import pyarrow.parquet

from gingham.cli.values import is_local
from gingham.cli.workload import Sink
from gingham.core.file_names import file_name
from gingham.estimates.estimates import Estimates
from gingham.spark.answers import Answers


def write_answer(answers: Answers | Estimates, name: str, sink: Sink) -> None:
    """Write a query's answer as files into its output folder, in place of an older one."""
    if is_on_executors(answers, name) or not is_local(sink.path):
        answers[name].write.mode("overwrite").option("header", True).format(sink.format).save(
            f"{sink.path}/{file_name(name)}"
        )
        return
    # A Spark job for each of a thousand small answers would take longer than answering.
    folder = Path(sink.path) / file_name(name)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("part-*"):
        old.unlink()
    table, file = answers.arrow(name), folder / f"part-0.{sink.format}"
    if sink.format == "csv":
        pyarrow.csv.write_csv(table, file)
    else:
        pyarrow.parquet.write_table(table, file)


def is_on_executors(answers: Answers | Estimates, name: str) -> bool:
    """Whether an answer is too large for the driver; estimates never are."""
    return isinstance(answers, Answers) and name in answers.statistics.in_executors
