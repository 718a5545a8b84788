"""Plans of one setting by BS, F1 and F1+Opt: what they need, and how long they take.

All three are plain Python in the same loop (`counted_share`), so their times compare. Nothing is
stopped on the way: what a plan needs is known beforehand, exactly, from a plan made by our own
edge rates, and a run that needs too much is not begun.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from benchmarks.shein_settings import Law, Setting
from gingham.algebra.edges import ResidueClass, edge_rate
from gingham.algebra.edges.published.bit_loop import count_marked, count_tested
from gingham.algebra.edges.published.f1 import count_by_groups
from gingham.algebra.edges.published.gcd_table import divisors_from_table, euclid
from gingham.optimizer.weave import weave as scalable
from gingham.optimizer.weave.published import weave
from gingham.optimizer.weave.published.counted_share import CountEdges

LINES = ("BS", "F1", "F1+Opt", "ours")
_FEW_CLASSES = 6
_SHORT, _SHORT_RUNS = 0.5, 3  # seconds of a plan that is made up to three times


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one run may need; what needs more is not begun, and is told."""

    bits: float  # of the longest bit set, a byte each
    marks: float
    groups: float


QUICK = Limits(bits=5e7, marks=1e8, groups=5e6)
FULL = Limits(bits=4e9, marks=2e10, groups=3e9)


@dataclass(slots=True)
class Needs:
    """What Weave Share needs for one plan, by each way to count edges; also a way to count."""

    comparisons: int = 0
    groups: int = 0  # of F1
    marks: int = 0  # of BS, edge by edge
    tests: int = 0  # of BS, bit by bit
    longest_period: int = 0  # bits of the longest bit set of BS
    most_classes: int = 0
    all_periods: int = 0  # bits of the bit sets of all comparisons
    trees: int = 0
    estimated: int = 0  # comparisons whose edges were estimated

    def count(self, classes: Sequence[ResidueClass], period: int) -> tuple[int, int]:
        """Count edges in the quickest way, and add up what the published ways would do."""
        slides = [slide for slide, _ in classes]
        self.comparisons += 1
        self.groups += (1 << len(classes)) - 1
        self.marks += sum([period // slide for slide in slides])
        self.tests += period * len(classes)
        self.longest_period = max(self.longest_period, period)
        self.most_classes = max(self.most_classes, len(classes))
        self.all_periods += period
        if len(classes) <= _FEW_CLASSES:
            return count_by_groups(classes, period)
        if period == math.prod(slides):
            # Without common factors classes are independent.
            return _edges(1.0 - math.prod(1.0 - 1.0 / slide for slide in slides), period), 0
        rate = edge_rate(classes)
        self.estimated += not rate.exact
        return _edges(rate, period), 0

    def fits(self, line: str, limits: Limits) -> bool:
        """Whether a run of this line is within the limits."""
        if line == "BS":
            return self.longest_period <= limits.bits and self.marks <= limits.marks
        return line == "ours" or self.groups <= limits.groups


def _edges(rate: float, period: int) -> int:
    return round(Fraction(float(rate)) * period)


def needs(setting: Setting, seed: int, law: Law = "length") -> Needs:
    """Weave one setting, and find out what each published way needs for that plan."""
    found = Needs()
    plan = weave(
        setting.windows(seed, law), rate=setting.rate, method="counted_share", count=found.count
    )
    found.trees = len(plan.trees)
    return found


@dataclass(slots=True)
class Point:
    """All runs of one point of an experiment: needs of each seed, seconds of each line and seed."""

    x: float
    needs: dict[int, Needs] = field(default_factory=dict[int, Needs])
    seconds: dict[str, dict[int, float]] = field(default_factory=dict[str, dict[int, float]])
    trees: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])

    def mean(self, line: str) -> float | None:
        """The average seconds of a line, if every seed was run."""
        found = self.seconds[line]
        return sum(found.values()) / len(found) if len(found) == len(self.needs) else None

    def ratio(self, line: str, to: str) -> float | None:
        """Average seconds of one line over those of another, for the seeds that both have run."""
        both = self.seconds[line].keys() & self.seconds[to].keys()
        if not both:
            return None
        return sum(self.seconds[line][s] for s in both) / sum(self.seconds[to][s] for s in both)

    def worst(self, what: str) -> int:
        """The largest need of all seeds."""
        return max(getattr(one, what) for one in self.needs.values())

    def fitting(self, bits: float) -> list[int]:
        """The seeds whose longest bit set fits into so many bits."""
        return [seed for seed, one in self.needs.items() if one.longest_period <= bits]


def measure(
    x: float, setting: Setting, seeds: Sequence[int], limits: Limits, law: Law = "length"
) -> Point:
    """Run one point with every line and seed that is within the limits."""
    point = Point(x, {}, {line: {} for line in LINES}, {line: {} for line in LINES})
    for seed in seeds:
        windows = setting.windows(seed, law)
        point.needs[seed] = needs(setting, seed, law)
        for line in LINES:
            if point.needs[seed].fits(line, limits):
                seconds, trees = _timed(windows, setting, line)
                point.seconds[line][seed], point.trees[line][seed] = seconds, trees
    return point


def counter(line: str, longest: int) -> CountEdges:
    """The way in which a line counts edges; the table of divisors is made here, once for all."""
    if line == "BS":
        return partial(count_marked, most=1 << 62)
    if line == "BS, every bit":
        return partial(count_tested, most=1 << 62)
    divisor = divisors_from_table(longest) if line == "F1+Opt" else euclid
    return partial(count_by_groups, divisor=divisor, most=math.inf)


def _timed(windows: Sequence[tuple[int, int]], setting: Setting, line: str) -> tuple[float, int]:
    """The seconds of one plan and its number of trees; of short plans the quickest of three.

    Seconds of this process alone: what else the machine does matters less.
    """
    count = None if line == "ours" else counter(line, setting.longest)
    best, trees = math.inf, 0
    for _ in range(_SHORT_RUNS):
        start = time.process_time()
        if count is None:
            plan = scalable(windows, rate=setting.rate)
        else:
            plan = weave(windows, rate=setting.rate, method="counted_share", count=count)
        seconds, trees = time.process_time() - start, len(plan.trees)
        best = min(best, seconds)
        if seconds > _SHORT:
            break
    return best, trees


def seconds_of_bit_sets(setting: Setting, seed: int) -> dict[str, float]:
    """Seconds of one plan by F1 and by both readings of the bit set."""
    windows = setting.windows(seed)
    return {line: _timed(windows, setting, line)[0] for line in ("F1", "BS", "BS, every bit")}


def seconds_per_mark() -> float:
    """How long BS takes to mark one edge here, in a bit set of ten million."""
    classes, period = [(97, 0), (101, 0), (103, 0), (10, 0)], 97 * 101 * 103 * 10
    start = time.process_time()
    _, marks = count_marked(classes, period)
    return (time.process_time() - start) / marks
