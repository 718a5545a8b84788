"""Aggregate operations, counted as in the paper: what sharing saves before any clock runs.

Unshared, every row is added once to every query that it satisfies, and every window adds up the
slices of its own query. Shared, every row that any query wants is added once, to the shard of its
slice and its fragment, and every window adds up the shards that it contains and its query wants.

The engine does less: for each predicate it merges the fragments of a slice once, and every window
adds up slices only. A row is added once for each grid, so a plan with several grids is counted grid
by grid (`benchmarks.krishnamurthy`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from operator import add

import numpy as np

from benchmarks.baselines import SECOND, Market, predicates
from gingham.core.arrays import Bools, Floats, Ints
from gingham.datasets.trades import CHANGE, VOLUME, WORTH, TradeQuery

QUANTITIES = (VOLUME, WORTH, CHANGE)
# Which of the states none (0), R2000 (1) and R1000 (2) a flag is true in.
FLAGS = {"r3000": (False, True, True), "r2000": (False, True, False), "r1000": (False, False, True)}


@dataclass(frozen=True, slots=True)
class Operations:
    """How often two things are added, and how finely the rows are divided."""

    partial: int
    final: int
    unshared_partial: int
    unshared_final: int
    fragments: int
    slices: int
    shards: int
    merged_fragments: int = 0  # of the engine, instead of `final`: fragments to predicates,
    merged_slices: int = 0  # and slices to windows

    @property
    def values(self) -> tuple[int, ...]:
        """All counts, in the order of the fields."""
        return astuple(self)

    def __add__(self, other: "Operations") -> "Operations":
        return Operations(*map(add, self.values, other.values))


@dataclass(frozen=True, slots=True)
class TradeRows:
    """What predicates and windows look at, of all rows of a market."""

    time: Ints
    values: tuple[Floats, ...]  # of each of QUANTITIES
    state: Ints  # as in FLAGS

    @classmethod
    def of(cls, market: Market) -> "TradeRows":
        """Read the rows of a market once, to be counted many times."""
        columns = market.duck.sql(
            f"SELECT t, {VOLUME}, {WORTH}, {CHANGE}, 2 * r1000::INT + r2000::INT AS state "
            "FROM trades JOIN close USING (symbol) JOIN listing USING (symbol)"
        ).fetchnumpy()
        time, *values, state = columns.values()
        return cls(time, tuple(values), state)

    def __len__(self) -> int:
        return len(self.time)


def count(
    rows: TradeRows,
    queries: Sequence[TradeQuery],
    *,
    cut_by: Sequence[TradeQuery] = (),
    paned: bool = False,
) -> Operations:
    """Count the operations of a workload over all rows.

    The windows of `cut_by` cut time as well; `paned` cuts it into panes: equal parts of each slide.
    """
    time = rows.time
    different = predicates(queries)
    wants, fragment = _fragments(different, rows.values, rows.state)
    windows = {query.window: _windows(query.window, time) for query in queries}
    edges = _edges({q.window for q in (*queries, *cut_by)}, time, paned=paned)

    filled = np.bincount(fragment, minlength=len(wants))
    matches = dict(zip(different, (filled @ wants).tolist(), strict=True))
    useful = np.asarray(wants.any(axis=1))
    wanted = useful[fragment]
    slices = np.searchsorted(edges, time[wanted], side="right")
    shards = np.unique(slices * len(wants) + fragment[wanted])
    shard_slice, shard_fragment = np.divmod(shards, len(wants))

    final = merged_fragments = merged_slices = 0
    for i, predicate in enumerate(different):
        mine = np.bincount(shard_slice[wants[shard_fragment, i]], minlength=len(edges) + 1)
        upto = np.concatenate([[0], np.cumsum(mine)])
        upto_slices = np.concatenate([[0], np.cumsum(mine > 0)])
        merged_fragments += int(mine.sum())
        for query in queries:
            if query.predicate == predicate:
                first, last = np.searchsorted(edges, windows[query.window]).T + 1
                final += int((upto[last] - upto[first]).sum())
                merged_slices += int((upto_slices[last] - upto_slices[first]).sum())
    return Operations(
        partial=int(wanted.sum()),
        final=final,
        unshared_partial=sum(matches[query.predicate] for query in queries),
        unshared_final=sum(
            _unshared_finals(q.window, windows[q.window], time, paned=paned) for q in queries
        ),
        fragments=int(useful.sum()),
        slices=len(np.unique(slices)),
        shards=len(shards),
        merged_fragments=merged_fragments,
        merged_slices=merged_slices,
    )


def _edges(windows: Iterable[tuple[int, int]], time: Ints, *, paned: bool) -> Ints:
    """Where slices begin and end."""
    spans = {window: _windows(window, time) for window in windows}
    cuts = [span.ravel() for span in spans.values()]
    if paned:
        first, last = min(c.min() for c in cuts), max(c.max() for c in cuts)
        panes = {math.gcd(*window) * SECOND for window in spans}
        cuts += [np.arange(first // pane, last // pane + 1) * pane for pane in panes]
    return np.unique(np.concatenate(cuts))


def _windows(window: tuple[int, int], time: Ints) -> Ints:
    """Start and end of all windows that overlap the data."""
    length, slide = (SECOND * part for part in window)
    first, last = time.min() // slide + 1, (time.max() + length) // slide
    ends = np.arange(first, last + 1) * slide
    return np.stack([ends - length, ends], axis=1)


def _unshared_finals(window: tuple[int, int], spans: Ints, time: Ints, *, paned: bool) -> int:
    """How many slices of its own the windows of one query add up, of those that have rows."""
    edges = _edges([window], time, paned=paned)
    starts, ends = spans.clip(time.min(), time.max() + 1).T
    first = np.searchsorted(edges, starts, side="right")
    slices = np.searchsorted(edges, ends, side="left") - first + 1
    return int(slices[slices > 1].sum())  # a single one needs no adding up


def _fragments(
    different: Sequence[str | None], values: Sequence[Floats], state: Ints
) -> tuple[Bools, Ints]:
    """Which predicates each fragment satisfies, and which fragment each row is in."""
    conjuncts = [_conjuncts(predicate) for predicate in different]
    cell, sizes, constants = state.astype(np.int64), [3], []
    for quantity, value in zip(QUANTITIES, values, strict=True):
        cuts = np.unique([c for _, _, q, _, c in filter(None, conjuncts) if q == quantity])
        # Below, between and above the constants the code is even, at a constant odd.
        code = np.searchsorted(cuts, value, "left") + np.searchsorted(cuts, value, "right")
        cell = cell * (2 * len(cuts) + 1) + code
        sizes.append(2 * len(cuts) + 1)
        constants.append(cuts)

    cells, cell_of_row = np.unique(cell, return_inverse=True)
    states, *codes = np.unravel_index(cells, sizes)
    wants = np.ones((len(cells), len(different)), dtype=bool)
    for i, conjunct in enumerate(conjuncts):
        if conjunct:
            flag, negated, quantity, comparison, constant = conjunct
            which = QUANTITIES.index(quantity)
            here = 2 * np.searchsorted(constants[which], constant) + 1
            beyond = codes[which] > here if comparison == ">" else codes[which] < here
            wants[:, i] = (np.array(FLAGS[flag])[states] != negated) & beyond
    packed, fragment = np.unique(np.packbits(wants, axis=1), axis=0, return_inverse=True)
    unpacked = np.unpackbits(packed, axis=1, count=len(different)).astype(bool)
    return unpacked, fragment[cell_of_row]


def _conjuncts(predicate: str | None) -> tuple[str, bool, str, str, float] | None:
    """`NOT listing.r1000 AND vol > 500` in parts: r1000, True, vol, >, 500."""
    if predicate is None:
        return None
    member, value = predicate.split(" AND ")
    quantity, comparison, constant = value.rsplit(" ", 2)
    return member.split(".")[1], member.startswith("NOT"), quantity, comparison, float(constant)
