"""The figures of Krishnamurthy, Wu and Franklin (SIGMOD 2006), one function each.

    python -m benchmarks.figures --only krishnamurthy-13

Figures 13 to 16 as the study has them: its sizes, ten query sets each, an hour of trades; seconds
of the engine, operations counted as in the study and as the engine does them, and the study's
values beside them. Unshared, every query is a run of the engine of its own: a few are measured and
the rest is extrapolated. Panes are made by a query that tumbles by a pane, in the same tree.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console

from benchmarks import baselines
from benchmarks.baselines import Market
from benchmarks.krishnamurthy_analysis import (
    FRAGMENTS,
    ROWS,
    SATISFIED,
    SETS,
    SHARED_PAIRED,
    SHARED_PANED,
    STRATEGIES,
    UNSHARED_PAIRED,
    UNSHARED_PANED,
    figure_4,
    fragment_costs,
)
from benchmarks.operations import Operations, TradeRows, count
from benchmarks.sections import Cell, Section, show
from benchmarks.share import loom_of, run_shared
from benchmarks.share_report import PAPER
from benchmarks.weave_figure import PUBLISHED, Figure, draw, write_json
from benchmarks.weave_figure import show as show_figures
from gingham.algebra.edges import normalized
from gingham.cli.start_spark import start_spark
from gingham.datasets.trades import TradeQuery, trade_queries
from gingham.loom import Loom

SIZES: Mapping[str, Sequence[int]] = {
    "A": (16, 32, 64, 128, 256),
    "B": (16, 32, 64, 128, 256),
    "C": (16, 36, 64, 144, 256),
    "C-low": (16, 32, 64, 128, 256),
}
HOUR, RATE = 1_181_901, 328.4  # rows of the study's hour: six windows of ten minutes
TIMED_SETS = SETS  # query sets that are run
ALONE = 2  # queries of each set that are measured alone

# Seconds of 256 queries: Sections 6.2 to 6.4.
SECONDS: Mapping[str, Mapping[str, float]] = {
    "A": {UNSHARED_PAIRED: 50.48, SHARED_PAIRED: 2.63, SHARED_PANED: 6.90},
    "B": {UNSHARED_PAIRED: 27.25, SHARED_PAIRED: 3.01},
    "C": {UNSHARED_PAIRED: 31.19, SHARED_PAIRED: 3.67},
    "C-low": {UNSHARED_PAIRED: 34.56, SHARED_PAIRED: 17.73},
}
PANED_FINALS = 2_340_842  # of A, shared
TABULATED = 256  # queries that the study's text counts


@dataclass(frozen=True, slots=True)
class Seconds:
    """Seconds of one run: all of it, making shards, finals."""

    total: float
    shards: float
    finals: float


def draw_figure_4(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
    """Figure 4: operations of all four strategies by Tables 2 and 3, and inequality (1)."""
    figures = figure_4(quick=quick)
    show_figures(figures, console)
    _keep(figures, folder, 4)


def draw_figure_10(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
    """Figure 10: costs by the number of fragments, and where the fragments of workload B lie."""
    sets = 1 if quick else SETS
    with _market(quick=quick) as market:
        rows_read = TradeRows.of(market)
    found = [
        _per_window(rows_read, trade_queries("B", 16 if quick else TABULATED, s))
        for s in range(sets)
    ]
    rows, k, satisfied, of_fragments = (fmean(part) for part in zip(*found, strict=True))
    ks = [1, 10, 100, 1000, 10_000, 50_000, 100_000, 150_000, ROWS]
    costs = {k: fragment_costs(k, ROWS, SATISFIED) for k in ks}
    _, shared = fragment_costs(FRAGMENTS, ROWS, SATISFIED)
    figure = Figure(
        "Krishnamurthy Fig. 10",
        "shared and unshared fragments",
        "fragments",
        "operations",
        {
            "unshared": [(k, both[0]) for k, both in costs.items()],
            "shared": [(k, both[1]) for k, both in costs.items()],
            f"shared{PUBLISHED}": [(FRAGMENTS, shared)],
            "unshared here": [(k, rows * satisfied)],
            "shared here": [(k, rows + k * of_fragments)],
        },
        notes=(
            _told("published", ROWS, FRAGMENTS, SATISFIED, SATISFIED),
            _told("here", rows, k, satisfied, of_fragments),
            f"equal at {ROWS * (1 - 1 / SATISFIED):,.0f} fragments",
        ),
    )
    show_figures([figure], console)
    _keep([figure], folder, 10)


def _told(where: str, rows: float, k: float, satisfied: float, of_fragments: float) -> str:
    unshared, shared = rows * satisfied, rows + k * of_fragments
    return (
        f"{where}: {rows:,.0f} rows, {k:,.0f} fragments, {satisfied:.1f} queries a row and "
        f"{of_fragments:.1f} a fragment: unshared {unshared:,.0f}, shared {shared:,.0f}, "
        f"{unshared / shared:.1f} times fewer"
    )


def _per_window(rows: TradeRows, queries: Sequence[TradeQuery]) -> tuple[float, ...]:
    """Rows, fragments, queries that a row and that a fragment satisfies, in ten minutes."""
    found = count(rows, queries)
    windows = found.slices
    return (
        len(rows) / windows,
        found.shards / windows,
        found.unshared_partial / len(rows),
        found.final / found.shards,
    )


def draw_figure_13(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
    """Figure 13: windows differ; all four strategies."""
    _compare("A", 13, STRATEGIES, folder, console, quick=quick)


def draw_figure_14(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
    """Figure 14: predicates differ; panes and pairs are the same."""
    _compare("B", 14, (UNSHARED_PAIRED, SHARED_PAIRED), folder, console, quick=quick)


def draw_figure_15(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
    """Figure 15: both differ, every predicate with every window."""
    _compare("C", 15, (UNSHARED_PAIRED, SHARED_PAIRED), folder, console, quick=quick)


def draw_figure_16(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
    """Figure 16: both differ, and neither occurs twice."""
    _compare("C-low", 16, (UNSHARED_PAIRED, SHARED_PAIRED), folder, console, quick=quick)


FIGURES: Mapping[int, Callable[[Path, Console, bool], None]] = {
    4: draw_figure_4,
    10: draw_figure_10,
    13: draw_figure_13,
    14: draw_figure_14,
    15: draw_figure_15,
    16: draw_figure_16,
}


def _keep(figures: Sequence[Figure], folder: Path, number: int) -> None:
    draw(figures, folder / f"krishnamurthy_{number}.png")
    write_json(figures, folder / "figures.json")


@contextmanager
def _market(*, quick: bool) -> Generator[Market]:
    """An hour of trades."""
    with tempfile.TemporaryDirectory(prefix="gingham-figures-") as folder:
        rows = 50_000 if quick else HOUR
        market = baselines.market(start_spark(), Path(folder), rows, RATE)
        yield market
        market.duck.close()


def _compare(
    kind: str,
    number: int,
    strategies: Sequence[str],
    folder: Path,
    console: Console,
    *,
    quick: bool,
) -> None:
    """Run a workload by some strategies, count their operations, and draw both."""
    sizes, sets, timed = (SIZES[kind][:2], 2, 1) if quick else (SIZES[kind], SETS, TIMED_SETS)
    with _market(quick=quick) as market:
        rows = TradeRows.of(market)
        run_shared(loom_of(market, trade_queries("C", 16)))  # the JVM compiles what all use
        # Adding 256 queries takes longer than running them, so the looms of one set are kept.
        looms = {n: loom_of(market, trade_queries(kind, n)) for n in sizes}
        seconds = {
            strategy: _seconds(market, kind, looms, timed, strategy) for strategy in strategies
        }
        different = 0
        if SHARED_PANED in strategies:
            different = _differences(market, trade_queries(kind, sizes[-1]), looms[sizes[-1]])
        operations = {
            paned: {n: _mean_count(rows, kind, n, sets, paned=paned) for n in sizes}
            for paned in sorted({_is_paned(strategy) for strategy in strategies})
        }
        engine = {
            n: engine_operations(loom, rows, trade_queries(kind, n)) for n, loom in looms.items()
        }
    show([_seconds_table(kind, number, seconds, timed)], console)
    if SHARED_PANED in strategies:
        console.print(f"answers that differ between panes and pairs: {different}")
    show([_operations_table(kind, number, strategies, operations, engine)], console)
    figures = [
        _seconds_figure(kind, number, seconds),
        _operations_figure(kind, number, strategies, operations, engine),
    ]
    _keep(figures, folder, number)


def _is_paned(strategy: str) -> bool:
    return strategy in (SHARED_PANED, UNSHARED_PANED)


def _panes(queries: Sequence[TradeQuery]) -> list[TradeQuery]:
    """Queries that tumble by the panes of others: they cut time as panes do."""
    panes = normalized((math.gcd(*query.window), 0) for query in queries)
    return [TradeQuery(f"pane_{pane}", pane, pane) for pane, _ in panes]


def _seconds(
    market: Market, kind: str, looms: Mapping[int, Loom], sets: int, strategy: str
) -> dict[int, Seconds]:
    """Seconds by the number of queries, the mean over query sets; looms are those of the first."""
    paned = _is_paned(strategy)

    def loom(n: int, seed: int) -> Loom:
        if seed == 0 and not paned:
            return looms[n]
        return _sliced_loom(market, trade_queries(kind, n, seed), paned=paned)

    if strategy in (SHARED_PAIRED, SHARED_PANED):
        return {n: _mean([_run(loom(n, s), paned=paned) for s in range(sets)]) for n in looms}
    alone = _mean(
        [
            _run(_sliced_loom(market, [query], paned=paned), paned=paned)
            for s in range(sets)
            for query in trade_queries(kind, 16, s)[:: 16 // ALONE]
        ]
    )
    return {n: Seconds(n * alone.total, n * alone.shards, n * alone.finals) for n in looms}


def _run(loom: Loom, *, paned: bool) -> Seconds:
    run = run_shared(loom, _one_tree(loom) if paned else None)
    return Seconds(run.seconds, run.steps["shards"], run.steps["finals"])


def _sliced_loom(market: Market, queries: Sequence[TradeQuery], *, paned: bool) -> Loom:
    return loom_of(market, [*queries, *(_panes(queries) if paned else ())])


def _one_tree(loom: Loom) -> dict[str, int]:
    return dict.fromkeys(loom.queries, 0)


def _differences(market: Market, queries: Sequence[TradeQuery], paired: Loom) -> int:
    """How many windows are answered differently by panes and by pairs."""
    panes, pairs = (
        baselines.answers(run_shared(loom, _one_tree(loom)).tables)
        for loom in (_sliced_loom(market, queries, paned=True), paired)
    )
    return sum(
        not math.isclose(panes[query.name].get(end, math.nan), value, rel_tol=1e-9)
        for query in queries
        for end, value in pairs[query.name].items()
    )


def _mean(runs: Sequence[Seconds]) -> Seconds:
    return Seconds(
        fmean(run.total for run in runs),
        fmean(run.shards for run in runs),
        fmean(run.finals for run in runs),
    )


def _mean_count(rows: TradeRows, kind: str, n: int, sets: int, *, paned: bool) -> Operations:
    found = [count(rows, trade_queries(kind, n, s), paned=paned) for s in range(sets)]
    total = sum(found[1:], start=found[0])
    return Operations(*(round(value / sets) for value in total.values))


def engine_operations(loom: Loom, rows: TradeRows, queries: Sequence[TradeQuery]) -> Operations:
    """Count what the engine does, grid by grid: every grid aggregates the rows that it needs."""
    forest = loom.plan().forest
    assert not forest.by_columns.grids
    named = {query.name: query for query in queries}
    placed = [(named[query.name], forest.grid_of(query)) for query in forest.queries]
    parts = [
        count(
            rows,
            [query for query, its_grid in placed if its_grid == grid],
            cut_by=[query for query, its_grid in placed if its_grid.tree == grid.tree],
        )
        for grid in forest.grids
    ]
    return sum(parts[1:], start=parts[0])


def _seconds_table(
    kind: str, number: int, seconds: Mapping[str, Mapping[int, Seconds]], sets: int
) -> Section:
    rows: list[list[Cell]] = []
    for strategy, found in seconds.items():
        published = SECONDS[kind].get(strategy)
        rows.append(
            [
                strategy,
                *(f"{found[n].total:.2f}" for n in found),
                None if published is None else f"{published:.2f}",
            ]
        )
        if strategy == SHARED_PAIRED:
            for part in ("shards", "finals"):
                values = [getattr(found[n], part) for n in found]
                rows.append([f"  {part}", *(f"{value:.3f}" for value in values), None])
    sizes = list(seconds[SHARED_PAIRED])
    return Section(
        f"Figure {number}, workload {kind}: seconds by the number of queries",
        ("", *map(str, sizes), f"published, {TABULATED}"),
        rows,
        f"means of {sets} query sets, planned and run once each; unshared from {sets * ALONE} "
        "queries that were run alone",
    )


def _counts(found: Operations, strategy: str) -> tuple[int, int]:
    if strategy in (SHARED_PAIRED, SHARED_PANED):
        return found.partial, found.final
    return found.unshared_partial, found.unshared_final


def _published_counts(kind: str, strategy: str) -> tuple[int, int] | None:
    partial, final, shared_partial, shared_final = PAPER[kind]
    return {
        UNSHARED_PAIRED: (partial, final),
        SHARED_PAIRED: (shared_partial, shared_final),
        SHARED_PANED: (shared_partial, PANED_FINALS),
    }.get(strategy)


def _operations_table(
    kind: str,
    number: int,
    strategies: Sequence[str],
    operations: Mapping[bool, Mapping[int, Operations]],
    engine: Mapping[int, Operations],
) -> Section:
    rows: list[list[Cell]] = []
    for strategy in strategies:
        found = operations[_is_paned(strategy)]
        published = _published_counts(kind, strategy)
        for part, name in enumerate(("partial", "final")):
            rows.append(
                [
                    f"{strategy}, {name}",
                    *(f"{_counts(one, strategy)[part]:,}" for one in found.values()),
                    None if published is None else f"{published[part]:,}",
                ]
            )
    for name, value in (
        ("engine, rows into grids", lambda one: one.partial),
        ("engine, fragments merged", lambda one: one.merged_fragments),
        ("engine, slices merged", lambda one: one.merged_slices),
        ("engine, shards", lambda one: one.shards),
    ):
        rows.append([name, *(f"{value(one):,}" for one in engine.values()), None])
    return Section(
        f"Figure {number}, workload {kind}: operations by the number of queries",
        ("", *map(str, engine), f"published, {TABULATED}"),
        rows,
        "means of the query sets, of one for the engine",
    )


def _seconds_figure(kind: str, number: int, seconds: Mapping[str, Mapping[int, Seconds]]) -> Figure:
    lines = {
        strategy: [(n, one.total) for n, one in found.items()]
        for strategy, found in seconds.items()
    }
    published = {
        f"{strategy}{PUBLISHED}": [(TABULATED, value)] for strategy, value in SECONDS[kind].items()
    }
    name = f"Krishnamurthy Fig. {number}"
    return Figure(name, f"workload {kind}", "queries", "seconds", lines | published)


def _operations_figure(
    kind: str,
    number: int,
    strategies: Sequence[str],
    operations: Mapping[bool, Mapping[int, Operations]],
    engine: Mapping[int, Operations],
) -> Figure:
    lines = {
        strategy: [
            (n, sum(_counts(one, strategy))) for n, one in operations[_is_paned(strategy)].items()
        ]
        for strategy in strategies
    }
    lines["engine"] = [
        (n, one.partial + one.merged_fragments + one.merged_slices) for n, one in engine.items()
    ]
    for strategy in strategies:
        if (published := _published_counts(kind, strategy)) is not None:
            lines[f"{strategy}{PUBLISHED}"] = [(TABULATED, sum(published))]
    name = f"Krishnamurthy Fig. {number}"
    return Figure(name, f"workload {kind}, counted", "queries", "operations", lines)
