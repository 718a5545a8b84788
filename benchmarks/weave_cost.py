"""What plans cost: Figures 4 to 11 and 14 of Guirguis et al. (CIKM 2011), a function for each.

The study's windows can be read in several ways (`guirguis_settings`): figures show those that fit
some of its values, with the values that its text gives beside them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.guirguis_settings import (
    GAINS,
    HIGH,
    LOW,
    MEDIUM,
    READINGS,
    TENTHS,
    WHOLE,
    Reading,
)
from benchmarks.sections import Cell, Section
from benchmarks.weave_figure import PUBLISHED, Figure
from benchmarks.weave_share_counts import ALL, BITMAP, LOOKUP, NONE, VARIANTS, edges_looked_at
from gingham.optimizer.weave import WovenPlan
from gingham.optimizer.weave.published import weave

SEARCHES = ("no_share", "shared", "random", "insert_then_weave", "local_search", "scalable")
SIZES, FEW_SIZES = (50, 100, 250, 500, 1000), (50, 100)
_SEEDS = (1, 2, 3)

Line = list[tuple[float, float]]
Step = Callable[[str], None]


def cost_figures(*, quick: bool, step: Step) -> list[Figure]:
    """All of them, on few queries if it has to be quick."""
    figures: list[Figure] = []
    for number, make in FIGURES.items():
        step(f"Guirguis Fig. {number}")
        figures += make(quick=quick)
    return figures


def figure_4(*, quick: bool = False) -> list[Figure]:
    """The cost of plans by the number of queries at a low rate."""
    return _costs(4, LOW, quick=quick)


def figure_5(*, quick: bool = False) -> list[Figure]:
    """The cost of plans by the number of queries at a medium rate."""
    return _costs(5, MEDIUM, quick=quick)


def figure_6(*, quick: bool = False) -> list[Figure]:
    """Woven / shared by the number of queries, at three rates."""
    return [
        Figure(
            f"Guirguis Fig. 6 ({reading.name})",
            "woven / shared",
            "queries",
            "cost ratio",
            {
                **{
                    f"{rate:g} rows/s": [(n, _ratio(reading, n, rate)) for n in _sizes(quick=quick)]
                    for rate in (LOW, MEDIUM, HIGH)
                },
                f"{HIGH:g} rows/s{PUBLISHED}": _published(6, across="queries"),
            },
            log_up=False,
        )
        for reading in (WHOLE, TENTHS)
    ]


def figure_7(*, quick: bool = False) -> list[Figure]:
    """The trees of woven plans by the number of queries, at three rates."""
    return [
        Figure(
            f"Guirguis Fig. 7 ({reading.name})",
            "trees of the woven plan",
            "queries",
            "trees",
            {
                f"{rate:g} rows/s": [(n, _trees(reading, n, rate)) for n in _sizes(quick=quick)]
                for rate in (LOW, MEDIUM, HIGH)
            },
            stops={"several from here on, published (10000 rows/s)": 100},
        )
        for reading in (WHOLE, TENTHS)
    ]


def figure_8(*, quick: bool = False) -> list[Figure]:
    """Woven / shared by the rate, for four numbers of queries."""
    sizes = (50,) if quick else (50, 250, 1000, 2000)
    return [
        Figure(
            f"Guirguis Fig. 8 ({reading.name})",
            "woven / shared",
            "rows/s",
            "cost ratio",
            {
                **{
                    f"{n} queries": [
                        (rate, _ratio(reading, n, rate))
                        for rate in (50.0, 100.0, 300.0, 1e3, 2e3, 3e3, 1e4)
                    ]
                    for n in sizes
                },
                **{
                    f"{n} queries{PUBLISHED}": _published(8, across="rate", queries=n)
                    for n in (250, 1000, 2000)
                },
            },
            log_up=False,
        )
        for reading in (WHOLE, TENTHS)
    ]


def figure_9(*, quick: bool = False) -> list[Figure]:
    """Woven / shared by the largest overlap factor, at five rates."""
    n = 250 if quick else 2000
    return [
        Figure(
            f"Guirguis Fig. 9 ({reading.name})",
            f"woven / shared, {n} queries",
            "overlap factor",
            "cost ratio",
            {
                **{
                    f"{rate:g} rows/s": [
                        (overlap, _ratio(reading, n, rate, overlap=overlap))
                        for overlap in (50, 100, 200, 500, 1000, 2000)
                    ]
                    for rate in (1e2, 1e3, 1e4, 1e5, 1e6)
                },
                f"{1e5:g} rows/s{PUBLISHED}": _published(9, across="overlap"),
            },
            log_up=False,
        )
        for reading in (WHOLE, TENTHS)
    ]


def figure_10(*, quick: bool = False) -> list[Figure]:
    """Woven / shared by the skew of slides, for several numbers of queries."""
    return [
        Figure(
            f"Guirguis Fig. 10 ({reading.name})",
            "woven / shared, 100 rows/s",
            "skew",
            "cost ratio",
            {
                f"{n} queries": [
                    (skew, _ratio(reading, n, 100.0, skew=skew, overlap=10))
                    for skew in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
                ]
                for n in _sizes(quick=quick)
            },
            log_across=False,
            log_up=False,
        )
        for reading in (WHOLE, TENTHS)
    ]


def figure_11(*, quick: bool = False) -> list[Figure]:
    """A query at a time, for tolerances from always to never weaving anew."""
    n = 60 if quick else 300
    return [_incremental(reading, n) for reading in (WHOLE, TENTHS)]


def figure_14(*, quick: bool = False) -> list[Figure]:
    """What the three optimizations of Weave Share save: edges looked at, and seconds."""
    sizes = (10, 15) if quick else (20, 60, 120, 250)
    figures: list[Figure] = []
    for reading in READINGS:
        looks: dict[str, Line] = {variant: [] for variant in VARIANTS}
        for n in sizes:
            windows = reading.windows(n, skew=0.7, overlap=10)
            for variant, count in edges_looked_at(windows, 100.0 / reading.ticks).items():
                looks[variant].append((n, count))
        first, *others = (points[-1][1] for points in looks.values())
        saved = ", ".join(f"{first / other:,.0f}" for other in others)
        figures.append(
            Figure(
                f"Guirguis Fig. 14 ({reading.name})",
                "Weave Share",
                "queries",
                "edges looked at",
                looks,
                (f"{sizes[-1]} queries: {saved} times fewer; published 10, 100 and 1,000",),
            )
        )
    return [*figures, _seconds_of_variants((10, 15) if quick else (20, 40, 60))]


FIGURES: Mapping[int, Callable[..., list[Figure]]] = {
    4: figure_4,
    5: figure_5,
    6: figure_6,
    7: figure_7,
    8: figure_8,
    9: figure_9,
    10: figure_10,
    11: figure_11,
    14: figure_14,
}


def readings_table(*, quick: bool = False) -> Section:
    """Every gain that the study's text prints, and what each reading gives: mean of three draws."""
    rows: list[list[Cell]] = []
    for one in GAINS:
        found: list[Cell] = []
        for reading in READINGS:
            n = min(one.queries, 40) if quick else one.queries
            ratio = _ratio(reading, n, one.rate, overlap=one.overlap)
            trees = _trees(reading, n, one.rate, overlap=one.overlap)
            found.append(f"{100 * (1 - ratio):.0f}% ({trees:.1f})")
        rows.append(
            [
                f"Figure {one.figure}",
                one.queries,
                f"{one.rate:,.0f}",
                f"{one.overlap:g}",
                f"{one.percent:g}%",
                *found,
            ]
        )
    return Section(
        "what Weave Share saves against one tree (trees)",
        ("", "queries", "rows/s", "overlap", "published", *(reading.name for reading in READINGS)),
        rows,
    )


