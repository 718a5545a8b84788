"""How long planning takes: the targets of the weaver, up to a million queries.

Each measurement is a process of its own, so that its memory is its own and it can be stopped.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from benchmarks.peak_memory import peak_megabytes
from benchmarks.shein_settings import Setting
from benchmarks.targets import Target
from gingham.algebra.edges import edge_rate, normalized
from gingham.datasets.windows import primes_up_to, stock_windows
from gingham.optimizer.weave.published import weave
from gingham.optimizer.weave.woven_plan import window_classes

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """What planning took; `gave_up` tells why there is no plan."""

    seconds: float
    megabytes: float
    gave_up: str = ""


def _plan(setting: Setting, limit: float) -> Measured:
    windows = setting.windows(1, "rank")
    start = time.perf_counter()
    plan = weave(windows, rate=setting.rate, budget=limit)
    gave_up = next((notice for notice in plan.notices if "out of time" in notice), "")
    return Measured(time.perf_counter() - start, peak_megabytes(), gave_up)


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
        return Measured(0, 0, f"no plan after {limit:g} s")
    except EOFError:
        return Measured(0, 0, "ran out of memory")
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
        found = _in_a_process(_plan, (setting, 58.0), 600.0)
        met = found.seconds < seconds and (megabytes is None or found.megabytes < megabytes)
        wanted = f"< {seconds:g} s" + (f", < {megabytes:,.0f} MB" if megabytes else "")
        measured = f"{found.seconds:.1f} s, {found.megabytes:,.0f} MB {found.gave_up}"
        targets.append(Target(what, wanted, measured, met and not found.gave_up))
    step("adding one query")
    return [*targets, _target_of_adding(1_000 if quick else 10_000)]


def _edge_sets(setting: Setting) -> int:
    return len({frozenset(window_classes(window)) for window in setting.windows(1, "rank")})


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
    windows = setting.windows(1, "rank")
    plan = weave(windows[:n], rate=setting.rate, method="incremental")
    seconds: list[float] = []
    for window in windows[n:]:
        start = time.perf_counter()
        plan = plan.add(window)
        seconds.append(time.perf_counter() - start)
    middle, worst = 1e3 * statistics.median(seconds), 1e3 * max(seconds)
    measured = f"{middle:.1f} ms, {worst:.1f} at worst, {len(plan.trees)} trees"
    return Target(f"adding one query to {n:,}", "< 10 ms", measured, middle < 10)
