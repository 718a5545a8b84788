"""Joins estimated from sketches: shared against not, at equal memory.

    python -m benchmarks sketches [--quick] [--json FILE] [--plot FILE] [--rows N]

Errors first, then what the sketches cost on Spark (join_speed.py).

Section 6 of Dobra, Garofalakis, Gehrke and Rastogi (Information Systems 2009), repeated: the same
generator with the same defaults, the same workloads. Rows with equal keys are one row with a
count, so all ten million rows of each relation take part in each of the 100 repetitions.

    sketch_panels      errors against the budget, by workload and metric
    sketch_readings    the same for other readings of the paper's generator
    sketch_rivals      samples and other sketches of as many words
    sketch_figures     the figures of the paper, one by one
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.join_speed import speed
from benchmarks.outputs import File, table_console, write_results
from benchmarks.sections import Section
from benchmarks.sketch_panels import BUDGETS, REPETITIONS, Workload, panel, standard_error
from benchmarks.sketch_readings import readings, weighing
from benchmarks.sketch_report import Panel, Report, draw, show
from benchmarks.sketch_rivals import SPARSE_ROWS, rivals
from benchmarks.targets import Target
from benchmarks.timing import repeat
from gingham.core.stopwatch import Stopwatch
from gingham.datasets.regions import Regions, Table, workload
from gingham.estimates.algebra import JoinQuery, plan_sharing, sketch
from gingham.estimates.algebra.allocation import METRICS, least_error
from gingham.estimates.algebra.sharing_plan import Sharing
from tests.oracle.convex import convex_optimum, random_graph

# Of each relation, where rows are read by Spark; and how often, of which the quickest counts.
SPARK_ROWS, TURNS = 1_000_000, 5


def run(
    rows: int = 10_000_000,
    *,
    spark: SparkSession,
    quick: bool = False,
    json_path: File | None = None,
    plot_path: File | None = "sketches.png",
    repetitions: int = REPETITIONS,
    seed: int = 0,
    console: Console | None = None,
) -> Report:
    """Measure, print and draw; `quick` takes two budgets and few repetitions."""
    console = console or table_console()
    budgets = BUDGETS
    if quick:
        budgets, repetitions = (BUDGETS[0], BUDGETS[-1]), min(repetitions, 6)
    tables = Regions(rows=rows).tables(seed)
    # A line for each part as well: a bar is seen on a terminal only.
    watch = Stopwatch()

    def say(part: str) -> None:
        watch.lap(part)
        console.print(f"{part}: {watch.laps[part]:.0f} s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    panels: list[Panel] = []
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("errors", total=(3 * len(METRICS) + 1) * repetitions)
        step = partial(progress.advance, task)
        for number, metric in product((1, 2, 3), METRICS):
            panels.append(panel(number, metric, tables, budgets, repetitions, step))
            say(f"workload {number}, {metric} error, {repetitions} repetitions")
        sections = [_selections(budgets[-1], repetitions, step)]
        say("different selections")
    sections += [readings(rows, 1 if quick else 5), weighing(rows)]
    say("readings of the generator")
    sections.append(
        rivals(rows, budgets[-1], 1 if quick else 5, SPARSE_ROWS[:1] if quick else SPARSE_ROWS)
    )
    say("samples and other sketches")
    sections += [_vertices(), _solver(20 if quick else 200), _coverage(panels), _speed()]
    say("mathematics alone")
    for section in speed(spark, SPARK_ROWS // 10 if quick else SPARK_ROWS, 1 if quick else TURNS):
        sections.append(section)
        say(section.title)
    report = Report(rows, repetitions, tuple(panels), tuple(sections))
    show(report, console)
    write_results(report.as_json(), json_path, console, partial(draw, report), plot_path)
    return report


# Vertices without sharing and with it, of workloads 1 and 2.
PAPER = ((34, 16), (82, 25))


def _vertices() -> Section:
    def vertices(number: int, share: Sharing, *, fold: bool = False) -> int:
        plan = plan_sharing(workload(number), budget=20_000, share=share, fold=fold)
        return len(plan.vertices)

    rows = [
        (
            f"workload {number}",
            vertices(number, "none"),
            vertices(number, "equal"),
            vertices(number, "equal", fold=True),
        )
        for number in (1, 2, 3)
    ]
    return Section(
        "vertices",
        ("", "no sharing", "sharing", "self-joins folded"),
        rows,
        targets=[
            Target(f"vertices of {name}", f"{alone} to {shared}", f"{none} to {equal}", met)
            for (name, none, equal, _), (alone, shared) in zip(rows, PAPER, strict=False)
            for met in [(none, equal) == (alone, shared)]
        ],
    )


def _solver(graphs: int) -> Section:
    """The optimum by maximum flows against scipy's general convex solver."""
    flows = general = worst = 0.0
    for seed in range(graphs):
        uses, weights = random_graph(seed)
        start = time.perf_counter()
        ours = least_error("average", uses, weights)
        middle = time.perf_counter()
        scipys = convex_optimum(uses, weights)
        stop = time.perf_counter()
        flows, general = flows + middle - start, general + stop - middle
        worst = max(worst, abs(ours / scipys - 1))
    return Section(
        "the best division of memory",
        ("random graphs", "by flows", "scipy SLSQP", "times as long", "largest difference"),
        (
            (
                graphs,
                f"{1e3 * flows / graphs:.2f} ms",
                f"{1e3 * general / graphs:.2f} ms",
                round(general / flows, 1),
                f"{worst:.1e}",
            ),
        ),
        targets=[
            Target("flows differ from a convex solver", "<= 1e-6", f"{worst:.1e}", worst <= 1e-6),
            Target("and are quicker", "yes", f"{general / flows:.1f} x", flows < general),
        ],
    )