def _sizes(*, quick: bool) -> Sequence[int]:
    return FEW_SIZES if quick else SIZES


def _published(figure: int, *, across: str, queries: int | None = None) -> Line:
    return [
        (getattr(one, across), 1 - one.percent / 100)
        for one in GAINS
        if one.figure == figure and queries in (None, one.queries)
    ]


def _plans(
    reading: Reading, n: int, rate: float, **settings: float
) -> Iterator[tuple[WovenPlan, WovenPlan]]:
    """The woven plan and that of one tree, for three draws of the windows."""
    for seed in _SEEDS:
        windows = reading.windows(n, seed=seed, **settings)
        woven = weave(windows, rate=rate / reading.ticks)
        yield woven, weave(windows, rate=rate / reading.ticks, method="shared")


def _ratio(reading: Reading, n: int, rate: float, **settings: float) -> float:
    return fmean(woven.cost / shared.cost for woven, shared in _plans(reading, n, rate, **settings))


def _trees(reading: Reading, n: int, rate: float, **settings: float) -> float:
    return fmean(len(woven.trees) for woven, _ in _plans(reading, n, rate, **settings))


def _costs(number: int, rate: float, *, quick: bool) -> list[Figure]:
    figures: list[Figure] = []
    for reading in (WHOLE, TENTHS):
        lines: dict[str, Line] = {method: [] for method in SEARCHES}
        for n in _sizes(quick=quick):
            windows = reading.windows(n)
            for method in SEARCHES:
                plan = weave(
                    windows,
                    rate=rate / reading.ticks,
                    method=method,
                    budget=5 if quick else 60,
                )
                lines[method].append((n, reading.ticks * plan.cost))
        best = lines["scalable"][-1][1]
        ratios = ", ".join(f"{method} {lines[method][-1][1] / best:.3g}" for method in SEARCHES)
        figures.append(
            Figure(
                f"Guirguis Fig. {number} ({reading.name})",
                f"{rate:g} rows per second",
                "queries",
                "operations per second",
                lines,
                (f"{_sizes(quick=quick)[-1]} queries, cost / scalable: {ratios}",),
            )
        )
    return figures


