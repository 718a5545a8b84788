"""The command `gingham`.

It ends with 0 if all is well, 1 if input or data are to blame or an answer is missing, 2 if it is
called in a wrong way, 130 after Ctrl-C and 143 after SIGTERM.
"""

import logging
import signal
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gingham.cli.stop_signals import EXIT_CODE, TerminatedError, raise_on_sigterm
from gingham.core.errors import GinghamError
from gingham.core.full_disk import full_disk

if TYPE_CHECKING:
    from gingham.cli.outline import Problems
    from gingham.cli.workload import Workload

_FILE = click.argument("file", type=click.Path(path_type=Path))


class _Gingham(click.Group):
    """The command group; it prints errors of Gingham in three parts, without a stack trace."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; print errors on the terminal and exit with 1 if there are any."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, TerminatedError) as stopped:
            interrupted = isinstance(stopped, KeyboardInterrupt)
            number = signal.SIGINT if interrupted else signal.SIGTERM
            click.echo(f"gingham {ctx.invoked_subcommand} was stopped by {number.name}", err=True)
            return ctx.exit(EXIT_CODE + number)
        except BrokenPipeError:
            raise  # click knows: whoever reads the output has seen enough
        except Exception as error:
            errors = _errors_of_user(error)
            if not errors:
                raise
            from gingham.cli.terminal import show_errors

            show_errors(errors)
            return ctx.exit(1)


def _errors_of_user(error: Exception) -> list[GinghamError]:
    """The errors in three parts that an exception stands for; none if it is a bug in Gingham."""
    match error:
        case GinghamError():
            return [error]
        case ExceptionGroup():
            found = [_errors_of_user(inner) for inner in error.exceptions]
            return list(chain.from_iterable(found)) if all(found) else []
        case OSError():
            return [_of_system(error)]
        case _:
            return _of_spark(error)


def _of_system(error: OSError) -> GinghamError:
    """The error of a file or connection that the system refuses, in three parts."""
    why = error.strerror or str(error)
    what = f"{error.filename} cannot be used" if error.filename else "the system refuses"
    if isinstance(error, ConnectionError):
        return GinghamError(
            "the connection to Spark is lost",
            f"{why}: its process was ended, or ran out of memory",
            "run it again, with more memory or fewer rows",
        )
    if (full := full_disk(error)) is not None:
        return GinghamError(f"{full} is full", why, "free space there, or another folder")
    return GinghamError(what, why, "a path that this user may read and write")


def _of_spark(error: Exception) -> list[GinghamError]:
    """The error that Spark raised, in three parts; none if it is not of Spark's."""
    if "pyspark" not in sys.modules:
        return []
    from gingham.spark.spark_errors import SPARK_ERRORS, failed_job

    return [failed_job(error)] if isinstance(error, SPARK_ERRORS) else []


