"""The plan of all join aggregates: shared sketches, and one pass over each relation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from gingham.algebra.edges import ResidueClass, normalized
from gingham.core.arrays import Ints
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.logical.predicate import Axis


@dataclass(frozen=True, slots=True)
class FragmentGrid:
    """The grid of a relation's selections, with the number of the fragment of each cell.

    A fragment is all cells that satisfy the same selections. Rows in cells of fragment -1 satisfy
    none and are left out.
    """

    axes: tuple[Axis, ...] = ()
    cell_fragments: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of fragments of a relation that are sketched."""
        return max(self.cell_fragments, default=-1) + 1


@dataclass(frozen=True, slots=True)
class RelationPass:
    """One pass over a relation: the columns by which rows are grouped before they are sketched.

    `attributes` and `measures` are SQL over the relation, all that any of its sketches needs.
    `sliced` says whether rows are also grouped by slice. `changes` is SQL of how many rows a row
    adds, negative if it says that rows were deleted; without it every row adds itself.
    """

    relation: str
    attributes: tuple[str, ...]
    measures: tuple[str, ...]
    fragments: FragmentGrid
    sliced: bool
    changes: str | None = None


@dataclass(frozen=True, slots=True)
class SketchTree:
    """Join queries whose sketches of streams are cut into the same slices.

    Slices begin at `edges`, those of all windows of its queries; without edges, rows are in one
    slice whatever their time. `vertices` are the numbers of its sketches: no tree shares one with
    another.
    """

    queries: tuple[str, ...]
    edges: tuple[ResidueClass, ...]
    vertices: range

    def starts(self, instants: Ints) -> Ints:
        """The starts of the slices that instants are in."""
        return reduce(np.maximum, (instants - (instants - r) % s for s, r in self.edges))


@dataclass(frozen=True)  # no slots: what is derived is kept once computed
class SketchPlan:
    """The plan of all join aggregates: their sketches, and one pass over each relation."""

    queries: tuple[BoundJoin, ...]
    sharing: SharingPlan
    passes: tuple[RelationPass, ...]
    trees: tuple[SketchTree, ...]
    notices: tuple[str, ...]

    @property
    def sliced(self) -> frozenset[str]:
        """The relations whose sketches are cut into slices."""
        return frozenset(step.relation for step in self.passes if step.sliced)

    @cached_property
    def edges(self) -> tuple[ResidueClass, ...]:
        """The edges of all trees, at which rows are cut before they are sketched."""
        return normalized(edge for tree in self.trees for edge in tree.edges)
