"""The engine's weaving method: all pairs of edge sets if they are few, a selection otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Bools, Floats, Ints
from gingham.optimizer.weave.edge_measures import Measure, choose_measure
from gingham.optimizer.weave.edge_sets import EdgeSets
from gingham.optimizer.weave.pair_overlaps import pair_overlaps
from gingham.optimizer.weave.weaver import NO_GAIN, Weaver, Woven, stopped_early
from gingham.optimizer.weave.weaving_problem import (
    Partition,
    Problem,
    one_tree,
    tree_of_each_window,
)

# Up to so many edge sets, all pairs are compared; their bounds take two gigabytes.
MOST_COMPARED = 22_000
_CHUNK = 4_000  # edge sets, or trees, that are woven together
_MOST_GROUPS = 4_096
_MOST_PAIRS = 20_000_000
_PARTNERS = 16


def scalable(problem: Problem) -> Partition:
    """Weave up to a million windows, merging pairs of trees as Weave Share does."""
    if (partition := _one_tree_if_obvious(problem)) is not None:
        return partition
    sets = problem.sets
    if len(sets) <= MOST_COMPARED:
        measure = problem.measure
        woven = Weaver.of_sets(sets, problem.cost, problem.rate, measure).weave(problem.until)
        return _window_partition(problem, woven, measure, ())
    gaining = np.flatnonzero(_worth_weaving(problem))
    # Neighbours are woven together: those with similar slides.
    gaining = gaining[np.lexsort((sets.lows[gaining], sets.slides[gaining]))]
    if not len(gaining):
        alone = Woven([[i] for i in range(len(sets))], sets.rates.tolist())
        return _window_partition(
            problem, alone, None, ("no two different edge sets gain by sharing",)
        )
    measure = choose_measure(sets.subset(gaining).all_classes(), 2 * MOST_COMPARED, sets.ticks)
    if len(gaining) <= MOST_COMPARED:
        part = Weaver.of_sets(sets.subset(gaining), problem.cost, problem.rate, measure)
        woven = part.weave(problem.until)
        notice = (
            f"{len(gaining):,} of {len(sets):,} edge sets were woven: those that gain at first, "
            f"each with {_PARTNERS} partners at most of every slide"
        )
    else:
        woven, rounds = _weave_in_chunks(problem, sets.subset(gaining), measure)
        notice = (
            f"{len(gaining):,} edge sets were woven in {rounds} rounds of {_CHUNK:,} at a time: "
            "not all pairs were compared"
        )
    members = [gaining[tree].tolist() for tree in woven.members]
    alone = np.setdiff1d(np.arange(len(sets)), gaining).tolist()
    whole = Woven(
        members + [[i] for i in alone],
        woven.rates + sets.rates[alone].tolist(),
        woven.compared,
        woven.finished,
    )
    return _window_partition(problem, whole, measure, (notice,))


def _one_tree_if_obvious(problem: Problem) -> Partition | None:
    """Put all windows into one tree if an empty second tree costs more than it could save."""
    sets = problem.sets
    densest = min(float(sets.rates.sum()), float(sets.ticks))
    empty = problem.price(0.0, 0.0)
    if problem.price(densest, float(sets.factors.sum())) - empty >= empty:
        return None
    notice = "one tree: the rows of a second one would cost more than it could save"
    return one_tree(problem, (notice,))


def _window_partition(
    problem: Problem, woven: Woven, measure: Measure | None, notices: tuple[str, ...]
) -> Partition:
    """Turn trees of edge sets into trees of windows, with notices of what was not exact."""
    how = "slides of one window" if measure is None else measure.how
    exact = measure is None or measure.exact
    if not exact:
        notices = (*notices, f"edges were compared on {how}")
    return Partition(
        tree_of_window=tree_of_each_window(problem, woven.members),
        rates=woven.rates,
        exact=exact,
        how=how,
        error=0.0 if measure is None else measure.error,
        operations=woven.compared,
        notices=(*notices, *stopped_early(finished=woven.finished)),
    )


@dataclass(frozen=True, eq=False)
class _SlideGroups:
    """Edge sets grouped by slide and number of residues, with each group's least overlap factor."""

    slides: Ints
    residues: Ints
    least: Floats
    of_set: Ints


def _slide_groups(sets: EdgeSets) -> _SlideGroups:
    """Group edge sets of windows to weave by slide and number of residues."""
    residues = np.where(sets.lows == sets.highs, 1, 2)
    keys, of_set = np.unique(np.stack([sets.slides, residues]), axis=1, return_inverse=True)
    least = np.full(keys.shape[1], np.inf)
    np.minimum.at(least, of_set.ravel(), sets.factors)
    return _SlideGroups(slides=keys[0], residues=keys[1], least=least, of_set=of_set.ravel())


