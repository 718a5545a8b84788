"""Weaving on the engine: plans of the same queries, predicted and measured."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.targets import Target
from gingham.datasets.trades import close, listing, queries, trades
from gingham.logical.window import Window
from gingham.loom import Loom
from gingham.optimizer.cost import Cost
from gingham.optimizer.weave import weave
from gingham.plan.forest import Plan

ROWS = 4_000_000
_TURNS = 3
_PATIENCE = 30.0  # seconds after which a plan is not run again
_HOPELESS = 150.0  # predicted seconds beyond which it is not run at all
_WOVEN, _ONE, _NONE = "woven", "one tree", "no sharing"


@dataclass
class Attempt:
    """One way to weave a workload: its plan, the predicted seconds, and those of each run."""

    workload: str
    way: str
    trees: int
    grids: int
    predicted: float
    shards: int = 0
    seconds: list[float] = field(default_factory=list[float])

    @property
    def best(self) -> float:
        """The quickest run."""
        return min(self.seconds)


def run_on_engine(
    spark: SparkSession, rows: int, cost: Cost, step: Callable[[str], None], *, quick: bool
) -> list[Attempt]:
    """Run every workload in every way of weaving it, in turns."""
    n = 64 if quick else 256
    workloads = {
        "alerts and reports": alerts_and_reports(n // 2),
        **{kind: queries(kind, n) for kind in ("A", "C", "C-low")},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "trades")
        step("writing trades")
        trades(spark, rows).write.parquet(path)
        return [
            attempt
            for name, found in workloads.items()
            for attempt in _run_in_all_ways(
                spark, spark.read.parquet(path), name, found, cost, step
            )
        ]


def alerts_and_reports(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """A few alerts every few seconds, and many reports every few minutes over finer conditions."""
    rng = random.Random(f"alerts {seed}")
    found: list[tuple[str, str]] = []
    for i in range(n):
        if i % 16 == 0:
            slide, times, where = rng.randint(1, 3), 10, f"vol > {rng.choice((500, 1000, 5000))}"
        else:
            slide, times = 60 * rng.randint(2, 10), rng.randint(1, 4)
            where = f"vol > {100 * rng.randint(1, 40)} AND price < {rng.randint(5, 90)}"
        window = f"window(ts, '{slide * times} seconds', '{slide} seconds')"
        kind = "alert" if i % 16 == 0 else "report"
        sql = f"SELECT sum(price * vol) AS value FROM trades WHERE {where} GROUP BY {window}"
        found.append((f"{kind}_{i:03d}", sql))
    return found


def _run_in_all_ways(
    spark: SparkSession,
    rows: DataFrame,
    workload: str,
    found: list[tuple[str, str]],
    cost: Cost,
    step: Callable[[str], None],
) -> list[Attempt]:
    loom = Loom(spark, cost=cost).stream("trades", rows, time="ts")
    loom.table("close", close(spark), key="symbol")
    loom.table("listing", listing(spark), key="symbol")
    for name, sql in found:
        loom.add(sql, name=name)
    ways = _ways(loom.plan())
    attempts: dict[str, Attempt] = {}
    for way, trees in ways.items():
        plan = loom.plan(trees=trees)
        forest = plan.forest
        attempts[way] = Attempt(workload, way, len(forest.trees), len(forest.grids), plan.seconds)
    for turn in range(_TURNS):
        for way, trees in ways.items():
            attempt = attempts[way]
            if attempt.predicted > _HOPELESS or (turn and attempt.best > _PATIENCE):
                continue
            step(f"{workload}: {way}")
            started = time.perf_counter()
            attempt.shards = loom.run(trees=trees).statistics.shards
            attempt.seconds.append(time.perf_counter() - started)
    return list(attempts.values())


def _ways(plan: Plan) -> dict[str, Mapping[str, int]]:
    """Trees of the queries: as chosen, and otherwise."""
    forest = plan.forest
    names = [query.name for query in forest.queries]
    windows = {query.name: query.window for query in forest.queries}
    ways = {
        _WOVEN: {query.name: forest.grid_of(query).tree for query in forest.queries},
        _ONE: dict.fromkeys(names, 0),
        "a tree per window": _numbered(windows),
        "by windows alone": _by_windows_alone(windows, plan.statistics.rate),
        _NONE: {name: i for i, name in enumerate(names)},
    }
    # The same trees twice are one way.
    different: dict[tuple[int, ...], str] = {}
    for way, trees in ways.items():
        different.setdefault(tuple(_numbered(trees).values()), way)
    return {way: ways[way] for way in different.values()}


def _numbered(found: Mapping[str, object]) -> dict[str, int]:
    number = {value: i for i, value in enumerate(dict.fromkeys(found.values()))}
    return {name: number[value] for name, value in found.items()}


def _by_windows_alone(windows: Mapping[str, Window], rate: float) -> dict[str, int]:
    """The trees of Weave Share, which knows neither conditions nor this engine."""
    plan = weave(list(windows.values()), rate=rate)
    tree_of = {window: i for i, tree in enumerate(plan.trees) for window in tree.windows}
    return {name: tree_of[window] for name, window in windows.items()}


def engine_targets(attempts: list[Attempt]) -> list[Target]:
    """What was promised of weaving on the engine; of plans that were not run it says nothing."""
    of: dict[str, dict[str, Attempt]] = {}
    for attempt in attempts:
        if attempt.seconds:
            of.setdefault(attempt.workload, {})[attempt.way] = attempt
    targets: list[Target] = []
    mixed = of.get("alerts and reports", {})
    if {_WOVEN, _ONE, _NONE} <= mixed.keys():
        woven, one, none = (mixed[way] for way in (_WOVEN, _ONE, _NONE))
        times = min(one.best, none.best) / woven.best
        by_guess = sorted((woven, one, none), key=lambda t: t.predicted)
        right = by_guess == sorted((woven, one, none), key=lambda t: t.best)
        targets += [
            Target(
                "alerts and reports: the better of one tree and no sharing / woven",
                ">= 1.5",
                f"{times:.2f}",
                times >= 1.5,
            ),
            Target("their order as predicted", "yes", "yes" if right else "no", right),
        ]
    for workload, ways in of.items():
        chosen = ways.get(_WOVEN) or ways[_ONE]
        ratio = chosen.best / min(one.best for one in ways.values())
        targets.append(
            Target(
                f"{workload}: chosen / best of all attempts", "<= 1.1", f"{ratio:.2f}", ratio <= 1.1
            )
        )
    return targets


def show_engine(attempts: list[Attempt], rows: int, console: Console) -> None:
    """Print a table with a row for each workload and way."""
    table = Table(title=f"plans on the engine, {rows:,} rows", box=SIMPLE_HEAD)
    for column in ("workload", "way", "trees", "grids", "shards", "predicted", "seconds"):
        table.add_column(column, justify="left" if column in {"workload", "way"} else "right")
    last = ""
    for attempt in attempts:
        table.add_row(
            attempt.workload if attempt.workload != last else "",
            attempt.way,
            str(attempt.trees),
            str(attempt.grids),
            f"{attempt.shards:,}" if attempt.seconds else "",
            f"{attempt.predicted:.2f}",
            f"{attempt.best:.2f}" if attempt.seconds else "not run",
        )
        last = attempt.workload
    console.print(table)


def as_json(attempts: list[Attempt]) -> list[dict[str, object]]:
    """All attempts as JSON."""
    return [asdict(attempt) for attempt in attempts]
