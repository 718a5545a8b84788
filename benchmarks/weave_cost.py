"""What plans cost: Figures 4 to 11 and 14 of Guirguis et al. (CIKM 2011)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from benchmarks.weave_figure import Figure
from gingham.datasets.windows import TEMPLATES, zipf_windows
from gingham.optimizer.weave import WovenPlan
from gingham.optimizer.weave.published import weave

# The study's settings where a figure says nothing else.
SKEW, OVERLAP = 0.6, 50.0
LOW, MEDIUM, HIGH = 50.0, 300.0, 10_000.0
SEARCHES = ("no_share", "shared", "random", "insert_then_weave", "local_search", "scalable")

Windows = list[tuple[int, int]]
Step = Callable[[str], None]


def cost_figures(*, quick: bool, step: Step) -> list[Figure]:
    """All of them, on few queries if it has to be quick."""
    sizes = (50, 100, 250) if quick else (50, 100, 250, 500, 1000)
    figures: list[Figure] = []
    for name, rate in (("Guirguis Fig. 4", LOW), ("Guirguis Fig. 5", MEDIUM)):
        step(name)
        figures.append(_cost_of_searches(name, rate, sizes, quick=quick))
    step("Guirguis Fig. 6 to 10")
    figures += _sizes_and_trees(sizes)
    figures.append(_rates((50, 250) if quick else (50, 250, 1000, 2000)))
    figures.append(_overlaps(250 if quick else 2000))
    figures.append(_skews(sizes))
    step("Guirguis Fig. 11")
    figures.append(_incremental(60 if quick else 300))
    step("Guirguis Fig. 14")
    return [*figures, *_optimizations((10, 15) if quick else (20, 40, 60))]


def _windows(n: int, *, skew: float = SKEW, overlap: float = OVERLAP, seed: int = 1) -> Windows:
    return zipf_windows(n, TEMPLATES, skew=skew, overlap=overlap, seed=seed)


def _cost_of_searches(name: str, rate: float, sizes: Sequence[int], *, quick: bool) -> Figure:
    lines: dict[str, list[tuple[float, float]]] = {method: [] for method in SEARCHES}
    for n in sizes:
        windows = _windows(n)
        for method in SEARCHES:
            plan = weave(windows, rate=rate, method=method, budget=5 if quick else 60)
            lines[method].append((n, plan.cost))
    return Figure(name, f"{rate:g} rows per second", "queries", "operations per second", lines)


def _normalized(windows: Windows, rate: float) -> tuple[float, WovenPlan]:
    woven = weave(windows, rate=rate)
    return woven.cost / weave(windows, rate=rate, method="shared").cost, woven


def _sizes_and_trees(sizes: Sequence[int]) -> list[Figure]:
    costs: dict[str, list[tuple[float, float]]] = {}
    trees: dict[str, list[tuple[float, float]]] = {}
    for rate in (LOW, MEDIUM, HIGH):
        line = f"{rate:g} rows/s"
        for n in sizes:
            ratio, woven = _normalized(_windows(n), rate)
            costs.setdefault(line, []).append((n, ratio))
            trees.setdefault(line, []).append((n, len(woven.trees)))
    return [
        Figure("Guirguis Fig. 6", "woven / shared", "queries", "cost ratio", costs, log_up=False),
        Figure("Guirguis Fig. 7", "trees of the woven plan", "queries", "trees", trees),
    ]


def _rates(sizes: Sequence[int]) -> Figure:
    lines = {
        f"{n} queries": [
            (rate, _normalized(_windows(n), rate)[0])
            for rate in (50.0, 100.0, 300.0, 1e3, 2e3, 3e3, 1e4)
        ]
        for n in sizes
    }
    return Figure("Guirguis Fig. 8", "woven / shared", "rows/s", "cost ratio", lines, log_up=False)


def _overlaps(n: int) -> Figure:
    lines = {
        f"{rate:g} rows/s": [
            (overlap, _normalized(_windows(n, overlap=overlap), rate)[0])
            for overlap in (50, 200, 500, 1000, 2000)
        ]
        for rate in (1e2, 1e3, 1e4, 1e5, 1e6)
    }
    title = f"woven / shared, {n} queries"
    return Figure("Guirguis Fig. 9", title, "overlap factor", "cost ratio", lines, log_up=False)


def _skews(sizes: Sequence[int]) -> Figure:
    lines = {
        f"{n} queries": [
            (skew, _normalized(_windows(n, skew=skew, overlap=10), 100.0)[0])
            for skew in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
        ]
        for n in sizes
    }
    title = "woven / shared, 100 rows/s"
    return Figure(
        "Guirguis Fig. 10", title, "skew", "cost ratio", lines, log_across=False, log_up=False
    )


def _incremental(n: int) -> Figure:
    """A query at a time, for tolerances from always to never weaving anew."""
    windows = _windows(n, overlap=10)
    first = max(2, n // 10)
    scratch = [weave(windows[: i + 1], rate=100.0).cost for i in range(first, n)]
    points: list[tuple[float, float]] = []
    notes: list[str] = []
    for tolerance in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, math.inf):
        plan = weave(windows[:first], rate=100.0, method="incremental", tolerance=tolerance)
        deviations: list[float] = []
        for window, best in zip(windows[first:], scratch, strict=True):
            plan = plan.add(window)
            deviations.append(plan.cost / best - 1)
        deviation = 100 * fmean(deviations)
        points.append((plan.operations, deviation))
        notes.append(
            f"tolerance {tolerance:g}: {plan.operations:,} comparisons, {plan.rebuilds} rebuilds, "
            f"{deviation:.2f}% above weaving anew"
        )
    return Figure(
        "Guirguis Fig. 11",
        f"{n} queries, one by one",
        "comparisons",
        "% above weaving anew",
        {"incremental": points},
        tuple(notes),
        log_up=False,
    )


def _optimizations(sizes: Sequence[int]) -> list[Figure]:
    variants: dict[str, dict[str, Any]] = {
        "none": {"lookup": False, "bitmap": False, "probe_smaller": False},
        "lookup": {"lookup": True, "bitmap": False, "probe_smaller": False},
        "lookup, bitmap": {"lookup": True, "bitmap": True, "probe_smaller": False},
        "all three": {"lookup": True, "bitmap": True, "probe_smaller": True},
    }
    operations: dict[str, list[tuple[float, float]]] = {}
    seconds: dict[str, list[tuple[float, float]]] = {}
    for n in sizes:
        windows = _windows(n, skew=0.7, overlap=10)
        for line, options in variants.items():
            start = time.perf_counter()
            plan = weave(windows, rate=100.0, method="weave_share", budget=600, **options)
            operations.setdefault(line, []).append((n, plan.operations))
            seconds.setdefault(line, []).append((n, time.perf_counter() - start))
        start = time.perf_counter()
        plan = weave(windows, rate=100.0)
        operations.setdefault("scalable (pairs)", []).append((n, plan.operations))
        seconds.setdefault("scalable", []).append((n, time.perf_counter() - start))
    return [
        Figure("Guirguis Fig. 14", "Weave Share", "queries", "edges looked at", operations),
        Figure("Guirguis Fig. 14b", "Weave Share", "queries", "seconds", seconds),
    ]
