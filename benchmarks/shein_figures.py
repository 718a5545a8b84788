"""Figures 6 to 11 and Table 2 of Shein et al. (CIKM 2015), each from one function.

    draw_figure(7, Path("shein-7.png"))

measures what the figure shows, as the study did (five runs), and draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.sections import Cell, Section
from benchmarks.shein_measure import (
    FULL,
    LINES,
    QUICK,
    Limits,
    Point,
    measure,
    needs,
    seconds_of_bit_sets,
    seconds_per_mark,
)
from benchmarks.shein_settings import (
    EXPERIMENTS,
    MEMORY,
    PAPER_RATIO,
    RUNS,
    Experiment,
    Law,
    Setting,
)
from benchmarks.weave_figure import Figure, draw

Step = Callable[[str], None]


def _quiet(what: str) -> None:
    """A step that is not shown."""


_QUICK_POINTS: dict[int, tuple[float, ...]] = {
    1: (100, 250, 550, 1_000_000),
    2: (100, 200, 400, 600, 800, 2000),
    3: (100, 200, 400, 900, 10_000),
    4: (0, 1, 2.25, 5, 10, 30, 100),
    5: (100, 70, 50, 40, 20, 10, 1),
}
_MANY_QUERIES = 1000  # beyond this a quick benchmark runs a point once


@dataclass(frozen=True, slots=True)
class Result:
    """The points of one experiment, and the seconds that BS takes for a mark on this machine."""

    experiment: Experiment
    points: Sequence[Point]
    per_mark: float

    def predicted(self, point: Point) -> float | None:
        """Seconds of BS / F1 if BS had the study's memory, from the marks of the runs that fit."""
        seeds = [seed for seed in point.fitting(MEMORY) if seed in point.seconds["F1"]]
        if not seeds:
            return None
        marks = sum(point.needs[seed].marks for seed in seeds)
        return marks * self.per_mark / sum(point.seconds["F1"][seed] for seed in seeds)


def run_experiment(experiment: Experiment, *, quick: bool, step: Step = _quiet) -> Result:
    """Run all points of an experiment; few of them and small ones if it has to be quick."""
    limits: Limits = QUICK if quick else FULL
    points: list[Point] = []
    for x, setting in experiment.points:
        if quick and x not in _QUICK_POINTS[experiment.number]:
            continue
        runs = 1 if quick and setting.queries > _MANY_QUERIES else RUNS
        step(f"Figure {experiment.figure}: {experiment.parameter} {x:g}")
        points.append(measure(x, setting, range(1, runs + 1), limits))
    return Result(experiment, points, seconds_per_mark())


def draw_figure(number: int, path: Path, *, quick: bool = False) -> None:
    """Measure and draw one of Figures 6 to 11."""
    if number == 6:
        draw([operations_figure()], path)
        return
    experiment = next(e for e in EXPERIMENTS if e.figure == number)
    draw([seconds_figure(run_experiment(experiment, quick=quick))], path)


def operations_figure() -> Figure:
    """Figure 6: operations of BS and F1 over the slides 1, 2, ..., n, multiples not removed.

    BS by Equation 7; F1 as the study counts it, one operation for each slide of each group, and as
    it is here, one for each group.
    """
    sizes = (2, 5, 10, 20, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500)
    lines: dict[str, list[tuple[float, float]]] = {
        "BS": [(n, float(operations_of_bits(n))) for n in sizes],
        "F1": [(n, float(n * 2 ** (n - 1))) for n in sizes],
        "F1, groups": [(n, float(2**n - 1)) for n in sizes],
    }
    lines["BS / F1"] = [
        (n, bits / groups) for (n, bits), (_, groups) in zip(lines["BS"], lines["F1"], strict=True)
    ]
    lines["BS / F1, published"] = [PAPER_RATIO]
    return Figure("Shein Fig. 6", "slides 1 to n", "queries", "operations", lines)


