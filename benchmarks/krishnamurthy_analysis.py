"""To share or not to share: the analysis of Krishnamurthy et al. (SIGMOD 2006), Sections 3 and 4.

Operations per second by Tables 2 and 3 for all four strategies, the least rate at which sharing
pays by inequality (1), and the costs of fragments by Table 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.weave_figure import PUBLISHED, Figure
from gingham.algebra.edges import edge_rate
from gingham.datasets.trades import trade_queries

SETS = 10  # query sets of every size, as in the study
REAL_RATE = 375.0  # rows per second
# The study prints 0.0005 tuples a second; it is its values for milliseconds that fit (see docs).
PRINTED_RATE, LOW_RATE = 0.0005, 0.5
CROSSING = 83  # queries from which not sharing is better at the low rate

UNSHARED_PANED, UNSHARED_PAIRED = "unshared paned", "unshared paired"
SHARED_PANED, SHARED_PAIRED = "shared paned", "shared paired"
STRATEGIES = (UNSHARED_PANED, UNSHARED_PAIRED, SHARED_PANED, SHARED_PAIRED)

# Figure 10: rows, queries that a row satisfies, and fragments, for ten minutes of 256 queries.
ROWS, SATISFIED, FRAGMENTS = 189_445, 76, 12_068


@dataclass(frozen=True, slots=True)
class Windows:
    """What the formulas need to know of a set of windows, per second."""

    queries: int
    overlap: float  # sum of range / slide
    paired_edges: float  # of the composite window: gamma
    paned_edges: float
    paired_finals: float  # of all queries, unshared
    paned_finals: float
    pairs: float  # sum of range / slide^2, twice

    @classmethod
    def of(cls, windows: Sequence[tuple[int, int]]) -> Windows:
        """Count the edges of windows (range, slide) that end at multiples of the slide."""
        pairs = [(slide, edge) for length, slide in windows for edge in {0, -length % slide}]
        panes = [(math.gcd(length, slide), 0) for length, slide in windows]
        return cls(
            len(windows),
            sum(length / slide for length, slide in windows),
            float(edge_rate(pairs)),
            float(edge_rate(panes)),
            sum(math.ceil(2 * length / slide) / slide for length, slide in windows),
            sum(length / math.gcd(length, slide) / slide for length, slide in windows),
            sum(2 * length / slide**2 for length, slide in windows),
        )

    def costs(self, rate: float) -> dict[str, float]:
        """Operations per second of each strategy: Tables 2 and 3."""
        return {
            UNSHARED_PANED: self.queries * rate + self.paned_finals,
            UNSHARED_PAIRED: self.queries * rate + self.paired_finals,
            SHARED_PANED: rate + self.paned_edges * self.overlap,
            SHARED_PAIRED: rate + self.paired_edges * self.overlap,
        }

    @property
    def least_rate(self) -> float:
        """The rate beyond which sharing pays: inequality (1)."""
        return (self.paired_edges * self.overlap - self.pairs) / (self.queries - 1)


def window_sets(n: int, sets: int = SETS) -> list[Windows]:
    """Several sets of n windows of workload A."""
    return [Windows.of([q.window for q in trade_queries("A", n, seed)]) for seed in range(sets)]


def crossing(rate: float, sets: int = SETS) -> list[int]:
    """For each query set, the first number of queries at which not sharing is better."""
    found: list[int] = []
    for seed in range(sets):
        windows = [query.window for query in trade_queries("A", 256, seed)]
        # Each query more makes sharing dearer for all: the first is found by halving.
        low, high = 2, len(windows)
        while low < high:
            middle = (low + high) // 2
            costs = Windows.of(windows[:middle]).costs(rate)
            if costs[UNSHARED_PAIRED] < costs[SHARED_PAIRED]:
                high = middle
            else:
                low = middle + 1
        found.append(low)
    return found


def figure_4(*, quick: bool = False) -> list[Figure]:
    """Figure 4 at both rates, and inequality (1) by the number of queries."""
    sizes = (2, 16, 64) if quick else (2, 4, 8, 16, 32, 48, 64, 83, 100, 128, 192, 256)
    sets = 2 if quick else SETS
    found = {n: window_sets(n, sets) for n in sizes}

    def lines(value: Callable[[Windows], Mapping[str, float]]) -> dict[str, list]:
        made: dict[str, list] = {}
        for n, several in found.items():
            values = [value(one) for one in several]
            for line in values[0]:
                made.setdefault(line, []).append((n, fmean(one[line] for one in values)))
        return made

    met = crossing(LOW_RATE, sets)
    spread = f"{fmean(met):.1f} queries on ({min(met)} to {max(met)}); published {CROSSING}"
    notes = (
        f"not sharing is better at {LOW_RATE:g} rows/s from {spread}",
        f"at {PRINTED_RATE:g} rows/s from {max(crossing(PRINTED_RATE, sets))} queries on",
    )
    what, across = "operations per second", "queries"
    return [
        Figure(
            "Krishnamurthy Fig. 4",
            f"{REAL_RATE:g} rows/s",
            across,
            what,
            lines(lambda one: one.costs(REAL_RATE)),
        ),
        Figure(
            "Krishnamurthy Fig. 4",
            f"{LOW_RATE:g} rows/s",
            across,
            what,
            lines(lambda one: one.costs(LOW_RATE)),
            notes,
            stops={"they meet, published": CROSSING},
        ),
        Figure(
            "Krishnamurthy, inequality (1)",
            "sharing pays above",
            across,
            "rows/s",
            lines(lambda one: {"least rate": one.least_rate})
            | {f"least rate{PUBLISHED}": [(CROSSING, LOW_RATE)]},
        ),
    ]


def fragment_costs(k: float, rows: int, satisfied: float) -> tuple[float, float]:
    """Operations of unshared and shared aggregation with k fragments: Table 5."""
    return satisfied * rows, rows + k * satisfied
