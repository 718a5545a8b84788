"""Decide which join windows share slices of sketches: copies that are shared against slices held.

Queries of one tree share sketches, so each word serves more of them. But a tree is cut at the edges
of all its windows, and holds the slices of its longest one:

    every 10 s over 10 s, every 10 min over 1 h    one tree: 360 slices    two trees: 1 + 6 slices

So trees are merged only where that lowers the error that the same memory has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from gingham.algebra.edges import ResidueClass, composite_period, edges_between, normalized
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.logical.window import Window

Edges = tuple[ResidueClass, ...]
# Plans the sketches of some queries whose streams are cut at these edges, without words yet.
Share = Callable[[Sequence[BoundJoin], Edges], "SharedSketches"]

# How many pairs of trees are planned together at most, to see what merging them is worth.
MOST_PAIRS = 2_000
# Where the pattern of edges is long, so many of them are looked at.
_MOST_EDGES = 1 << 16
_GAIN = 1 - 1e-9


@dataclass(frozen=True)  # no slots: what is derived is kept once computed
class SharedSketches:
    """The sketches of join queries that share slices, without words yet."""

    plan: SharingPlan

    @cached_property
    def need(self) -> float:
        """What memory they need, in a unit in which trees add up.

        With m words for all trees together the error is the square of the sum, over m, if errors
        are averaged, and the sum itself, over m, for the largest error.
        """
        error = self.plan.least_error
        return math.sqrt(error) if self.plan.metric == "average" else error

    @cached_property
    def contents(self) -> set[tuple[str, tuple[str, ...], str | None]]:
        """What sketches are of: trees with nothing in common have nothing to share."""
        return {(v.relation, v.attributes, v.measure) for v in self.plan.vertices}


@dataclass(frozen=True, slots=True)
class WovenTree:
    """Join queries that share slices, and their sketches."""

    queries: tuple[BoundJoin, ...]
    edges: Edges  # none for queries without windows
    sketches: SharedSketches

    @property
    def need(self) -> float:
        """What memory its sketches need, see `SharedSketches`."""
        return self.sketches.need


@dataclass
class Woven:
    """The trees of all join queries, and what is to be said about them."""

    trees: list[WovenTree]
    notices: list[str] = field(default_factory=list[str])


def weave_sketches(queries: Sequence[BoundJoin], share: Share, streams: Collection[str]) -> Woven:
    """Weave the windows of join queries: the pair of trees that gains most is merged first."""
    by_window: dict[Window | None, list[BoundJoin]] = {}
    for query in queries:
        by_window.setdefault(query.query.window, []).append(query)
    trees = dict(enumerate(_tree(group, share) for group in by_window.values()))
    merged: dict[tuple[int, int], WovenTree] = {}
    waiting = list(combinations(trees, 2))
    tried = 0
    while True:
        for a, b in waiting:
            if tried < MOST_PAIRS and _may_gain(trees[a], trees[b], streams):
                tried += 1
                both = _tree([*trees[a].queries, *trees[b].queries], share)
                if both.need < (trees[a].need + trees[b].need) * _GAIN:
                    merged[a, b] = both
        if not merged:
            break
        a, b = max(merged, key=lambda p: trees[p[0]].need + trees[p[1]].need - merged[p].need)
        number = max(trees) + 1
        trees[number] = merged[a, b]
        del trees[a], trees[b]
        merged = {pair: tree for pair, tree in merged.items() if not {a, b} & {*pair}}
        waiting = [(other, number) for other in trees if other != number]
    places = {query.name: place for place, query in enumerate(queries)}
    ordered = [_in_order(tree, places, share) for tree in trees.values()]
    ordered.sort(key=lambda tree: places[tree.queries[0].name])
    cut_short = tried == MOST_PAIRS
    return Woven(ordered, [_CUT_SHORT] if cut_short else [])


def one_tree(queries: Sequence[BoundJoin], share: Share) -> Woven:
    """Put all join queries into one tree, cut at the edges of all windows."""
    return Woven([_tree(queries, share)])


@lru_cache(maxsize=4096)
def most_slices(edges: Edges, span: int) -> int:
    """The largest number of slices that begin within a span of time, which begins with a slice.

    >>> most_slices(((10, 0),), 10), most_slices(((10, 0),), 11), most_slices(((4, 0), (6, 0)), 5)
    (1, 2, 3)
    """
    shortest = min(slide for slide, _ in edges)
    stop = min(composite_period(edges), shortest * max(2, _MOST_EDGES // len(edges)))
    starts = edges_between(edges, 0, stop + span)
    counts = np.searchsorted(starts, starts + span) - np.arange(len(starts))
    return int(counts[starts < stop].max(initial=1))


def _tree(queries: Sequence[BoundJoin], share: Share) -> WovenTree:
    """A tree of these join queries."""
    edges = _edges_of(queries)
    return WovenTree(tuple(queries), edges, share(queries, edges))


def _in_order(tree: WovenTree, places: dict[str, int], share: Share) -> WovenTree:
    """A tree with its queries in the order of the workload: plans depend on it."""
    queries = sorted(tree.queries, key=lambda query: places[query.name])
    return tree if list(tree.queries) == queries else _tree(queries, share)


def _edges_of(queries: Iterable[BoundJoin]) -> Edges:
    """The edges of all windows of some join queries."""
    windows = {query.query.window for query in queries} - {None}
    return normalized(c for window in windows if window is not None for c in window.classes)


@lru_cache(maxsize=4096)
def _edges_of_both(one: Edges, other: Edges) -> Edges:
    """The edges of two trees together."""
    return normalized([*one, *other])


def _may_gain(one: WovenTree, other: WovenTree, streams: Collection[str]) -> bool:
    """Whether merging two trees of sketches could lower the error, by what is quickly known.

    Together they need at least what each alone needs in the slices of both.
    """
    if not one.edges or not other.edges or not one.sketches.contents & other.sketches.contents:
        return False
    edges = _edges_of_both(one.edges, other.edges)
    need = max(tree.need * _growth(tree, edges, streams) for tree in (one, other))
    return need < (one.need + other.need) * _GAIN


def _growth(tree: WovenTree, edges: Edges, streams: Collection[str]) -> float:
    """How many times the memory a tree needs at least if its slices are cut at more edges."""
    if any(vertex.relation not in streams for vertex in tree.sketches.plan.vertices):
        return 1.0  # tables are not cut
    windows = [query.query.window for query in tree.queries if query.query.window is not None]
    growth = min(most_slices(edges, w.range) / most_slices(tree.edges, w.range) for w in windows)
    return math.sqrt(growth) if tree.sketches.plan.metric == "average" else growth


_CUT_SHORT = f"windows: {MOST_PAIRS:,} pairs of trees were tried, others have slices of their own"
