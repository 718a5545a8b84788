"""Incremental Weave Share: windows join and leave a plan, which is seldom woven from scratch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gingham.algebra.edges import EdgeRate, ResidueClass, edge_rate
from gingham.core.arrays import Floats, Ints
from gingham.core.errors import QueryError
from gingham.core.time import SECOND
from gingham.logical.window import Window
from gingham.optimizer.weave.edge_measures import BitMeasure, EncodedEdges, bits_for
from gingham.optimizer.weave.edge_sets import AnyWindow, read_windows
from gingham.optimizer.weave.pair_overlaps import pair_overlaps
from gingham.optimizer.weave.weaver import NO_GAIN
from gingham.optimizer.weave.woven_plan import WovenPlan, WovenTree

Weave = Callable[[list[AnyWindow]], WovenPlan]

_FIRST_BATCH = 8  # trees that are measured at first
_MOST_MEASURED = 256  # trees that are measured for one change
_QUICK_ENTRIES = 50_000
_SPARE_TREES = 256  # that may join before bits need more memory than planned


@dataclass(frozen=True, eq=False)
class IncrementalPlan(WovenPlan):
    """A woven plan that windows are added to and removed from; each change gives a new plan.

    The last plan that was woven from scratch gives a lower bound of what such a plan would cost
    now. Once this plan costs more than the bound by the tolerance, it is woven from scratch.
    Guirguis et al. (CIKM 2011), Section 5.2, extrapolate the cost linearly instead; but each new
    window costs less than the one before, so a line overestimates the cost.
    """

    tolerance: float = field(kw_only=True)
    from_scratch: Weave = field(kw_only=True, repr=False)
    scratch: tuple[int, float] = field(kw_only=True)  # windows and cost of the last such plan
    rebuilds: int = field(default=0, kw_only=True)  # how often it was woven from scratch
    measure: BitMeasure = field(kw_only=True, repr=False)
    encoded: tuple[EncodedEdges, ...] = field(kw_only=True, repr=False)
    classes: tuple[Ints, Ints, Ints] = field(kw_only=True, repr=False)  # slide, residue, tree
    size: int = field(kw_only=True)

    @property
    def least(self) -> float:
        """A lower bound of the cost of a plan of these windows woven from scratch.

        It is the cost of the last such plan, in proportion if there are fewer windows now.
        """
        size, cost = self.scratch
        return cost * min(1.0, self.size / size)

    def add(self, window: AnyWindow) -> IncrementalPlan:
        """Add a window to the tree of the woven plan that it gains most with."""
        read = read_windows([window])
        if self.trees and isinstance(window, Window) != isinstance(
            self.trees[0].windows[0], Window
        ):
            read_windows([window, self.trees[0].windows[0]])  # raises the error
        draft = _Draft(self)
        draft.add(read.given[0], read.sets.classes(0), float(read.factors[0]))
        return draft.plan(self.size + 1)

    def remove(self, window: AnyWindow) -> IncrementalPlan:
        """Remove one window that is equal to this from its tree of the woven plan."""
        tree_number = next((i for i, tree in enumerate(self.trees) if window in tree.windows), None)
        if tree_number is None:
            raise QueryError(
                f"a window {window!r} that is in no tree",
                "only windows of the plan can be removed",
                "one of plan.windows",
            )
        if self.size == 1:
            raise QueryError(
                "a plan without windows", "this is the last one", "add another window before"
            )
        draft = _Draft(self)
        draft.remove(tree_number, window)
        return draft.plan(self.size - 1)


def incremental(plan: WovenPlan, tolerance: float, from_scratch: Weave) -> IncrementalPlan:
    """Make a plan that windows can join and leave from one woven from scratch."""
    if not tolerance >= 0:
        raise QueryError(
            f"a tolerance of {tolerance}",
            "it is the part by which a plan may cost more than expected, at least zero",
            "for example tolerance=0.2; math.inf for never weaving anew",
        )
    classes = [tree.classes for tree in plan.trees]
    size = sum(len(tree.windows) for tree in plan.trees)
    measure, encoded = _measure_trees(plan.trees, classes)
    return IncrementalPlan(
        trees=plan.trees,
        rate=plan.rate,
        method="incremental",
        notices=plan.notices,
        operations=plan.operations,
        model=plan.model,
        tolerance=tolerance,
        from_scratch=from_scratch,
        scratch=(size, plan.cost),
        measure=measure,
        encoded=encoded,
        classes=_classes_as_arrays(classes),
        size=size,
    )


def _measure_trees(
    trees: Sequence[WovenTree], classes: Sequence[tuple[ResidueClass, ...]]
) -> tuple[BitMeasure, tuple[EncodedEdges, ...]]:
    """Choose a measure of edge rates for the trees of a plan, and encode their edges."""
    # Without `normalized`: a class that others imply still has its own period in another tree.
    every = list(dict.fromkeys(c for of_tree in classes for c in of_tree))
    measure = bits_for(every, len(trees) + _SPARE_TREES, _ticks(trees))
    return measure, tuple(measure.encode(of_tree) for of_tree in classes)


def _classes_as_arrays(classes: Sequence[tuple[ResidueClass, ...]]) -> tuple[Ints, Ints, Ints]:
    """The residue classes of all trees of a plan as arrays: slides, residues, tree numbers."""
    owned = [(slide, residue, i) for i, of_tree in enumerate(classes) for slide, residue in of_tree]
    slides, residues, owners = np.array(owned, dtype=np.int64).T
    return slides, residues, owners


def _ticks(trees: Sequence[WovenTree]) -> int:
    """Ticks per unit of time of a plan: microseconds for windows of queries, else 1."""
    return SECOND if isinstance(trees[0].windows[0], Window) else 1


class _Draft:
    """A woven plan under change: the trees, and their edges as arrays of residue classes."""

    def __init__(self, plan: IncrementalPlan) -> None:
        self._old = plan
        self._trees, self._encoded = list(plan.trees), list(plan.encoded)
        self._measure = plan.measure
        self._slides, self._residues, self._owners = plan.classes
        self._compared = 0
        self._ticks = _ticks(plan.trees)

    def add(self, window: AnyWindow, classes: tuple[ResidueClass, ...], factor: float) -> None:
        """Add a tree of one window to the plan, then merge it as long as that saves something."""
        if not self._measure.fits(classes):
            of_trees = [tree.classes for tree in self._trees]
            self._measure, encoded = _measure_trees(self._trees, [*of_trees, classes])
            self._encoded = list(encoded[:-1])
        own_rate = EdgeRate(
            len(classes) / classes[0][0] * self._ticks, operations=1, how="slides of one window"
        )
        common = self._sums(classes)
        self._trees.append(WovenTree((window,), own_rate, factor, self._price(own_rate, factor)))
        self._encoded.append(self._measure.encode(classes))
        self._add_classes(classes, len(self._trees) - 1)
        self._merge_while_better(len(self._trees) - 1, common)

    def remove(self, tree_number: int, window: AnyWindow) -> None:
        """Remove a window from its tree, then merge the tree as long as that saves something."""
        tree = self._trees[tree_number]
        windows = list(tree.windows)
        windows.remove(window)
        self._remove_classes(tree_number)
        if not windows:
            self._drop(tree_number)
            return
        left = WovenTree(tuple(windows), tree.edge_rate, 0.0, 0.0)
        classes = left.classes
        rate = edge_rate(classes, most=_QUICK_ENTRIES)
        edges = EdgeRate(
            float(rate) * self._ticks,
            operations=rate.operations,
            how=rate.how,
            margin=rate.margin * self._ticks,
        )
        factor = tree.overlap_factor - float(read_windows([window]).factors[0])
        self._trees[tree_number] = replace(
            left, edge_rate=edges, overlap_factor=factor, cost=self._price(edges, factor)
        )
        self._encoded[tree_number] = self._measure.encode(classes)
        self._add_classes(classes, tree_number)
        self._merge_while_better(tree_number, None)

    def plan(self, size: int) -> IncrementalPlan:
        """The changed plan, woven from scratch if it costs more than the tolerance allows."""
        old = self._old
        plan = replace(
            old,
            trees=tuple(self._trees),
            operations=old.operations + self._compared,
            measure=self._measure,
            encoded=tuple(self._encoded),
            classes=(self._slides, self._residues, self._owners),
            size=size,
        )
        if old.tolerance and plan.cost <= (1 + old.tolerance) * plan.least:
            return plan
        anew = incremental(old.from_scratch(list(plan.windows)), old.tolerance, old.from_scratch)
        return replace(
            anew,
            operations=plan.operations + anew.operations,
            rebuilds=old.rebuilds + 1,
        )

    def _merge_while_better(self, tree_number: int, common: Floats | None) -> None:
        """Merge a tree with the one that saves most, and the result again, while that saves.

        `common` bounds the overlaps of the first merge. Tree numbers after a merged tree shift.
        """
        while (best := self._best_partner(tree_number, common)) is not None:
            other, overlap = best
            one, two = self._trees[tree_number], self._trees[other]
            self._remove_classes(tree_number)
            factor = one.overlap_factor + two.overlap_factor
            edges = self._united(
                one, two, overlap, self._encoded[tree_number], self._encoded[other]
            )
            self._encoded[other] = self._measure.union(
                (self._encoded[other], self._encoded[tree_number])
            )
            self._add_classes(one.classes, other)
            self._trees[other] = WovenTree(
                two.windows + one.windows, edges, factor, self._price(edges, factor)
            )
            self._drop(tree_number)
            tree_number, common = other - (other > tree_number), None

    def _united(
        self,
        one: WovenTree,
        two: WovenTree,
        overlap: float,
        encoded: EncodedEdges,
        other: EncodedEdges,
    ) -> EdgeRate:
        """The edge rate of two trees merged: measured if that is exact, else from the overlap."""
        measure = self._measure
        if measure.exact:
            return EdgeRate(
                measure.rate(measure.union((encoded, other))), operations=1, how=measure.how
            )
        edges = float(one.edge_rate) + float(two.edge_rate) - overlap
        margin = measure.error * (edges / self._ticks) ** 0.5 * self._ticks
        return EdgeRate(edges, operations=1, how=measure.how, margin=margin)

    def _best_partner(self, tree_number: int, common: Floats | None) -> tuple[int, float] | None:
        """The tree whose merge with this one saves most, and the common edges of both."""
        trees, old = self._trees, self._old
        if len(trees) < 2:
            return None
        edges = np.array([tree.edge_rate for tree in trees], dtype=np.float64)
        factors = np.array([tree.overlap_factor for tree in trees])
        costs = np.array([tree.cost for tree in trees])
        bounds = np.minimum(edges, edges[tree_number])
        if common is not None:
            bounds[:-1] = np.minimum(bounds[:-1], common)

        def gains(others: Ints, overlaps: Floats) -> Floats:
            together = edges[others] + edges[tree_number] - np.minimum(overlaps, bounds[others])
            price = old.model.tree(together, factors[others] + factors[tree_number], old.rate)
            return costs[others] + costs[tree_number] - price

        others = np.delete(np.arange(len(trees)), tree_number)
        saves = gains(others, bounds[others])
        exact = np.zeros(len(others), dtype=bool)
        nothing = NO_GAIN * float(old.model.tree(0.0, 0.0, old.rate))
        batch, measured = _FIRST_BATCH, 0
        while True:
            best = int(np.argmax(saves))
            if saves[best] <= nothing:
                return None
            if exact[best]:
                return int(others[best]), float(bounds[others[best]])
            if measured >= _MOST_MEASURED:
                saves[~exact] = -np.inf
                continue
            order = np.argsort(np.where(exact, np.inf, -saves), kind="stable")[:batch]
            order = order[~exact[order]]
            which = others[order]
            overlaps, error = self._measure.overlaps(
                self._encoded[tree_number], [self._encoded[i] for i in which]
            )
            limit = bounds[which]
            # Within the sampling error, the sum of exact overlaps is the better estimate.
            close = np.abs(limit - overlaps) <= error
            bounds[which] = np.where(close, limit, np.minimum(overlaps, limit))
            saves[order] = gains(which, bounds[which])
            exact[order] = True
            measured += len(which)
            self._compared += len(which)
            batch *= 2

    def _sums(self, classes: tuple[ResidueClass, ...]) -> Floats:
        """Bound a window's overlap with each tree by the sum over the tree's residue classes."""
        slides, residues = (np.array(part) for part in zip(*classes, strict=True))
        pairs = pair_overlaps(
            (slides, residues, residues), (self._slides, self._residues, self._residues)
        )
        sums = np.zeros(len(self._trees))
        np.add.at(sums, self._owners, pairs.sum(axis=0))
        return sums * self._ticks

    def _add_classes(self, classes: Sequence[ResidueClass], tree_number: int) -> None:
        """Add the residue classes of a tree to the arrays."""
        slides, residues = np.array(classes, dtype=np.int64).T
        self._slides = np.append(self._slides, slides)
        self._residues = np.append(self._residues, residues)
        self._owners = np.append(self._owners, np.full(len(slides), tree_number))

    def _remove_classes(self, tree_number: int) -> None:
        """Remove the residue classes of a tree from the arrays."""
        others = self._owners != tree_number
        self._slides, self._residues = self._slides[others], self._residues[others]
        self._owners = self._owners[others]

    def _drop(self, tree_number: int) -> None:
        """Delete a tree of the woven plan; the numbers of later trees shift."""
        del self._trees[tree_number], self._encoded[tree_number]
        self._owners = self._owners - (self._owners > tree_number)

    def _price(self, edges: float, factor: float) -> float:
        """The cost of a tree with this edge rate and overlap factor."""
        return float(self._old.model.tree(float(edges), factor, self._old.rate))