def _worth_weaving(problem: Problem) -> Bools:
    """Select the edge sets that are worth weaving with others.

    For each pair of slide groups, the sets of the smaller group that gain with some set of the
    other group are selected, together with their best few partners there.
    """
    sets, cost, rate = problem.sets, problem.cost, problem.rate
    groups = _slide_groups(sets)
    all_sets = np.ones(len(sets), dtype=bool)
    if len(groups.slides) > _MOST_GROUPS:
        return all_sets
    no_gain = NO_GAIN * problem.price(0.0, 0.0)
    edges = groups.residues / groups.slides * sets.ticks
    alone = cost.tree(edges, groups.least, rate)
    order = np.argsort(groups.of_set, kind="stable")
    stops = np.cumsum(np.bincount(groups.of_set))
    members = np.split(order, stops[:-1])
    sizes = np.array([len(own_members) for own_members in members])

    # Pairs of groups, each reduced to the sets that may gain.
    pairs: list[tuple[int, int, Ints, Ints]] = []
    pair_count = 0
    for group, own_members in enumerate(members):
        smaller = (sizes > len(own_members)) | (
            (sizes == len(own_members)) & (np.arange(len(members)) >= group)
        )
        usual, most = (
            alone + alone[group] - cost.tree(together, groups.least + groups.least[group], rate)
            for together in _least_together(groups, group, edges, sets.ticks)
        )
        for other in np.flatnonzero((most > no_gain) & smaller).tolist():
            ours, theirs = own_members, members[other]
            if usual[other] <= no_gain:
                common = math.gcd(int(groups.slides[group]), int(groups.slides[other]))
                ours, theirs = (_single_residue(sets, side, common) for side in (ours, theirs))
            pair_count += len(ours) * len(theirs)
            if pair_count > _MOST_PAIRS:
                return all_sets
            if len(ours) and len(theirs):
                pairs.append((group, other, ours, theirs))

    gaining = np.zeros(len(sets), dtype=bool)
    for group, other, ours, theirs in pairs:
        residues, other_residues = (_slides_and_residues(sets, side) for side in (ours, theirs))
        overlaps = pair_overlaps(residues, other_residues) * sets.ticks
        together = edges[group] + edges[other] - overlaps
        factors = sets.factors[ours, None] + sets.factors[theirs]
        apart = cost.tree(np.full(len(ours), edges[group]), sets.factors[ours], rate)[:, None]
        apart = apart + cost.tree(np.full(len(theirs), edges[other]), sets.factors[theirs], rate)
        gains = apart - cost.tree(together, factors, rate)
        gains[ours[:, None] == theirs] = -np.inf
        best = np.argsort(-gains, axis=1, kind="stable")[:, :_PARTNERS]
        gain = np.take_along_axis(gains, best, axis=1) > no_gain
        gaining[ours[gain.any(axis=1)]] = True
        gaining[theirs[best[gain]]] = True
    return gaining


def _least_together(
    groups: _SlideGroups, group: int, edges: Floats, ticks: int
) -> tuple[Floats, Floats]:
    """Lower bounds of the edge rate of a set of this slide group together with one of each group.

    The first bound is for sets whose residues differ modulo the common divisor of the slides, the
    second for any sets.
    """
    slide, residues = groups.slides[group], groups.residues[group]
    once = np.gcd(groups.slides, slide) / groups.slides / slide * ticks
    same = groups.slides == slide
    most = groups.residues * residues
    # Different sets with the same slide have at most one residue in common.
    of_same = np.minimum(most - 1, 1)
    usual, any_ = (
        edges + edges[group] - np.minimum(np.where(same, of_same, pairs) * once, densest)
        for pairs in (np.minimum(groups.residues, residues), most)
        for densest in (np.minimum(edges, edges[group]),)
    )
    return usual, any_


def _single_residue(sets: EdgeSets, which: Ints, common: int) -> Ints:
    """The edge sets that have a single residue modulo the common divisor of two slides."""
    return which[(sets.highs[which] - sets.lows[which]) % common == 0]


def _slides_and_residues(sets: EdgeSets, which: Ints) -> tuple[Ints, Ints, Ints]:
    """Slides, smaller and larger residues of some edge sets, as `pair_overlaps` takes them."""
    return sets.slides[which], sets.lows[which], sets.highs[which]


def _weave_in_chunks(problem: Problem, sets: EdgeSets, measure: Measure) -> tuple[Woven, int]:
    """Weave chunks of neighbouring slides, then chunks of the resulting trees, until few merge."""
    cost, rate = problem.cost, problem.rate
    trees = [[i] for i in range(len(sets))]
    edges, factors = sets.rates, sets.factors
    compared, rounds, finished = 0, 0, True
    while finished:
        rounds += 1
        before = len(trees)
        woven_trees: list[tuple[list[int], float]] = []
        for i in range(0, before, _CHUNK):
            part = slice(i, min(i + _CHUNK, before))
            if problem.out_of_time:  # the rest stays as it is
                finished = False
                woven_trees += zip(trees[part], edges[part].tolist(), strict=True)
                continue
            if rounds == 1:
                chunk = sets.subset(np.arange(part.start, part.stop))
                weaver = Weaver.of_sets(chunk, cost, rate, measure)
            else:
                encoded = [
                    measure.encode(c for j in tree for c in sets.classes(j)) for tree in trees[part]
                ]
                weaver = Weaver.of_trees(edges[part], factors[part], encoded, cost, rate, measure)
            woven = weaver.weave(problem.until)
            compared += woven.compared
            finished &= woven.finished
            for members, edge_rate in zip(woven.members, woven.rates, strict=True):
                merged = [edge_set for j in members for edge_set in trees[i + j]]
                woven_trees.append((merged, edge_rate))
        trees = [members for members, _ in woven_trees]
        edges = np.array([edge_rate for _, edge_rate in woven_trees])
        factors = np.array([sets.factors[tree].sum() for tree in trees])
        if before <= _CHUNK or len(trees) > 0.9 * before:
            break
    return Woven(trees, edges.tolist(), compared, finished), rounds
