"""Woven plans: which windows share a tree of slices, and what the trees cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from gingham.algebra.edges import EdgeRate, ResidueClass, edge_rate, normalized
from gingham.core.time import SECOND
from gingham.logical.window import Window
from gingham.optimizer.weave.edge_sets import AnyWindow
from gingham.optimizer.weave.tree_cost import Cost, Operations


@dataclass(frozen=True, slots=True)
class WovenTree:
    """Windows that share one set of slices."""

    windows: tuple[AnyWindow, ...]
    edge_rate: EdgeRate  # per unit of time
    overlap_factor: float
    cost: float

    @property
    def classes(self) -> tuple[ResidueClass, ...]:
        """The residue classes of the tree's edges."""
        return normalized(c for window in set(self.windows) for c in window_classes(window))


@dataclass(frozen=True)
class WovenPlan:
    """A partition of windows into trees, with its cost and how it was found."""

    trees: tuple[WovenTree, ...]
    rate: float
    method: str
    notices: tuple[str, ...] = ()
    operations: int = 0  # pairs of trees, or edges, that the search compared
    model: Cost = field(default_factory=Operations)

    @cached_property
    def cost(self) -> float:
        """The cost of all trees of the woven plan together."""
        return sum(tree.cost for tree in self.trees)

    @property
    def windows(self) -> Iterator[AnyWindow]:
        """All windows of the woven plan, tree by tree."""
        return (window for tree in self.trees for window in tree.windows)

    def weaveability(self, one: int, other: int) -> float:
        """The common edges of two trees of the woven plan as a part of all their edges."""
        return weaveability(self.trees[one], self.trees[other])

    def saving(self, one: int, other: int) -> float:
        """What merging two trees of the woven plan would save; negative if cheaper apart."""
        a, b = self.trees[one], self.trees[other]
        factor = a.overlap_factor + b.overlap_factor
        return a.cost + b.cost - self.model.tree(_rate_together(a, b), factor, self.rate)

    def __str__(self) -> str:
        head = f"{self.method}: {len(self.trees)} trees, cost {self.cost:,.6g}"
        return "\n".join((head, *self.notices))


def weaveability(one: WovenTree, other: WovenTree) -> float:
    """Compute the common edges of two trees as a part of all their edges: 1 if they are equal.

    Guirguis et al. (CIKM 2011), Definition 1.
    """
    together = _rate_together(one, other)
    apart = _rate_per_unit(one.classes, one) + _rate_per_unit(other.classes, other)
    return max(0.0, apart / together - 1)


def window_classes(window: AnyWindow) -> tuple[ResidueClass, ...]:
    """The residue classes of a window's edges; a window given as a pair starts at instant zero.

    >>> window_classes((12, 9)), window_classes((10, 5))
    (((9, 0), (9, 3)), ((5, 0),))
    """
    if isinstance(window, Window):
        return window.classes
    range_, slide = int(window[0]), int(window[1])
    return ((slide, 0), (slide, range_ % slide)) if range_ % slide else ((slide, 0),)


def _rate_together(one: WovenTree, other: WovenTree) -> float:
    """The edge rate of a woven tree of the windows of both trees."""
    return _rate_per_unit((*one.classes, *other.classes), one)


def _rate_per_unit(classes: tuple[ResidueClass, ...], tree: WovenTree) -> float:
    """The edge rate of a woven tree with these residue classes, per unit of time."""
    ticks = SECOND if isinstance(tree.windows[0], Window) else 1
    return float(edge_rate(classes)) * ticks
