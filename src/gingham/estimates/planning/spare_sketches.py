"""Sketches of a plan that go on without the queries that raise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gingham.core.arrays import Ints
from gingham.estimates.algebra import Vertex
from gingham.estimates.planning.sketch_plan import BoundJoin, Fragments, Pass, SketchPlan
from gingham.logical.predicate import Attribute


def without(plan: SketchPlan, raised: Collection[str]) -> tuple[SketchPlan, frozenset[str]]:
    """What is sketched from now on, and which queries have to go with those that raised.

    Sketches that are left are made as before, so they add up with older ones, but nothing is
    evaluated that only queries that raised have written:

        count of r, sum(f(x)) of r WHERE g(y)    the sum raises ->    count of r, no f, no g

    A query has to go if the rows that it reads cannot be told without such a condition.
    """
    kept = [query for query in plan.queries if query.name not in raised]
    cells = {one.relation: _Cells.of(one, kept) for one in plan.passes}
    sharing = plan.sharing
    uses = {
        query.name: {vertex for factor in sharing.factors[query.name] for vertex, _ in factor}
        for query in kept
    }
    untold = {v.number for v in sharing.vertices if not cells[v.relation].tell(v)}
    gone = frozenset(name for name, used in uses.items() if used & untold)
    needed = {vertex for name, used in uses.items() if name not in gone for vertex in used}
    # Words are found by the number of a sketch, which stays.
    left = tuple(vertex for vertex in sharing.vertices if vertex.number in needed)
    passes = tuple(
        _narrowed(one, own, cells[one.relation].fragments)
        for one in plan.passes
        if (own := [vertex for vertex in left if vertex.relation == one.relation])
    )
    return replace(plan, sharing=replace(sharing, vertices=left), passes=passes), gone


def _narrowed(one: Pass, vertices: Sequence[Vertex], fragments: Fragments) -> Pass:
    attributes = {attribute for vertex in vertices for attribute in vertex.attributes}
    measures = {vertex.measure for vertex in vertices}
    return replace(
        one,
        attributes=tuple(a for a in one.attributes if a in attributes),
        measures=tuple(m for m in one.measures if m in measures),
        fragments=fragments,
    )


@dataclass(frozen=True)
class _Cells:
    """The fragments of all cells, and of those that are left if some axes are not looked at."""

    every: Ints  # a dimension for each axis
    first: Ints  # of length one where an axis is not looked at
    fragments: Fragments

    @classmethod
    def of(cls, one: Pass, queries: Sequence[BoundJoin]) -> _Cells:
        axes, known = one.fragments.axes, _attributes(one.relation, queries)
        if not one.fragments.of_cells:
            nothing = np.zeros(0, dtype=np.int64)
            return cls(nothing, nothing, one.fragments)
        every = np.array(one.fragments.of_cells).reshape([axis.size for axis in axes])
        first = every[tuple(slice(None if a.attribute in known else 1) for a in axes)]
        looked_at = tuple(axis for axis in axes if axis.attribute in known)
        return cls(every, first, Fragments(looked_at, tuple(first.ravel().tolist())))

    def tell(self, vertex: Vertex) -> bool:
        """Whether rows count as often as before."""
        times, fragments = dict(vertex.coefficients), range(self.every.max(initial=-1) + 1)
        # The last is that of fragment -1, of rows that nobody wants.
        counts = np.array([*(times.get(f, vertex.otherwise) for f in fragments), 0])
        return bool((counts[self.every] == counts[self.first]).all())


def _attributes(relation: str, queries: Sequence[BoundJoin]) -> set[Attribute]:
    """What the queries look at to select rows of a relation."""
    return {
        attribute
        for query in queries
        for alias, condition in query.conditions.items()
        if query.query.relations[alias] == relation
        for attribute in condition.attributes
    }
