"""Weaving any number of edge sets: what is too many to compare all at once is thinned out first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gingham.optimizer.weave.measure import Measure, Row, choose_measure
from gingham.optimizer.weave.problem import Partition, Problem, of_set_trees
from gingham.optimizer.weave.scalable import NOTHING, Weaver, Woven, stopped_early
from gingham.optimizer.weave.windows import EdgeSets

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# All pairs of so many edge sets are compared; their bounds take two gigabytes.
MOST_COMPARED = 22_000
_CHUNK = 4_000
_MOST_SHELVES = 4_096
_MOST_EXPANDED = 50_000_000


def scalable(problem: Problem) -> Partition:
    """The plan of Weave Share for up to a million windows."""
    if (partition := _one_tree(problem)) is not None:
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
        notice = f"only {len(gaining):,} of {len(sets):,} edge sets may gain: no others were woven"
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


def _one_tree(problem: Problem) -> Partition | None:
    """One tree is the best if a second one alone costs more than all finals of the first."""
    sets = problem.sets
    densest = min(float(sets.rates.sum()), float(sets.ticks))
    empty = problem.price(0.0, 0.0)
    if problem.price(densest, float(sets.factors.sum())) - empty >= empty:
        return None
    notice = "one tree: the rows of a second one would cost more than it could save"
    return Partition(np.zeros(len(problem.windows), dtype=np.int64), notices=(notice,))


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
    least: npt.NDArray[np.float64]
    of_set: Ints


def _shelves(sets: EdgeSets) -> _Shelves:
    residues = np.where(sets.lows == sets.highs, 1, 2)
    keys, of_set = np.unique(np.stack([sets.slides, residues]), axis=1, return_inverse=True)
    least = np.full(keys.shape[1], np.inf)
    np.minimum.at(least, of_set.ravel(), sets.factors)
    return _Shelves(keys[0], keys[1], least, of_set.ravel())


def _may_gain(problem: Problem) -> Bools:
    """Which edge sets can gain by sharing with another one, judged by shelves of them."""
    sets, cost, rate = problem.sets, problem.cost, problem.rate
    shelves = _shelves(sets)
    everything = np.ones(len(sets), dtype=bool)
    if len(shelves.slides) > _MOST_SHELVES:
        return everything
    nothing = NOTHING * problem.price(0.0, 0.0)
    slides, residues, least = shelves.slides, shelves.residues, shelves.least
    edges = residues / slides * sets.ticks

    gaining = np.zeros(len(sets), dtype=bool)
    order = np.argsort(shelves.of_set, kind="stable")
    starts = np.searchsorted(shelves.of_set[order], np.arange(len(slides) + 1))
    expanded = 0
    for shelf in range(len(slides)):
        # Different sets with the same slide have at most one residue in common.
        pairs = np.where(slides == slides[shelf], 1, residues * residues[shelf])
        pairs[(slides == slides[shelf]) & (residues == 1) & (residues[shelf] == 1)] = 0
        common = pairs * (np.gcd(slides, slides[shelf]) / slides / slides[shelf]) * sets.ticks
        common = np.minimum(common, np.minimum(edges, edges[shelf]))
        together = edges + edges[shelf] - common
        apart = cost.tree(edges, least, rate)
        own = cost.tree(edges[shelf : shelf + 1], least[shelf : shelf + 1], rate)
        others = np.flatnonzero(
            own + apart - cost.tree(together, least + least[shelf], rate) > nothing
        )
        members = order[starts[shelf] : starts[shelf + 1]]
        expanded += len(others) * len(members)
        if expanded > _MOST_EXPANDED:
            return everything
        factors = sets.factors[members][:, None]
        alone = cost.tree(np.broadcast_to(edges[shelf], factors.shape), factors, rate)
        gains = alone + apart[others] - cost.tree(together[others], factors + least[others], rate)
        gaining[members] = (gains > nothing).any(axis=1)
    return gaining


def _in_chunks(problem: Problem, sets: EdgeSets, measure: Measure) -> tuple[Woven, int]:
    """Weave neighbours in the order of slides, then what came of them, until few trees are left."""
    cost, rate, until = problem.cost, problem.rate, problem.until
    trees = [[i] for i in range(len(sets))]
    edges, factors = sets.rates, sets.factors
    rows: list[Row | None] = [None] * len(sets)
    looked_at, rounds, finished = 0, 0, True
    while finished:
        rounds += 1
        before, chunk = len(trees), _CHUNK if rounds == 1 or len(trees) > _CHUNK else len(trees)
        kept: list[tuple[list[int], float, float, Row]] = []
        for i in range(0, before, chunk):
            if rounds == 1:
                lot = sets.part(np.arange(i, min(i + chunk, before)))
                weaver = Weaver.of_sets(lot, cost, rate, measure)
            else:
                part = slice(i, i + chunk)
                weaver = Weaver.of_trees(
                    edges[part], factors[part], list(rows[part]), cost, rate, measure
                )
            woven = weaver.weave(until)
            looked_at += woven.looked_at
            finished &= woven.finished
            for members, found, row in zip(woven.members, woven.rates, weaver.rows(), strict=True):
                sets_of_tree = [one for j in members for one in trees[i + j]]
                factor = float(sets.factors[sets_of_tree].sum())
                kept.append((sets_of_tree, found, factor, row))
        trees = [members for members, *_ in kept]
        edges = np.array([found for _, found, _, _ in kept])
        factors = np.array([factor for _, _, factor, _ in kept])
        rows = [row for *_, row in kept]
        if chunk >= before or len(trees) > 0.9 * before:
            break
    return Woven(trees, edges.tolist(), looked_at, finished), rounds
