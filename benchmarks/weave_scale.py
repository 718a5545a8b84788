"""How long planning takes: the five experiments of Shein et al. (CIKM 2015), and our targets.

Each measurement is a process of its own, so that its memory is its own and it can be stopped.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from benchmarks.peak_memory import peak_megabytes
from benchmarks.targets import Target
from benchmarks.weave_figure import Figure
from gingham.algebra.edges import edge_rate, normalized
from gingham.core.errors import BudgetError
from gingham.datasets.windows import primes_up_to, stock_windows, zipf_windows
from gingham.optimizer.weave.published import weave
from gingham.optimizer.weave.woven_plan import window_classes

METHODS = {"BS": "bit_set", "F1": "f1", "F1+Opt": "f1_memoised", "ours": None}

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of an experiment: Table 1."""

    queries: int
    longest: int
    rate: float
    skew: float
    overlap: int
    prime: bool = False
    fragments: bool = False

    def windows(self, seed: int = 1) -> list[tuple[int, int]]:
        """Its windows."""
        slides = primes_up_to(self.longest) if self.prime else range(1, self.longest + 1)
        return zipf_windows(
            self.queries,
            slides,
            skew=self.skew,
            overlap=self.overlap,
            fragments=self.fragments,
            seed=seed,
        )


EXPERIMENTS: dict[str, tuple[str, list[tuple[float, Setting]]]] = {
    "Shein Exp 1": (
        "queries",
        [(n, Setting(n, 1000, 0.002, 0.5, 10)) for n in (100, 550, 1000, 10_000, 1_000_000)],
    ),
    "Shein Exp 2": (
        "longest slide",
        [(s, Setting(1000, s, 1.0, 3, 100, prime=True)) for s in (100, 800, 2000, 10_000)],
    ),
    "Shein Exp 3": (
        "rate",
        [(r, Setting(1000, 100, r, 1, 1000)) for r in (100, 400, 900, 10_000, 1_000_000)],
    ),
    "Shein Exp 4": ("skew", [(z, Setting(50, 500, 0.1, z, 100)) for z in (0, 1, 2.25, 10, 100)]),
    "Shein Exp 5": (
        "overlap factor",
        [(o, Setting(1000, 600, 1.0, 3, o, prime=True)) for o in (100, 40, 10, 1)],
    ),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What planning took, and the cost of the plan; `gave_up` tells why there is none."""

    seconds: float
    operations: float
    megabytes: float
    cost: float
    gave_up: str = ""


def scale_figures(*, quick: bool, step: Step) -> list[Figure]:
    """Runtime, operations and memory of all five experiments."""
    patience = 2.0 if quick else 60.0
    figures: list[Figure] = []
    for name, (across, points) in EXPERIMENTS.items():
        chosen = [points[0], points[-1]] if quick else points
        found: dict[str, list[tuple[float, Measured]]] = {line: [] for line in METHODS}
        notes: list[str] = []
        for x, setting in chosen:
            for line, edges in METHODS.items():
                step(f"{name}, {across} {x:g}, {line}")
                given_up = any(m.gave_up for _, m in found[line])
                limit = 60.0 if edges is None else patience
                if not given_up or edges is None:
                    measured = _in_a_process(_plan, (setting, edges, limit), 2 * limit + 30)
                    found[line].append((x, measured))
                    if measured.gave_up:
                        notes.append(f"{line} gives up at {across} {x:g}: {measured.gave_up}")
        figures += _figures_of(name, across, found, tuple(notes))
    return figures


def _figures_of(
    name: str,
    across: str,
    found: dict[str, list[tuple[float, Measured]]],
    notes: tuple[str, ...],
) -> list[Figure]:
    kinds: dict[str, Callable[[Measured], float]] = {
        "seconds": lambda m: m.seconds,
        "operations": lambda m: m.operations,
        "megabytes": lambda m: m.megabytes,
    }
    return [
        Figure(
            name,
            up,
            across,
            up,
            {line: [(x, of(m)) for x, m in pts if not m.gave_up] for line, pts in found.items()},
            notes if up == "seconds" else (),
        )
        for up, of in kinds.items()
    ]


def _plan(setting: Setting, edges: str | None, limit: float) -> Measured:
    windows = setting.windows()
    start = time.perf_counter()
    try:
        if edges is None:
            plan = weave(windows, rate=setting.rate, budget=limit)
        else:
            # Equal windows share whatever the rate is: the published runs must have done so, too.
            different = _merged(windows)
            plan = weave(
                different, rate=setting.rate, method="weave_share", edges=edges, budget=limit
            )
    except BudgetError as error:
        return Measured(0, 0, peak_megabytes(), 0, error.what)
    gave_up = next((notice for notice in plan.notices if "out of time" in notice), "")
    seconds = time.perf_counter() - start
    return Measured(seconds, plan.operations, peak_megabytes(), plan.cost, gave_up)


def _merged(windows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """One window for each edge set, as long as all windows with those edges together."""
    ranges: dict[tuple[int, int], int] = {}
    for range_, slide in windows:
        key = (range_ % slide, slide)
        # Whole slides more keep the edges and add up the overlap factors.
        ranges[key] = ranges.get(key, 0) + range_ - (range_ % slide if key in ranges else 0)
    return [(range_, slide) for (_, slide), range_ in ranges.items()]


def _in_a_process(
    work: Callable[..., Measured], arguments: tuple[object, ...], limit: float
) -> Measured:
    """Do the work in a process of its own, and stop it after a while."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    try:
        if ours.poll(limit):
            return ours.recv()
        return Measured(0, 0, 0, 0, f"no plan after {limit:g} s")
    except EOFError:
        return Measured(0, 0, 0, 0, "ran out of memory")
    finally:
        process.kill()
        process.join()


def _send(pipe: Connection, work: Callable[..., Measured], arguments: tuple[object, ...]) -> None:
    pipe.send(work(*arguments))


def measure_targets(*, quick: bool, step: Step) -> list[Target]:
    """The promises about edge rates and large plans."""
    targets = [*_edge_rates()]
    million = Setting(1_000_000, 1000, 0.002, 0.5, 10)
    hard = Setting(100_000, 202, 100.0, 0.5, 10, fragments=True)
    plans = [("a million queries, Exp 1", million, 10.0, 2048.0)]
    if not quick:
        fragments = Setting(1_000_000, 1000, 0.002, 0.5, 10, fragments=True)
        plans += [
            ("the same, with fragments", fragments, 10.0, 2048.0),
            (f"{hard.queries:,} queries, {_edge_sets(hard):,} edge sets", hard, 60.0, None),
        ]
    for what, setting, seconds, megabytes in plans:
        step(what)
        found = _in_a_process(_plan, (setting, None, 58.0), 600.0)
        met = found.seconds < seconds and (megabytes is None or found.megabytes < megabytes)
        wanted = f"< {seconds:g} s" + (f", < {megabytes:,.0f} MB" if megabytes else "")
        measured = f"{found.seconds:.1f} s, {found.megabytes:,.0f} MB {found.gave_up}"
        targets.append(Target(what, wanted, measured, met and not found.gave_up))
    step("adding one query")
    return [*targets, _target_of_adding(1_000 if quick else 10_000)]


def _edge_sets(setting: Setting) -> int:
    return len({frozenset(window_classes(window)) for window in setting.windows()})


def _edge_rates() -> list[Target]:
    targets: list[Target] = []
    few = [c for window in stock_windows(60) for c in window_classes(window)]
    ours = edge_rate(few)
    # All classes with residue zero meet each other: F1 adds up every group of them.
    meeting = sum(residue == 0 for _, residue in normalized(few))
    fewer = 2**meeting / ours.operations
    measured = f"{ours.operations:,}; F1 needs 2^{meeting}"
    targets.append(
        Target("60 stock windows, operations", ">= 1,000 x fewer", measured, fewer >= 1000)
    )
    many = [c for window in stock_windows(256) for c in window_classes(window)]
    primes = [(prime, 0) for prime in primes_up_to(1000)]
    for what, classes, limit in (
        ("256 stock windows", many, 2.0),
        (f"{len(primes)} primes", primes, 0.2),
    ):
        start = time.perf_counter()
        rate = edge_rate(classes)
        seconds = time.perf_counter() - start
        measured = f"{rate:.6f} {'exactly' if rate.exact else 'about'}, {seconds:.3f} s"
        targets.append(Target(what, f"< {limit:g} s", measured, seconds < limit and rate.exact))
    return targets


def _target_of_adding(n: int) -> Target:
    setting = Setting(n + 20, 1000, 50.0, 0.5, 10, fragments=True)
    windows = setting.windows()
    plan = weave(windows[:n], rate=setting.rate, method="incremental")
    seconds: list[float] = []
    for window in windows[n:]:
        start = time.perf_counter()
        plan = plan.add(window)
        seconds.append(time.perf_counter() - start)
    middle, worst = 1e3 * statistics.median(seconds), 1e3 * max(seconds)
    measured = f"{middle:.1f} ms, {worst:.1f} at worst, {len(plan.trees)} trees"
    return Target(f"adding one query to {n:,}", "< 10 ms", measured, middle < 10)
