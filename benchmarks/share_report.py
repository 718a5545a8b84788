"""The report of the benchmark `share`: tables, targets, JSON and a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.driver_memory import KEYS, MOST_SENT, Footprint
from benchmarks.operations import Operations
from benchmarks.outputs import canvas
from benchmarks.targets import NumericTarget
from benchmarks.timing import Timing


class Way(StrEnum):
    """A way to answer a workload."""

    SHARED = "shared"
    BARE = "bare scan"
    SPARK = "Spark one by one"
    CONDITIONAL = "Spark conditional scan"
    DUCK = "DuckDB one by one"
    DUCK_WINDOWS = "DuckDB scan per window"
    DUCK_PANES = "DuckDB one-second panes"


# Above the columns: what is compared with sharing.
HEADERS = {
    Way.SPARK: "Spark\n1 by 1",
    Way.CONDITIONAL: "Spark\n1 scan",
    Way.DUCK: "DuckDB\n1 by 1",
    Way.DUCK_WINDOWS: "DuckDB\nwindow",
    Way.DUCK_PANES: "DuckDB\npanes",
}

# Partial and final, unshared and then shared, of 256 queries over 1.18 million trades:
# Sections 6.2 to 6.4, with paired windows.
PAPER = {
    "A": (291_490_816, 6_813, 1_138_636, 1_462_391),
    "B": (116_101_112, 0, 1_094_947, 6_677_009),
    "C": (100_902_960, 6_955, 1_138_636, 2_256_496),
    "C-low": (120_672_210, 6_812, 1_294_064, 63_984_043),
}


@dataclass(frozen=True, slots=True)
class Result:
    """One workload, timed in all ways that suit it."""

    kind: str
    n: int
    timings: Mapping[Way, Timing]
    notes: Mapping[Way, str]
    adding: Timing
    statistics: Mapping[str, float]
    checked: int
    differences: tuple[str, ...]

    def ratio(self, way: Way, to: Way) -> float | None:
        """How many times longer one way takes than the other, best against best."""
        if way in self.timings and to in self.timings:
            return self.timings[way].best / self.timings[to].best
        return None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run of the benchmark found out."""

    rows: int
    cores: int
    results: tuple[Result, ...]
    counted: int
    operations: Mapping[str, Operations]
    growth: tuple[tuple[float, float], ...] = ()  # C in turns: seconds of 16 and of 1024 queries
    footprints: tuple[Footprint, ...] = ()

    def result(self, kind: str, n: int) -> Result | None:
        """The measurement of one workload, if there is one."""
        return next((r for r in self.results if (r.kind, r.n) == (kind, n)), None)

    def as_json(self) -> dict[str, object]:
        """Every number."""
        return {
            "rows": self.rows,
            "cores": self.cores,
            "results": [
                {
                    "kind": result.kind,
                    "n": result.n,
                    "timings": {way: time.as_json() for way, time in result.timings.items()},
                    "notes": dict(result.notes),
                    "adding": result.adding.as_json(),
                    "statistics": dict(result.statistics),
                    "checked": result.checked,
                    "differences": list(result.differences),
                }
                for result in self.results
            ],
            "counted": self.counted,
            "operations": {kind: asdict(found) for kind, found in self.operations.items()},
            "paper_operations": PAPER,
            "growth": [list(pair) for pair in self.growth],
            "footprints": [asdict(found) for found in self.footprints],
            "targets": [asdict(target) for target in targets(self)],
        }


def targets(report: Report) -> list[NumericTarget]:
    """The promises of the design, beside what was measured."""

    def slower(kind: str, way: Way, least: float | None) -> NumericTarget:
        result = report.result(kind, 256)
        measured = result.ratio(way, Way.SHARED) if result else None
        return _target(f"{kind} 256: {way} / shared", measured, least=least)

    c = report.result("C", 256)
    growth: dict[str, float] = {}
    if report.growth:
        few, many = zip(*report.growth, strict=True)
        growth = {"medians": median(many) / median(few), "best": min(many) / min(few)}
    return [
        _target("C 256: shared / bare scan (aim: 2)", c and c.ratio(Way.SHARED, Way.BARE), most=4),
        slower("C", Way.SPARK, 50),
        slower("C", Way.DUCK, 5),
        slower("C", Way.DUCK_WINDOWS, 5),
        # No promise: to write this by hand is to plan the sharing already.
        slower("C", Way.DUCK_PANES, None),
        *(
            _target(f"C: shared 1024 / shared 16, in turns, {of}", growth.get(of), most=2)
            for of in ("medians", "best")
        ),
        slower("B", Way.CONDITIONAL, 8),
        slower("C-low", Way.SPARK, 25),
        _target(
            "a million keys: driver's Python peak, most / least rows", _growth(report), most=1.1
        ),
    ]


def _growth(report: Report) -> float | None:
    if not report.footprints:
        return None
    return report.footprints[-1].python_peak / report.footprints[0].python_peak


def _target(
    what: str, measured: float | None, *, least: float | None = None, most: float | None = None
) -> NumericTarget:
    wanted = f">= {least:g}" if least else f"<= {most:g}" if most else "no target"
    met = None
    if measured is not None and least:
        met = measured >= least
    elif measured is not None and most:
        met = measured <= most
    return NumericTarget(what, wanted, measured, met)


# A few of a workload's differences say what is wrong; JSON has them all.
DIFFERENCES = 5


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    for kind in dict.fromkeys(result.kind for result in report.results):
        console.print(_times([result for result in report.results if result.kind == kind]))
    if report.operations:
        console.print(_operations(report))
    if report.footprints:
        console.print(_footprints(report.footprints))
    console.print(_targets(report))
    for result in report.results:
        for difference in result.differences[:DIFFERENCES]:
            console.print(f"[red]{result.kind} {result.n}: {difference}", highlight=False)