def _incremental(reading: Reading, n: int) -> Figure:
    """One query after the other joins a plan that is woven anew beyond a tolerance."""
    rate = 100.0 / reading.ticks
    windows = reading.windows(n, overlap=10)
    first = max(2, n // 10)
    scratch = [weave(windows[: i + 1], rate=rate).cost for i in range(first, n)]
    points: Line = []
    notes: list[str] = []
    for tolerance in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, math.inf):
        plan = weave(windows[:first], rate=rate, method="incremental", tolerance=tolerance)
        deviations: list[float] = []
        for window, best in zip(windows[first:], scratch, strict=True):
            plan = plan.add(window)
            deviations.append(plan.cost / best - 1)
        deviation = 100 * fmean(deviations)
        points.append((plan.operations, deviation))
        notes.append(
            f"tolerance {tolerance:g}: {plan.operations:,} comparisons, {plan.rebuilds} rebuilds, "
            f"{deviation:.2f}% above weaving anew, {100 * max(deviations):.1f}% at worst"
        )
    return Figure(
        f"Guirguis Fig. 11 ({reading.name})",
        f"{n} queries, one by one",
        "comparisons",
        "% above weaving anew",
        {"incremental": points},
        tuple(notes),
        log_up=False,
    )


def _seconds_of_variants(sizes: Sequence[int]) -> Figure:
    variants: dict[str, dict[str, Any]] = {
        NONE: {"lookup": False, "bitmap": False, "probe_smaller": False},
        LOOKUP: {"lookup": True, "bitmap": False, "probe_smaller": False},
        BITMAP: {"lookup": True, "bitmap": True, "probe_smaller": False},
        ALL: {"lookup": True, "bitmap": True, "probe_smaller": True},
    }
    lines: dict[str, Line] = {line: [] for line in (*variants, "scalable")}
    for n in sizes:
        windows = TENTHS.windows(n, skew=0.7, overlap=10)
        for line, options in variants.items():
            start = time.perf_counter()
            weave(windows, rate=10.0, method="weave_share", budget=600, **options)
            lines[line].append((n, time.perf_counter() - start))
        start = time.perf_counter()
        weave(windows, rate=10.0)
        lines["scalable"].append((n, time.perf_counter() - start))
    return Figure(
        "Guirguis Fig. 14, seconds", f"Weave Share ({TENTHS.name})", "queries", "seconds", lines
    )
