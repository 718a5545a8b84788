"""The report of a workload that was run in several ways: a table, JSON and a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.outputs import canvas
from benchmarks.timing import Timing


class Way(StrEnum):
    """A way to answer a workload, or a part of the shared one."""

    ADD = "adding"
    RUN = "run"
    FETCH = "fetching"
    BARE = "bare scan"
    SPARK = "Spark one by one"
    SCAN = "Spark, one statement"
    DUCK = "DuckDB one by one"


# Above the columns: what is compared with sharing.
HEADERS = {
    Way.SPARK: "Spark\n1 by 1",
    Way.SCAN: "Spark\n1 scan",
    Way.DUCK: "DuckDB\n1 by 1",
}
# A few lines of each kind say what is wrong; JSON has them all.
LINES = 5


@dataclass(frozen=True, slots=True)
class Prediction:
    """The seconds that a plan predicts for a run.

    Where the planner did not count rows, its prediction for an assumed number of them is scaled.
    """

    seconds: float
    counted: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """Peaks in megabytes while queries ran and were fetched."""

    driver: float  # the driver's Python
    jvm: float  # which is driver and executor in one
    workers: float  # all Python workers together


@dataclass(frozen=True, slots=True)
class Triggers:
    """Micro-batches of a stream: rows of each, and the seconds of each that came to its end."""

    rows: int
    seconds: tuple[float, ...]
    capped: bool = False
    error: str = ""
    failed: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Result:
    """One workload, timed in all ways that suit it."""

    label: str
    rows: int
    asked: int  # queries that were to be added
    n: int  # queries that ran: not refused, and added in time
    timings: Mapping[Way, Timing]
    notes: Mapping[Way, str]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    failed: Mapping[str, str] = field(default_factory=dict[str, str])
    alone: tuple[str, ...] = ()  # queries that brought the shared job down
    statistics: Mapping[str, float] = field(default_factory=dict[str, float])
    prediction: Prediction | None = None
    memory: Memory | None = None
    checked: int = 0
    differences: tuple[str, ...] = ()
    triggers: Triggers | None = None

    @property
    def shared(self) -> Timing | None:
        """Running and fetching together, best and best; None if nothing ran."""
        if Way.RUN not in self.timings:
            return None
        parts = [self.timings[way] for way in (Way.RUN, Way.FETCH) if way in self.timings]
        # As parts of a hundred, so that what was extrapolated stays marked.
        whole = all(not part.extrapolated for part in parts)
        measured, of = (1, 1) if whole else (99, 100)
        seconds = sum(part.best for part in parts) * measured / of
        return Timing((seconds,), measured, of, any(part.capped for part in parts))

    def ratio(self, way: Way) -> float | None:
        """How many times longer a way takes than running and fetching."""
        if self.shared is None or way not in self.timings:
            return None
        return self.timings[way].best / self.shared.best

    def as_json(self) -> dict[str, object]:
        """Every number of this workload, raw and derived."""
        found, predicted, stream = self.shared, self.prediction, self.triggers
        return {
            "label": self.label,
            "rows": self.rows,
            "asked": self.asked,
            "queries": self.n,
            "timings": {way: timing.as_json() for way, timing in self.timings.items()},
            "run_and_fetch": found.as_json() if found else None,
            "ratios": {way: self.ratio(way) for way in self.timings},
            "notes": dict(self.notes),
            "refused": dict(self.refused),
            "failed": dict(self.failed),
            "alone": list(self.alone),
            "statistics": dict(self.statistics),
            "predicted": predicted.seconds if predicted else None,
            "predicted_from_counted_rows": predicted.counted if predicted else None,
            "peak_megabytes": asdict(self.memory) if self.memory else None,
            "checked": self.checked,
            "differences": list(self.differences),
            "triggers": {
                "rows": stream.rows,
                "seconds": list(stream.seconds),
                "capped": stream.capped,
                "error": stream.error,
                "failed": dict(stream.failed),
            }
            if stream
            else None,
        }


def show(title: str, results: Sequence[Result], console: Console) -> None:
    """Print a table of the results, and then what was refused, failed or differed."""
    ways = [way for way in HEADERS if any(way in (*r.timings, *r.notes) for r in results)]
    streams = any(result.triggers for result in results)
    table = Table(
        title=f"{title}: seconds, and how many times as long as run + fetch",
        caption="best of all turns, ~ first, * extrapolated from a part, > stopped by the cap; "
        "predicted ? from assumed rows; measured is run; peaks: driver's Python, JVM, workers",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    headers = ["rows", "queries", "add", "run", "fetch", "run + fetch\n/ bare scan"]
    headers += [HEADERS[way] for way in ways]
    headers += ["predicted\n/ measured", "ran\nalone", "peak\nMB", "same"]
    for header in headers + ["a trigger"] * streams:
        table.add_column(header, justify="right", no_wrap=True)
    for result in results:
        cells = [
            f"{result.rows:,}",
            f"{result.n:,}" + (f"\n[dim]of {result.asked:,}" if result.n < result.asked else ""),
            *(_turns(result, way) for way in (Way.ADD, Way.RUN, Way.FETCH)),
            _to_bare(result),
            *(_compared(result, way) for way in ways),
            _predicted(result),
            f"{len(result.alone)}",
            _peaks(result.memory),
            f"[red]{len(result.differences)} differ" if result.differences else f"{result.checked}",
        ]
        table.add_row(*cells, *([_trigger(result)] if streams else []))
    console.print(table)
    for result in results:
        _show_trouble(result, console)


def in_brief(result: Result) -> str:
    """A result in one line, for while the others are still being measured."""
    timings, ratio = result.timings, result.ratio(Way.SPARK)
    parts = [f"{way} {_seconds(timings[way])} s" for way in Way if way in timings]
    if result.prediction is not None:
        parts.append(f"predicted {result.prediction.seconds:,.2f} s")
    if ratio is not None:
        parts.append(f"one by one / shared {ratio:,.1f}")
    return f"{result.n:,} queries: {', '.join(parts)}; {len(result.differences)} differ"


def _show_trouble(result: Result, console: Console) -> None:
    triggers = result.triggers.failed if result.triggers else {}
    of_stream = result.triggers.error if result.triggers else ""
    kinds = {
        "refused": [f"{name}: {why}" for name, why in result.refused.items()],
        "failed": [f"{name}: {why}" for name, why in result.failed.items()],
        "differs": list(result.differences),
        "note": [f"{way}: {why}" for way, why in result.notes.items()],
        "failed in the stream": [f"{name}: {why}" for name, why in triggers.items()],
        "the stream": [of_stream] if of_stream else [],
    }
    for kind, lines in kinds.items():
        for line in lines[:LINES]:
            console.print(
                f"[red]{result.label}, {result.n} queries, {kind}:[/] {line}",
                highlight=False,
                markup=True,
            )
        if len(lines) > LINES:
            console.print(f"... and {len(lines) - LINES} more {kind}")


def _seconds(timing: Timing) -> str:
    marks = (">" if timing.capped else "", "*" if timing.extrapolated else "")
    best = timing.best
    return f"{marks[0]}{best:,.2f}{marks[1]}" if best < 10 else f"{marks[0]}{best:,.0f}{marks[1]}"


def _factor(ratio: float) -> str:
    return f"{ratio:,.1f}x" if ratio >= 1 else f"{ratio:.2g}x"


def _turns(result: Result, way: Way) -> str:
    """The best turn, and under it the first one: before it nothing was planned or compiled."""
    if way not in result.timings:
        return "-"
    timing = result.timings[way]
    if len(timing.seconds) == 1:
        return _seconds(timing)
    return f"{_seconds(timing)}\n[dim]~ {_seconds(Timing(timing.seconds[:1]))}"


def _to_bare(result: Result) -> str:
    ratio = result.ratio(Way.BARE)
    if ratio is None:
        return "-"
    shared = result.shared
    capped = ">" if shared and shared.capped else ""
    return f"{capped}{_factor(1 / ratio)}\n[dim]{_seconds(result.timings[Way.BARE])}"


def _compared(result: Result, way: Way) -> str:
    if way not in result.timings:
        return result.notes.get(way, "-").split(":")[0]
    timing, ratio, shared = result.timings[way], result.ratio(way), result.shared
    if ratio is None or shared is None:
        return _seconds(timing)
    # Of two that were stopped, none is known to be the longer one.
    marks = (timing.capped, shared.capped)
    mark = {(True, False): ">", (False, True): "<", (True, True): "?"}.get(marks, "")
    star = "*" if timing.extrapolated or shared.extrapolated else ""
    return f"{mark}{_factor(ratio)}{star}\n[dim]{_seconds(timing)}"


def _predicted(result: Result) -> str:
    if result.prediction is None:
        return "-"
    assumed = "" if result.prediction.counted else "?"
    return f"{result.prediction.seconds:,.2f}{assumed}\n/ {_seconds(result.timings[Way.RUN])}"


def _peaks(memory: Memory | None) -> str:
    if memory is None:
        return "-"
    return f"{memory.driver:,.0f}\n[dim]{memory.jvm:,.0f}, {memory.workers:,.0f}"


def _trigger(result: Result) -> str:
    """The median of the later half of all triggers, and under it the first one."""
    if result.triggers is None or not result.triggers.seconds:
        return "none" if result.triggers else "-"
    seconds = result.triggers.seconds
    later = sorted(seconds[len(seconds) // 2 :])
    mark = ">" if result.triggers.capped else ""
    return f"{mark}{later[len(later) // 2]:.2f}\n[dim]~ {seconds[0]:.2f}"


STYLES = {
    Way.BARE: ("0.6", "."),
    Way.SPARK: ("tab:blue", "s"),
    Way.SCAN: ("tab:cyan", "^"),
    Way.DUCK: ("tab:olive", "s"),
}
SHARED = ("tab:red", "o")


def draw(results: Sequence[Result], path: Path) -> None:
    """Plot seconds against the number of queries, a panel per number of rows."""
    sizes = list(dict.fromkeys(result.rows for result in results))
    figure = canvas(4.6 * len(sizes), 4.2)
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for panel, rows in zip(panels, sizes, strict=True):
        own = [result for result in results if result.rows == rows]
        _plot(panel, "run and fetch", [(r.n, r.shared) for r in own], SHARED)
        for way, style in STYLES.items():
            _plot(panel, way, [(r.n, r.timings.get(way)) for r in own], style)
        panel.set(title=f"{rows:,} rows", xscale="log", yscale="log", xlabel="queries")
        panel.set_xticks([r.n for r in own], [str(r.n) for r in own])
        panel.minorticks_off()
        panel.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("seconds")
    handles = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=130)


def _plot(
    panel: object, label: str, points: Sequence[tuple[int, Timing | None]], style: tuple[str, str]
) -> None:
    """Draw one way; dashed if a part is extrapolated or was stopped."""
    known = [(n, timing) for n, timing in points if timing is not None]
    if not known:
        return
    partly = any(timing.extrapolated or timing.capped for _, timing in known)
    plot = panel.plot  # pyright: ignore[reportAttributeAccessIssue]  (of Matplotlib)
    plot(
        [n for n, _ in known],
        [timing.best for _, timing in known],
        color=style[0],
        marker=style[1],
        linestyle="--" if partly else "-",
        label=f"{label} (in part)" if partly else label,
    )
