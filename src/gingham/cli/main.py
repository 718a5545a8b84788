"""The command `gingham`."""

from pathlib import Path
from typing import Any

import click

from gingham.core.errors import GinghamError

_FILE = click.argument("file", type=click.Path(path_type=Path))


class _Gingham(click.Group):
    """The command group; it prints errors of Gingham in three parts, without a stack trace."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; print errors on the terminal and exit with 1 if there are any."""
        try:
            return super().invoke(ctx)
        except* GinghamError as group:
            from gingham.cli.show import show_errors

            show_errors(error for error in group.exceptions if isinstance(error, GinghamError))
        return ctx.exit(1)


@click.group(cls=_Gingham, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gingham")
def cli() -> None:
    """Run many windowed aggregate queries over one stream as one Spark pipeline.

    \b
    gingham demo                     see what sharing is worth
    gingham example market           write a small data set and a workload file
    gingham run market/trades.yaml   run it

    A workload file is YAML (stream, tables, queries, sink) or plain SQL with a line
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
    from gingham.cli.run import load_file

    workload, problems, loom = load_file(file)
    problems.raise_any()
    assert workload.stream is not None  # else there would be a problem
    click.echo(f"ok: {len(loom.queries)} queries over {workload.stream.source.name}")


@cli.command(short_help="Show what queries share, and why not more.")
@_FILE
def plan(file: Path) -> None:
    """Show what the queries of a workload file share, and why something is not shared."""
    from gingham.cli.run import load_file

    _, problems, loom = load_file(file)
    problems.raise_any()
    click.echo(loom.explain())


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
    """Run all queries of a workload file in one pass over its stream."""
    from gingham.cli.run import run_file

    if not run_file(file, output, form, show, overwrite=overwrite):
        ctx.exit(1)


@cli.command(short_help="Measure what rows and shards cost on this machine.")
@click.option("--save", metavar="FILE", help="Keep the costs: Loom(cost=Cost.read(FILE)).")
@click.option("--rows", type=click.IntRange(min=1), help="Rows of the stream.")
def calibrate(save: str | None, rows: int | None) -> None:
    """Measure what a row, a tree, a grid, a shard and a final cost on this machine."""
    from rich.progress import Progress

    from gingham.cli.calibrate import ROWS, calibrate
    from gingham.cli.start_spark import start_spark
    from gingham.optimizer.cost import Cost

    spark = start_spark()
    with Progress(transient=True) as progress:
        measured = calibrate(spark, rows or ROWS, progress)
    default = Cost()
    for name in ("row", "tree", "grid", "shard", "final"):
        here, usual = getattr(measured, name) * 1e9, getattr(default, name) * 1e9
        click.echo(f"{name:6} {here:10,.1f} ns   (unless calibrated: {usual:,.1f} ns)")
    if save:
        measured.write(save)
        click.echo(f"kept in {save}")


def main() -> None:
    """Run the command `gingham` with the arguments of the process."""
    cli(prog_name="gingham")
