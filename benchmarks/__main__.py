"""The command `python -m benchmarks`: run one benchmark by its name."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any

import click

from benchmarks.plain_session import plain_session
from gingham.cli.start_spark import start_spark
from gingham.cli.terminal import show_errors
from gingham.core.errors import GinghamError
from gingham.spark.spark_session import active_or_new_session

# Each is a module of this folder with a function `run`.
BENCHMARKS = {
    "share": "a thousand queries: shared, one by one, in Spark and in DuckDB",
    "mix": "random mixes of queries: nine attributes, four key sets, twelve aggregates",
    "rules": "detection rules over process creations, batch and stream",
    "monitoring": "alert rules over samples of metrics, batch and stream",
    "crowd": "a query with a million groups beside 200 small ones",
    "stream": "a shared stream against a Spark stream for each query",
    "endure": "half an hour of a busy stream, to see what grows",
    "weave": "the cost of woven plans, and the time that finding them takes",
    "shein": "counting edges by F1 and by bit sets, without Spark",
    "fragments": "fewer records than queries, and what Spark shuffles",
    "sketches": "estimated joins: shared against unshared sketches of equal memory",
}
_SPELLED = {"json_path": "json", "plot_path": "plot", "sizes": "queries"}
# These run in a session as users make it; the others in the one that the command line makes.
IN_PLAIN_SESSION = frozenset({"mix", "rules", "monitoring", "crowd"})


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--quick", is_flag=True, help="Few rows, small workloads, one repetition.")
@click.option("--json", "json_path", metavar="FILE", help="Write every number to a file.")
@click.option("--plot", "plot_path", metavar="FILE", help="Draw a plot.")
@click.option("--rows", type=click.IntRange(min=1), help="Rows of the stream.")
@click.option(
    "--queries",
    "sizes",
    type=click.IntRange(min=1),
    multiple=True,
    help="mix, rules, monitoring: so many queries; may be given several times.",
)
@click.option("--mixes", type=click.IntRange(min=1), help="mix: so many different mixes.")
@click.option("--cap", type=click.FloatRange(min=1), help="Seconds for each timed part.")
@click.option(
    "--workloads",
    metavar="FOLDER",
    help="rules, monitoring: the folder of rules and events; else GINGHAM_WORKLOADS names it.",
)
@click.pass_context
def main(ctx: click.Context, name: str | None, *, quick: bool, **given: Any) -> None:
    """Measure sharing against the ways to do without it; without NAME, list the benchmarks."""
    if name is None:
        for known, what in BENCHMARKS.items():
            click.echo(f"{known:10} {what}")
        return
    options = {option: value for option, value in given.items() if value not in (None, ())}
    try:
        _run(name, {"quick": quick, **options})
    except* GinghamError as found:
        show_errors(error for error in found.exceptions if isinstance(error, GinghamError))
        ctx.exit(1)


def require_installed(modules: Iterable[str]) -> None:
    """Raise an error that tells what to install if one of the modules cannot be imported."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise GinghamError(
            f"{' and '.join(missing)} cannot be imported",
            "benchmarks compare with DuckDB, draw with Matplotlib and count threads",
            "pip install --editable '.[dev]'",
        )


def _run(name: str, options: dict[str, Any]) -> None:
    """Run a benchmark, unless its name is unknown or what it imports is not installed."""
    if name not in BENCHMARKS:
        raise GinghamError(
            f"there is no benchmark {name!r}", "its name is none of ours", ", ".join(BENCHMARKS)
        )
    # Checked before measuring: a plot that fails after ten minutes is of no use.
    require_installed(("duckdb", "matplotlib", "threadpoolctl"))
    benchmark = import_module(f"benchmarks.{name}").run
    for option in options:
        if option not in signature(benchmark).parameters:
            raise GinghamError(
                f"the benchmark {name} has no option --{_SPELLED.get(option, option)}",
                "it would measure the same without",
                f"python -m benchmarks {name}",
            )
    if "spark" in signature(benchmark).parameters:
        make_session = plain_session if name in IN_PLAIN_SESSION else active_or_new_session
        options["spark"] = start_spark(make_session)
    benchmark(**options)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