def _coverage(panels: Sequence[Panel]) -> Section:
    least = min(panel.held for panel in panels)
    return Section(
        "intervals of 95 % that hold the truth, by workload",
        ("", *(f"{p.workload}, {p.metric}" for p in panels)),
        (("held", *(f"{p.held:.1%}" for p in panels)),),
        targets=[
            Target("intervals of 95 % hold the truth", ">= 95 %", f"{least:.1%}", least >= 0.95)
        ],
    )


# Every range of the eight fragments: 36 selections, of which eight are independent.
PARTS = 8


def _selections(budget: int, repetitions: int, step: Callable[[], None]) -> Section:
    """Queries that select different ranges of one relation and join it with the same other."""
    random = np.random.default_rng(1)
    keys, parts = np.divmod(np.arange(1024 * PARTS), PARTS)
    skewed = (1 + random.permutation(1024)) ** -0.8
    daily = np.repeat(skewed / skewed.sum(), PARTS) / PARTS
    tables = {
        "R": Table({"a": keys}, random.multinomial(1_000_000, daily), fragments=parts),
        "S": Table({"a": np.arange(1024)}, random.multinomial(1_000_000, skewed / skewed.sum())),
    }
    queries = [
        JoinQuery([("R", "a", "S", "a")], f"{a} to {b}", selections={"R": frozenset(range(a, b))})
        for a in range(PARTS)
        for b in range(a + 1, PARTS + 1)
    ]
    work = Workload.of(queries, tables)
    shares: dict[str, Sharing] = {
        "one sketch per query": "none",
        "equal selections": "equal",
        "fragments": "fragments",
    }
    plans = {
        way: plan_sharing(queries, budget=budget, share=share, fragments={"R": PARTS})
        for way, share in shares.items()
    }
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in plans}
    for repetition in range(repetitions):
        for way, plan in plans.items():
            errors = work.measure([replace(plan, seed=repetition)]).errors
            found[way].append((float(errors.mean()), float(errors.max())))
        step()
    average = {way: float(np.mean(values, axis=0)[0]) for way, values in found.items()}
    less = min(average["one sketch per query"], average["equal selections"]) / average["fragments"]
    rows = [
        (
            way,
            len(plans[way].vertices),
            f"{mean[0]:.2e} ± {spread[0]:.0e}",
            f"{mean[1]:.2e} ± {spread[1]:.0e}",
            round(average[way] / average["fragments"], 2),
        )
        for way, values in found.items()
        for mean, spread in [(np.mean(values, axis=0), standard_error(np.array(values)))]
    ]
    return Section(
        f"{len(queries)} different selections, {budget:,} words",
        ("", "vertices", "average error", "maximum error", "/ fragments"),
        rows,
        targets=[
            Target("selections: the better other way / fragments", "> 1", f"{less:.1f}", less > 1)
        ],
    )


def _speed() -> Section:
    """How fast keys are sketched that were grouped before."""
    random = np.random.default_rng(0)
    plan = plan_sharing({"q": [("r", "a", "s", "a")]}, budget=2000)
    keys = {"a": random.permutation(1_000_000)}
    seconds = min(repeat(lambda: sketch(plan, "r", keys, grouped=True), 3)[0])
    return Section(
        "a million different keys, a thousand words, one core",
        ("seconds", "nanoseconds for each key and word"),
        ((f"{seconds:.2f}", f"{seconds:.2f}"),),
    )