@click.group(cls=_Gingham, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gingham")
def cli() -> None:
    """Run many windowed aggregate queries over one stream as one Spark pipeline.

    \b
    gingham demo                     see what sharing is worth
    gingham example market           write a small data set and a workload file
    gingham run market/trades.yaml   run it

    A workload file is YAML (streams, tables, queries, sink) or plain SQL with a line
    "-- name: ..." before each query; gingham example writes one of each.
    """  # noqa: D301  (\b keeps click from joining lines)


@cli.command(short_help="See what sharing is worth.")
@click.option("--rows", type=click.IntRange(min=1), default=1_180_000, show_default=True)
@click.option(
    "--queries", type=click.IntRange(min=1), default=256, show_default=True, help="A square number."
)
def demo(rows: int, queries: int) -> None:
    """Share 256 queries over an hour of trades, and compare with running them alone."""
    from gingham.cli.demo import demo

    demo(rows, queries)


@cli.command(short_help="Write a small data set and workload files.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def example(folder: Path) -> None:
    """Write a small data set and workload files into the new folder DIR."""
    from gingham.cli.example import WORKLOADS, write_example

    write_example(folder)
    for name in WORKLOADS:
        click.echo(f"gingham run {folder / name}")


@cli.command(short_help="Check a workload file; report all errors.")
@_FILE
def check(file: Path) -> None:
    """Check a workload file against its data, without running it; report all errors."""
    workload, problems = _read(file)
    from gingham.cli.run import load

    load(workload, problems)
    click.echo(f"ok: {workload.summary}")


@cli.command(short_help="Show what queries share, and why not more.")
@_FILE
def plan(file: Path) -> None:
    """Show what the queries of a workload file share, and why something is not shared."""
    workload, problems = _read(file)
    from gingham.cli.run import explain_workload

    click.echo(explain_workload(workload, problems))


@cli.command(short_help="Run all queries of a workload file.")
@_FILE
@click.option("--output", metavar="DIR", help="Write answers here, a folder for each query.")
@click.option(
    "--format", "form", type=click.Choice(["parquet", "csv"]), help="What to write; else Parquet."
)
@click.option("--overwrite", is_flag=True, help="Replace the answers of an earlier run.")
@click.option(
    "--show", type=click.IntRange(min=0), default=5, show_default=True, help="Rows of each answer."
)
@click.pass_context
def run(
    ctx: click.Context,
    file: Path,
    output: str | None,
    form: str | None,
    show: int,
    *,
    overwrite: bool,
) -> None:
    """Run all queries of a workload file in one pass over each of its streams."""
    from gingham.cli.check_files import refuse_unwritable, sink_of

    workload, problems = _read(file)
    sink = sink_of(workload, output, form)
    refuse_unwritable(workload, sink, overwrite=overwrite)
    from gingham.cli.run import run_workload

    ctx.exit(run_workload(file, workload, problems, sink, show))


@cli.command(short_help="Measure what rows and shards cost on this machine.")
@click.option("--save", metavar="FILE", help="Keep the costs: Loom(cost=Cost.read(FILE)).")
@click.option("--rows", type=click.IntRange(min=1), help="Rows of the stream.")
def calibrate(save: str | None, rows: int | None) -> None:
    """Measure what rows, trees, grids and shards cost on this machine, by cells and by columns."""
    from dataclasses import asdict

    from rich.progress import Progress

    from gingham.cli.calibrate import ROWS, calibrate
    from gingham.cli.start_spark import start_spark
    from gingham.optimizer.cost import Cost

    spark = start_spark()
    with Progress(transient=True) as progress:
        measured = calibrate(spark, rows or ROWS, progress)
    default = Cost()
    for name, here in asdict(measured).items():
        usual = getattr(default, name)
        if here != usual:
            nanoseconds = f"{here * 1e9:16,.1f} ns"
            click.echo(f"{name:13} {nanoseconds}   (unless calibrated: {usual * 1e9:,.1f} ns)")
    if save:
        measured.write(save)
        click.echo(f"kept in {save}")


@cli.command(short_help="Check a checkpoint; say what is damaged.")
@click.argument("checkpoint")
@click.option("--repair", is_flag=True, help="Repair what needs no answer to be invented.")
@click.pass_context
def doctor(ctx: click.Context, checkpoint: str, *, repair: bool) -> None:
    """Check every file of the folder CHECKPOINT, while no stream runs from it.

    Says what is damaged and from where a start goes on; exits with 1 if something is damaged.
    """
    from gingham.cli.doctor import doctor

    if not doctor(checkpoint, repair=repair):
        ctx.exit(1)


def _read(file: Path) -> "tuple[Workload, Problems]":
    """Read a workload file and look at its files; raises what is wrong, as far as it is known.

    Without files to read no query can be checked: then nothing waits for Spark.
    """
    from gingham.cli.check_files import check_files
    from gingham.cli.read_workload import read_workload

    workload, problems = read_workload(file)
    workload = check_files(workload, problems)
    if not workload.sources or not (workload.queries or workload.sketches):
        problems.raise_any()
    return workload, problems


def main() -> None:
    """Run the command `gingham` with the arguments of the process."""
    raise_on_sigterm()
    # py4j logs stack traces of whatever is stopped; what matters is said by us.
    logging.getLogger().addHandler(logging.NullHandler())
    cli(prog_name="gingham")
