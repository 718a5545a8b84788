"""Incremental Weave Share: windows come and go, and the plan is woven anew only when it must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gingham.algebra.edges import EdgeRate, ResidueClass, edge_rate
from gingham.core.arrays import Floats, Ints
from gingham.core.errors import QueryError
from gingham.core.time import SECOND
from gingham.logical.window import Window
from gingham.optimizer.weave.edge_measures import Bits, Row, bits_for, pair_overlaps
from gingham.optimizer.weave.edge_sets import AnyWindow, read_windows
from gingham.optimizer.weave.weaver import NOTHING
from gingham.optimizer.weave.woven_plan import WovenPlan, WovenTree

Weave = Callable[[list[AnyWindow]], WovenPlan]

_FIRST_LOOK = 8
_MOST_LOOKS = 256  # trees that are measured for one change
_QUICK_CELLS = 50_000
_SPARE_TREES = 256  # that may join before bits need more memory than planned


@dataclass(frozen=True, eq=False)
class IncrementalPlan(WovenPlan):
    """A plan that windows join and leave; each change gives a new plan.

    The last plan that was woven from scratch tells what one of today would cost at least. Once a
    plan costs more than that by the tolerance, it is woven anew. Guirguis et al. (CIKM 2011),
    Section 5.2, extrapolate that cost by a slope; but every window more costs less than the one
    before, so that a slope promises too much, and plans stray from it by more than the tolerance.
    """

    tolerance: float = field(kw_only=True)
    from_scratch: Weave = field(kw_only=True, repr=False)
    scratch: tuple[int, float] = field(kw_only=True)  # windows and cost of the last plan from it
    rebuilds: int = field(default=0, kw_only=True)  # how often it was woven anew
    measure: Bits = field(kw_only=True, repr=False)
    rows: tuple[Row, ...] = field(kw_only=True, repr=False)
    classes: tuple[Ints, Ints, Ints] = field(kw_only=True, repr=False)  # slide, residue, tree
    size: int = field(kw_only=True)

    @property
    def least(self) -> float:
        """What a plan woven from scratch would cost at least.

        With more windows than then, as much as then; with fewer, its part of that.
        """
        size, cost = self.scratch
        return cost * min(1.0, self.size / size)

    def add(self, window: AnyWindow) -> IncrementalPlan:
        """Weave one more window in."""
        found = read_windows([window])
        if self.trees and isinstance(window, Window) != isinstance(
            self.trees[0].windows[0], Window
        ):
            read_windows([window, self.trees[0].windows[0]])  # says why not
        draft = _Draft(self)
        draft.grow(found.given[0], found.sets.classes(0), float(found.factors[0]))
        return draft.plan(self.size + 1)

    def remove(self, window: AnyWindow) -> IncrementalPlan:
        """Take one such window out."""
        place = next((i for i, tree in enumerate(self.trees) if window in tree.windows), None)
        if place is None:
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
        draft.shrink(place, window)
        return draft.plan(self.size - 1)


def incremental(plan: WovenPlan, tolerance: float, from_scratch: Weave) -> IncrementalPlan:
    """A plan that can be added to, from one woven from scratch."""
    if not tolerance >= 0:
        raise QueryError(
            f"a tolerance of {tolerance}",
            "it is the part by which a plan may cost more than expected, at least zero",
            "for example tolerance=0.2; math.inf for never weaving anew",
        )
    classes = [tree.classes for tree in plan.trees]
    size = sum(len(tree.windows) for tree in plan.trees)
    measure, rows = _measured(plan.trees, classes)
    return IncrementalPlan(
        plan.trees,
        plan.rate,
        "incremental",
        plan.notices,
        plan.operations,
        plan.model,
        tolerance=tolerance,
        from_scratch=from_scratch,
        scratch=(size, plan.cost),
        measure=measure,
        rows=rows,
        classes=_flat(classes),
        size=size,
    )


def _measured(
    trees: Sequence[WovenTree], classes: Sequence[tuple[ResidueClass, ...]]
) -> tuple[Bits, tuple[Row, ...]]:
    # All of them: a class within another one's still has its own period in a tree without that.
    every = list(dict.fromkeys(c for found in classes for c in found))
    measure = bits_for(every, len(trees) + _SPARE_TREES, _ticks(trees))
    return measure, tuple(measure.row(found) for found in classes)


def _flat(classes: Sequence[tuple[ResidueClass, ...]]) -> tuple[Ints, Ints, Ints]:
    owned = [(slide, residue, i) for i, found in enumerate(classes) for slide, residue in found]
    slides, residues, owners = np.array(owned, dtype=np.int64).T
    return slides, residues, owners


def _ticks(trees: Sequence[WovenTree]) -> int:
    return SECOND if isinstance(trees[0].windows[0], Window) else 1


class _Draft:
    """A plan while it changes."""

    def __init__(self, plan: IncrementalPlan) -> None:
        self._old = plan
        self._trees, self._rows = list(plan.trees), list(plan.rows)
        self._measure = plan.measure
        self._slides, self._residues, self._owners = plan.classes
        self._looked_at = 0
        self._ticks = _ticks(plan.trees)

    def grow(self, window: AnyWindow, classes: tuple[ResidueClass, ...], factor: float) -> None:
        """A new tree for the window, merged as long as that saves something."""
        if not self._measure.fits(classes):
            found = [tree.classes for tree in self._trees]
            self._measure, rows = _measured(self._trees, [*found, classes])
            self._rows = list(rows[:-1])
        own = EdgeRate(
            len(classes) / classes[0][0] * self._ticks, operations=1, how="slides of one window"
        )
        common = self._sums(classes)
        self._trees.append(WovenTree((window,), own, factor, self._price(own, factor)))
        self._rows.append(self._measure.row(classes))
        self._own(classes, len(self._trees) - 1)
        self._merge_while_better(len(self._trees) - 1, common)

    def shrink(self, place: int, window: AnyWindow) -> None:
        """Take the window out of its tree, and see whether that merges with another now."""
        tree = self._trees[place]
        found = list(tree.windows)
        found.remove(window)
        self._disown(place)
        if not found:
            self._drop(place)
            return
        left = WovenTree(tuple(found), tree.edge_rate, 0.0, 0.0)
        classes = left.classes
        rate = edge_rate(classes, most=_QUICK_CELLS)
        edges = EdgeRate(
            float(rate) * self._ticks,
            operations=rate.operations,
            how=rate.how,
            margin=rate.margin * self._ticks,
        )
        factor = tree.overlap_factor - float(read_windows([window]).factors[0])
        self._trees[place] = replace(
            left, edge_rate=edges, overlap_factor=factor, cost=self._price(edges, factor)
        )
        self._rows[place] = self._measure.row(classes)
        self._own(classes, place)
        self._merge_while_better(place, None)

    def plan(self, size: int) -> IncrementalPlan:
        """The changed plan; woven from scratch if it costs more than it should."""
        old = self._old
        plan = replace(
            old,
            trees=tuple(self._trees),
            operations=old.operations + self._looked_at,
            measure=self._measure,
            rows=tuple(self._rows),
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

    def _merge_while_better(self, place: int, common: Floats | None) -> None:
        """Merge the tree with the best other one, then what comes of it; common bounds the first.

        Places after `place` move down when it goes.
        """
        while (best := self._best_partner(place, common)) is not None:
            other, overlap = best
            one, two = self._trees[place], self._trees[other]
            self._disown(place)
            factor = one.overlap_factor + two.overlap_factor
            edges = self._united(one, two, overlap, self._rows[place], self._rows[other])
            self._rows[other] = self._measure.union((self._rows[other], self._rows[place]))
            self._own(one.classes, other)
            self._trees[other] = WovenTree(
                two.windows + one.windows, edges, factor, self._price(edges, factor)
            )
            self._drop(place)
            place, common = other - (other > place), None

    def _united(
        self, one: WovenTree, two: WovenTree, overlap: float, row: Row, other: Row
    ) -> EdgeRate:
        measure = self._measure
        if measure.exact:
            return EdgeRate(
                measure.rate(measure.union((row, other))), operations=1, how=measure.how
            )
        edges = float(one.edge_rate) + float(two.edge_rate) - overlap
        margin = measure.error * (edges / self._ticks) ** 0.5 * self._ticks
        return EdgeRate(edges, operations=1, how=measure.how, margin=margin)

    def _best_partner(self, place: int, common: Floats | None) -> tuple[int, float] | None:
        """The tree that merging with saves most, and what both have in common."""
        trees, old = self._trees, self._old
        if len(trees) < 2:
            return None
        edges = np.array([tree.edge_rate for tree in trees], dtype=np.float64)
        factors = np.array([tree.overlap_factor for tree in trees])
        costs = np.array([tree.cost for tree in trees])
        bounds = np.minimum(edges, edges[place])
        if common is not None:
            bounds[:-1] = np.minimum(bounds[:-1], common)

        def gains(others: Ints, overlaps: Floats) -> Floats:
            together = edges[others] + edges[place] - np.minimum(overlaps, bounds[others])
            price = old.model.tree(together, factors[others] + factors[place], old.rate)
            return costs[others] + costs[place] - price

        others = np.delete(np.arange(len(trees)), place)
        saves = gains(others, bounds[others])
        exact = np.zeros(len(others), dtype=bool)
        nothing = NOTHING * float(old.model.tree(0.0, 0.0, old.rate))
        batch, looks = _FIRST_LOOK, 0
        while True:
            best = int(np.argmax(saves))
            if saves[best] <= nothing:
                return None
            if exact[best]:
                return int(others[best]), float(bounds[others[best]])
            if looks >= _MOST_LOOKS:
                saves[~exact] = -np.inf
                continue
            order = np.argsort(np.where(exact, np.inf, -saves), kind="stable")[:batch]
            order = order[~exact[order]]
            which = others[order]
            found, error = self._measure.overlaps(self._rows[place], [self._rows[i] for i in which])
            limit = bounds[which]
            # Where a sample cannot tell them apart, the sum of exact parts is the better estimate.
            close = np.abs(limit - found) <= error
            bounds[which] = np.where(close, limit, np.minimum(found, limit))
            saves[order] = gains(which, bounds[which])
            exact[order] = True
            looks += len(which)
            self._looked_at += len(which)
            batch *= 2

    def _sums(self, classes: tuple[ResidueClass, ...]) -> Floats:
        """What a window has in common with each tree at most: the sum over the tree's classes."""
        lot = tuple(np.array(part) for part in zip(*classes, strict=True))
        slides, residues = lot
        pairs = pair_overlaps(
            (slides, residues, residues), (self._slides, self._residues, self._residues)
        )
        sums = np.zeros(len(self._trees))
        np.add.at(sums, self._owners, pairs.sum(axis=0))
        return sums * self._ticks

    def _own(self, classes: Sequence[ResidueClass], place: int) -> None:
        slides, residues = np.array(classes, dtype=np.int64).T
        self._slides = np.append(self._slides, slides)
        self._residues = np.append(self._residues, residues)
        self._owners = np.append(self._owners, np.full(len(slides), place))

    def _disown(self, place: int) -> None:
        kept = self._owners != place
        self._slides, self._residues = self._slides[kept], self._residues[kept]
        self._owners = self._owners[kept]

    def _drop(self, place: int) -> None:
        del self._trees[place], self._rows[place]
        self._owners = self._owners - (self._owners > place)

    def _price(self, edges: float, factor: float) -> float:
        return float(self._old.model.tree(float(edges), factor, self._old.rate))