def _times(results: Sequence[Result]) -> Table:
    ways = [way for way in HEADERS if any(way in result.timings for result in results)]
    table = Table(
        title=f"{results[0].kind}: how many times as long as shared, and seconds",
        caption="best, ~ median, + adding the queries, * extrapolated from 16",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    headers = ["", "shared", "shared\n/ bare", *[HEADERS[way] for way in ways], "shards", "same"]
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    for result in results:
        shared, bare = result.timings[Way.SHARED], result.timings[Way.BARE]
        table.add_row(
            f"{result.n}",
            f"{_seconds(shared.best)}\n[dim]~ {_seconds(shared.median)}\n"
            f"+ {_seconds(result.adding.best)}",
            f"{_times_as_long(result.ratio(Way.SHARED, Way.BARE))}\n[dim]{_seconds(bare.best)}",
            *[_compared(result, way) for way in ways],
            f"{result.statistics['shards']:,}" if "shards" in result.statistics else "not said",
            f"[red]{len(result.differences)} differ" if result.differences else f"{result.checked}",
        )
    return table


def _compared(result: Result, way: Way) -> str:
    if way not in result.timings:
        return result.notes[way].split(":")[0]
    timing = result.timings[way]
    star = "*" if timing.extrapolated else ""
    ratio = _times_as_long(result.ratio(way, Way.SHARED))
    return f"{ratio}{star}\n[dim]{_seconds(timing.best)}{star}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.2f}" if seconds < 10 else f"{seconds:,.0f}"


def _times_as_long(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:,.1f}x" if ratio < 100 else f"{ratio:,.0f}x"


def _operations(report: Report) -> Table:
    table = Table(
        title="aggregate operations, counted as in the paper",
        caption=f"here {report.counted} queries, {report.rows:,} rows; paper 256, 1.18 million",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    headers = ("unshared\npartial", "unshared\nfinal", "shared\npartial", "shared\nfinal", "saved")
    for header in ("", "", *headers):
        table.add_column(header, justify="right", no_wrap=True)
    for kind, found in report.operations.items():
        here = (found.unshared_partial, found.unshared_final, found.partial, found.final)
        table.add_row(kind, "here", *_counts(here))
        table.add_row("", "paper", *_counts(PAPER[kind]), end_section=True)
    return table


def _footprints(found: Sequence[Footprint]) -> Table:
    table = Table(
        title=f"one query grouped by {KEYS:,} keys: megabytes in the driver",
        caption=f"Spark may send the driver {MOST_SENT} at most",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for header in ("rows", "shards", "answers", "Python peak", "seconds"):
        table.add_column(header, justify="right", no_wrap=True)
    for one in found:
        numbers = (f"{n:,}" for n in (one.rows, one.shards, one.answers))
        table.add_row(*numbers, f"{one.python_peak:,.0f}", _seconds(one.seconds))
    return table


def _counts(counts: tuple[int, int, int, int]) -> list[str]:
    saved = 1 - (counts[2] + counts[3]) / (counts[0] + counts[1])
    return [*[f"{number:,}" for number in counts], f"{saved:.1%}"]


def _targets(report: Report) -> Table:
    table = Table(
        title=f"targets, {report.rows:,} rows, {report.cores} cores",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for header in ("", "wanted", "measured", "met"):
        table.add_column(header, no_wrap=True)
    for target in targets(report):
        measured = "not measured" if target.measured is None else f"{target.measured:.2f}"
        met = {True: "[green]yes", False: "[red]no", None: "-"}[target.met]
        table.add_row(target.what, target.wanted, measured, met)
    differ = sum(len(result.differences) for result in report.results)
    checked = sum(result.checked for result in report.results)
    verdict = "[red]no" if differ else "[green]yes"
    table.add_row("answers as in Spark alone", "all", f"{checked} checked, {differ} off", verdict)
    return table


STYLES = {
    Way.SHARED: ("tab:red", "o"),
    Way.BARE: ("0.6", "."),
    Way.SPARK: ("tab:blue", "s"),
    Way.CONDITIONAL: ("tab:cyan", "^"),
    Way.DUCK: ("tab:olive", "s"),
    Way.DUCK_WINDOWS: ("tab:green", "^"),
    Way.DUCK_PANES: ("tab:brown", "v"),
}


def draw(report: Report, path: Path) -> None:
    """Plot seconds against the number of queries, a panel per kind, dashed if extrapolated."""
    kinds = list(dict.fromkeys(result.kind for result in report.results))
    figure = canvas(4.2 * len(kinds), 4.2)
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for panel, kind in zip(panels, kinds, strict=True):
        results = [result for result in report.results if result.kind == kind]
        for way, (colour, marker) in STYLES.items():
            points = [(r.n, r.timings[way]) for r in results if way in r.timings]
            if not points:
                continue
            sizes, seconds = [n for n, _ in points], [timing.best for _, timing in points]
            dashed = any(timing.extrapolated for _, timing in points)
            panel.plot(
                sizes,
                seconds,
                color=colour,
                marker=marker,
                linestyle="--" if dashed else "-",
                label=f"{way} (extrapolated)" if dashed else str(way),
            )
        panel.set(title=kind, xscale="log", yscale="log", xlabel="queries")
        panel.set_xticks([r.n for r in results], [str(r.n) for r in results])
        panel.minorticks_off()
        panel.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel(f"seconds, {report.rows:,} rows, {report.cores} cores")
    handles = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=130)