def operations_of_bits(n: int) -> int:
    """The marks of a bit set for the slides 1 to n: Equation 7.

    >>> operations_of_bits(4)
    25
    """
    period = math.lcm(*range(1, n + 1))
    return sum(period // slide for slide in range(1, n + 1))


def seconds_figure(result: Result) -> Figure:
    """One of Figures 7 to 11: average seconds of each way, and where BS ended in the study."""
    lines: dict[str, list[tuple[float, float]]] = {
        line: [(p.x, mean) for p in result.points if (mean := p.mean(line)) is not None]
        for line in LINES
    }
    lines["BS, predicted"] = [
        (p.x, predicted * mean)
        for p in result.points
        if (predicted := result.predicted(p)) is not None and (mean := p.mean("F1")) is not None
    ]
    return Figure(
        f"Shein Fig. {result.experiment.figure}",
        f"Exp {result.experiment.number}",
        result.experiment.parameter,
        "seconds",
        lines,
        stops={"BS out of memory in the study": result.experiment.published.bs_best},
    )


def points_table(result: Result) -> Section:
    """Every point of one experiment: seconds, ratios, and what the two ways need."""
    experiment = result.experiment
    rows: list[Sequence[Cell]] = []
    for point in result.points:
        trees = experiment.published.trees.get(point.x)
        found = fmean(one.trees for one in point.needs.values())
        rows.append(
            [
                f"{point.x:,.10g}",
                len(point.needs),
                f"{found:.0f}" + (f" ({trees})" if trees else ""),
                *[_seconds(point, line) for line in LINES],
                _rounded(point.ratio("BS", "F1")),
                _rounded(result.predicted(point)),
                _rounded(_marks_per_group(point)),
                f"{point.worst('groups'):.1e}",
                f"{point.worst('longest_period') / 8e9:.1e}",
                len(point.fitting(MEMORY)),
            ]
        )
    return Section(
        f"Figure {experiment.figure}, Exp {experiment.number}",
        (
            experiment.parameter,
            "runs",
            "trees",
            *LINES,
            "BS/F1",
            "at 96 GB",
            "marks/group",
            "F1 groups",
            "BS GB",
            "fit",
        ),
        rows,
        "seconds, average of all runs, of fewer if their number follows; published trees in"
        " parentheses; BS/F1 at 96 GB from marks; groups and GB of the run that needs most, and how"
        " many runs fit into 96 GB",
    )


def summary_table(results: Sequence[Result]) -> Section:
    """Table 2: what the study found, and beside it what is found here."""
    rows: list[Sequence[Cell]] = []
    for result in results:
        published = result.experiment.published
        ratios = [r for p in result.points if (r := p.ratio("BS", "F1")) is not None]
        predicted = [r for p in result.points if (r := result.predicted(p)) is not None]
        saved = [100 * (1 - r) for p in result.points if (r := p.ratio("F1+Opt", "F1")) is not None]
        f1_best = _last_before(result.points, lambda p: p.mean("F1") is not None)
        rows += [
            [
                f"{result.experiment.number} {result.experiment.parameter}, published",
                f"{published.bs_best:,.10g}",
                f"{published.f1_best:,.10g}",
                f"{published.average:,.10g}",
                f"{published.most:,.10g}",
                f"{published.opt_percent:g}%",
            ],
            [
                "  measured",
                None,
                None if f1_best is None else f"{f1_best:,.10g}",
                _rounded(fmean(ratios)) if ratios else None,
                _rounded(max(ratios, default=None)),
                f"{fmean(saved):.0f}%" if saved else None,
            ],
            [
                "  with 96 GB for BS",
                _ends(result.points),
                None,
                _rounded(fmean(predicted)) if predicted else None,
                _rounded(max(predicted, default=None)),
                None,
            ],
        ]
    return Section(
        "Table 2",
        ("Exp", "BS out of memory", "F1 reaches", "BS/F1", "at most", "F1+Opt saves"),
        rows,
        "BS out of memory: at the first value where some run is, and where every run is",
    )


def bit_set_table(*, quick: bool) -> Section:
    """Exp 1 with few queries by F1 and by both readings of the bit set."""
    rows: list[Sequence[Cell]] = []
    for n in (10, 20) if quick else (20, 50, 100):
        runs = [seconds_of_bit_sets(Setting(n, 1000, 0.002, 0.5, 10), seed) for seed in (1, 2)]
        f1, by_edge, by_bit = (fmean(run[line] for run in runs) for line in runs[0])
        rows.append(
            [
                n,
                *(f"{s:.3g}" for s in (f1, by_edge, by_bit)),
                *map(_rounded, (by_edge / f1, by_bit / f1)),
            ]
        )
    return Section(
        "Exp 1, two readings of the bit set",
        ("queries", "F1", "BS, every edge", "BS, every bit", "edges/F1", "bits/F1"),
        rows,
        "seconds; Equation 7 visits every edge, Section 3.1 every bit; the study has 350 to 790",
    )


def readings_table(*, quick: bool, step: Step = _quiet) -> Section:
    """Where BS ends with the study's memory, and trees of Exp 3, by both laws of popularity."""
    rows: list[Sequence[Cell]] = []
    for experiment in EXPERIMENTS[1:]:
        ends: dict[Law, str] = {}
        trees: dict[Law, list[str]] = {}
        laws: tuple[Law, ...] = ("length", "rank")
        for law in laws:
            step(f"Exp {experiment.number}, popularity by {law}")
            points: list[Point] = []
            for x, setting in experiment.points:
                if quick and x not in _QUICK_POINTS[experiment.number]:
                    continue
                points.append(Point(x, {s: needs(setting, s, law) for s in range(1, RUNS + 1)}))
                if x in experiment.published.trees:
                    found = fmean(one.trees for one in points[-1].needs.values())
                    trees.setdefault(law, []).append(f"{found:.0f}")
            ends[law] = _ends(points)
        rows.append(
            [
                f"{experiment.number} {experiment.parameter}",
                f"{experiment.published.bs_best:,.10g}",
                *(ends[law] for law in laws),
                ", ".join(map(str, experiment.published.trees.values())) or None,
                *(", ".join(trees[law]) if law in trees else None for law in laws),
            ]
        )
    return Section(
        "popularity of slides: by length or by rank",
        (
            "Exp",
            "BS out of memory: published",
            "length",
            "rank",
            "trees: published",
            "length",
            "rank",
        ),
        rows,
        f"{RUNS} runs, 96 GB",
    )


def _ends(points: Sequence[Point]) -> str:
    """The first values at which some run, and at which every run, exceeds the study's memory."""
    some = next((p for p in points if len(p.fitting(MEMORY)) < len(p.needs)), None)
    every = next((p for p in points if not p.fitting(MEMORY)), None)
    return " / ".join("never" if p is None else f"{p.x:,.10g}" for p in (some, every))


def _last_before(points: Sequence[Point], fits: Callable[[Point], bool]) -> float | None:
    """The last value before the first point that does not fit."""
    last = None
    for point in points:
        if not fits(point):
            break
        last = point.x
    return last


def _marks_per_group(point: Point) -> float | None:
    """Operations of BS for each group of F1, of the runs that fit into the study's memory."""
    found = [point.needs[seed] for seed in point.fitting(MEMORY)]
    groups = sum(one.groups for one in found)  # none if all queries have the same slide
    return sum(one.marks for one in found) / groups if groups else None


def _seconds(point: Point, line: str) -> str:
    found = point.seconds[line]
    if not found:
        return "-"
    mean = f"{fmean(found.values()):.3g}"
    return mean if len(found) == len(point.needs) else f"{mean} ({len(found)})"


def _rounded(value: float | None) -> str | None:
    return None if value is None else f"{float(f'{value:.2g}'):,.10g}"
