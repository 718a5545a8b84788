"""Weaving any number of edge sets: what is too many to compare all at once is thinned out first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Bools, Floats, Ints
from gingham.optimizer.weave.edge_measures import Measure, choose_measure, pair_overlaps
from gingham.optimizer.weave.edge_sets import EdgeSets
from gingham.optimizer.weave.weaver import NOTHING, Weaver, Woven, stopped_early
from gingham.optimizer.weave.weaving_problem import Partition, Problem, of_set_trees, one_tree

# All pairs of so many edge sets are compared; their bounds take two gigabytes.
MOST_COMPARED = 22_000
_CHUNK = 4_000
_MOST_SHELVES = 4_096
_MOST_EXPANDED = 20_000_000
_PARTNERS = 16


def scalable(problem: Problem) -> Partition:
    """The plan of Weave Share for up to a million windows."""
    if (partition := _one_tree_at_once(problem)) is not None:
        return partition
    sets = problem.sets
    if len(sets) <= MOST_COMPARED:
        measure = problem.measure
        woven = Weaver.of_sets(sets, problem.cost, problem.rate, measure).weave(problem.until)
        return _partition(problem, woven, measure, ())
    gaining = np.flatnonzero(_may_gain(problem))
    # Neighbours are woven together: those with similar slides first.
    gaining = gaining[np.lexsort((sets.lows[gaining], sets.slides[gaining]))]
    if not len(gaining):
        alone = Woven([[i] for i in range(len(sets))], sets.rates.tolist())
        return _partition(problem, alone, None, ("no two different edge sets gain by sharing",))
    measure = choose_measure(sets.part(gaining).all_classes(), 2 * MOST_COMPARED, sets.ticks)
    if len(gaining) <= MOST_COMPARED:
        part = Weaver.of_sets(sets.part(gaining), problem.cost, problem.rate, measure)
        woven = part.weave(problem.until)
        notice = (
            f"{len(gaining):,} of {len(sets):,} edge sets were woven: those that gain at first, "
            f"each with {_PARTNERS} partners at most of every slide"
        )
    else:
        woven, rounds = _in_chunks(problem, sets.part(gaining), measure)
        notice = (
            f"{len(gaining):,} edge sets were woven in {rounds} rounds of {_CHUNK:,} at a time: "
            "not all pairs were compared"
        )
    members = [gaining[tree].tolist() for tree in woven.members]
    alone = np.setdiff1d(np.arange(len(sets)), gaining).tolist()
    whole = Woven(
        members + [[i] for i in alone],
        woven.rates + sets.rates[alone].tolist(),
        woven.looked_at,
        woven.finished,
    )
    return _partition(problem, whole, measure, (notice,))


def _one_tree_at_once(problem: Problem) -> Partition | None:
    """One tree is the best if a second one alone costs more than all finals of the first."""
    sets = problem.sets
    densest = min(float(sets.rates.sum()), float(sets.ticks))
    empty = problem.price(0.0, 0.0)
    if problem.price(densest, float(sets.factors.sum())) - empty >= empty:
        return None
    notice = "one tree: the rows of a second one would cost more than it could save"
    return one_tree(problem, (notice,))


def _partition(
    problem: Problem, woven: Woven, measure: Measure | None, notices: tuple[str, ...]
) -> Partition:
    how = "slides of one window" if measure is None else measure.how
    exact = measure is None or measure.exact
    if not exact:
        notices = (*notices, f"edges were compared on {how}")
    return Partition(
        of_set_trees(problem, woven.members),
        woven.rates,
        exact,
        how,
        0.0 if measure is None else measure.error,
        woven.looked_at,
        (*notices, *stopped_early(finished=woven.finished)),
    )


@dataclass(frozen=True, eq=False)
class _Shelves:
    """Edge sets with the same slide and as many residues, the least overlap factor of each lot."""

    slides: Ints
    residues: Ints
    least: Floats
    of_set: Ints


def _shelves(sets: EdgeSets) -> _Shelves:
    residues = np.where(sets.lows == sets.highs, 1, 2)
    keys, of_set = np.unique(np.stack([sets.slides, residues]), axis=1, return_inverse=True)
    least = np.full(keys.shape[1], np.inf)
    np.minimum.at(least, of_set.ravel(), sets.factors)
    return _Shelves(keys[0], keys[1], least, of_set.ravel())


def _may_gain(problem: Problem) -> Bools:
    """Which edge sets to weave.

    On each pair of shelves those of the smaller one that gain, with their best few partners on
    the other.
    """
    sets, cost, rate = problem.sets, problem.cost, problem.rate
    shelves = _shelves(sets)
    everything = np.ones(len(sets), dtype=bool)
    if len(shelves.slides) > _MOST_SHELVES:
        return everything
    nothing = NOTHING * problem.price(0.0, 0.0)
    edges = shelves.residues / shelves.slides * sets.ticks
    alone = cost.tree(edges, shelves.least, rate)
    order = np.argsort(shelves.of_set, kind="stable")
    stops = np.cumsum(np.bincount(shelves.of_set))
    lots = np.split(order, stops[:-1])
    sizes = np.array([len(lot) for lot in lots])

    # Pairs of lots, thinned out to those that may gain.
    pairs: list[tuple[int, int, Ints, Ints]] = []
    expanded = 0
    for shelf, lot in enumerate(lots):
        smaller = (sizes > len(lot)) | ((sizes == len(lot)) & (np.arange(len(lots)) >= shelf))
        usual, most = (
            alone + alone[shelf] - cost.tree(together, shelves.least + shelves.least[shelf], rate)
            for together in _least_together(shelves, shelf, edges, sets.ticks)
        )
        for other in np.flatnonzero((most > nothing) & smaller).tolist():
            ours, theirs = lot, lots[other]
            if usual[other] <= nothing:
                common = math.gcd(int(shelves.slides[shelf]), int(shelves.slides[other]))
                ours, theirs = _folded(sets, ours, common), _folded(sets, theirs, common)
            expanded += len(ours) * len(theirs)
            if expanded > _MOST_EXPANDED:
                return everything
            if len(ours) and len(theirs):
                pairs.append((shelf, other, ours, theirs))

    gaining = np.zeros(len(sets), dtype=bool)
    for shelf, other, ours, theirs in pairs:
        overlaps = pair_overlaps(_lot(sets, ours), _lot(sets, theirs)) * sets.ticks
        together = edges[shelf] + edges[other] - overlaps
        factors = sets.factors[ours, None] + sets.factors[theirs]
        apart = cost.tree(np.full(len(ours), edges[shelf]), sets.factors[ours], rate)[:, None]
        apart = apart + cost.tree(np.full(len(theirs), edges[other]), sets.factors[theirs], rate)
        gains = apart - cost.tree(together, factors, rate)
        gains[ours[:, None] == theirs] = -np.inf
        best = np.argsort(-gains, axis=1, kind="stable")[:, :_PARTNERS]
        gain = np.take_along_axis(gains, best, axis=1) > nothing
        gaining[ours[gain.any(axis=1)]] = True
        gaining[theirs[best[gain]]] = True
    return gaining


def _least_together(
    shelves: _Shelves, shelf: int, edges: Floats, ticks: int
) -> tuple[Floats, Floats]:
    """The fewest edges that a set of this shelf and a different one of each other have together.

    First for sets whose residues differ modulo the common divisor, then for any.
    """
    slide, own = shelves.slides[shelf], shelves.residues[shelf]
    once = np.gcd(shelves.slides, slide) / shelves.slides / slide * ticks
    same = shelves.slides == slide
    most = shelves.residues * own
    # Different sets with the same slide have at most one residue in common.
    of_same = np.minimum(most - 1, 1)
    usual, any_ = (
        edges + edges[shelf] - np.minimum(np.where(same, of_same, pairs) * once, densest)
        for pairs in (np.minimum(shelves.residues, own), most)
        for densest in (np.minimum(edges, edges[shelf]),)
    )
    return usual, any_


def _folded(sets: EdgeSets, which: Ints, common: int) -> Ints:
    """Those with one residue only, or with two that are the same modulo the common divisor."""
    return which[(sets.highs[which] - sets.lows[which]) % common == 0]


def _lot(sets: EdgeSets, which: Ints) -> tuple[Ints, Ints, Ints]:
    return sets.slides[which], sets.lows[which], sets.highs[which]


def _in_chunks(problem: Problem, sets: EdgeSets, measure: Measure) -> tuple[Woven, int]:
    """Weave neighbours in the order of slides, then what came of them, until few trees are left."""
    cost, rate = problem.cost, problem.rate
    trees = [[i] for i in range(len(sets))]
    edges, factors = sets.rates, sets.factors
    looked_at, rounds, finished = 0, 0, True
    while finished:
        rounds += 1
        before = len(trees)
        kept: list[tuple[list[int], float]] = []
        for i in range(0, before, _CHUNK):
            part = slice(i, min(i + _CHUNK, before))
            if problem.late:  # what is left stays as it is
                finished = False
                kept += zip(trees[part], edges[part].tolist(), strict=True)
                continue
            if rounds == 1:
                lot = sets.part(np.arange(part.start, part.stop))
                weaver = Weaver.of_sets(lot, cost, rate, measure)
            else:
                rows = [
                    measure.row(c for j in tree for c in sets.classes(j)) for tree in trees[part]
                ]
                weaver = Weaver.of_trees(edges[part], factors[part], rows, cost, rate, measure)
            woven = weaver.weave(problem.until)
            looked_at += woven.looked_at
            finished &= woven.finished
            for members, found in zip(woven.members, woven.rates, strict=True):
                kept.append(([one for j in members for one in trees[i + j]], found))
        trees = [members for members, _ in kept]
        edges = np.array([found for _, found in kept])
        factors = np.array([sets.factors[tree].sum() for tree in trees])
        if before <= _CHUNK or len(trees) > 0.9 * before:
            break
    return Woven(trees, edges.tolist(), looked_at, finished), rounds
