"""Drop failing queries from a plan without touching the sketches of the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gingham.core.arrays import Ints
from gingham.estimates.algebra import Vertex
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.sketch_plan import FragmentGrid, RelationPass, SketchPlan
from gingham.logical.predicate import Attribute


class ReducedPlan(NamedTuple):
    """A plan of sketches without failing queries, and the queries that are lost with them."""

    plan: SketchPlan
    lost: frozenset[str]


def drop_queries(plan: SketchPlan, failing: Collection[str]) -> ReducedPlan:
    """Drop failing join queries from a plan, with all expressions that only they contain.

    The sketches that are left are computed as before, so they add up with older ones:

        count of r, sum(f(x)) of r WHERE g(y)    the sum fails ->    count of r, no f, no g

    Another query is lost too if its rows cannot be selected without a dropped condition.
    """
    remaining = [query for query in plan.queries if query.name not in failing]
    cells = {step.relation: _Cells.of(step, remaining) for step in plan.passes}
    sharing = plan.sharing
    uses = {
        query.name: {
            vertex
            for part in query.parts
            for factor in sharing.factors[part]
            for vertex, _ in factor
        }
        for query in remaining
    }
    changed = {v.number for v in sharing.vertices if not cells[v.relation].preserve(v)}
    lost = frozenset(name for name, used in uses.items() if used & changed)
    needed = {vertex for name, used in uses.items() if name not in lost for vertex in used}
    # Sketches keep their numbers: words are found by them.
    vertices = tuple(vertex for vertex in sharing.vertices if vertex.number in needed)
    passes = tuple(
        _narrow_pass(step, own, cells[step.relation].fragments)
        for step in plan.passes
        if (own := [vertex for vertex in vertices if vertex.relation == step.relation])
    )
    return ReducedPlan(
        replace(plan, sharing=replace(sharing, vertices=vertices), passes=passes), lost
    )


def _narrow_pass(
    step: RelationPass, vertices: Sequence[Vertex], fragments: FragmentGrid
) -> RelationPass:
    """Reduce a pass over a relation to the columns that these sketches need."""
    attributes = {attribute for vertex in vertices for attribute in vertex.attributes}
    measures = {vertex.measure for vertex in vertices}
    return replace(
        step,
        attributes=tuple(a for a in step.attributes if a in attributes),
        measures=tuple(m for m in step.measures if m in measures),
        fragments=fragments,
    )


@dataclass(frozen=True)
class _Cells:
    """The fragments of a grid's cells, before and after some axes are dropped.

    A dropped axis has one interval left, the first: all rows are numbered as if they were in it.
    """

    before: Ints  # a dimension for each axis
    after: Ints  # of length one along dropped axes
    fragments: FragmentGrid  # over the axes that are left

    @classmethod
    def of(cls, step: RelationPass, queries: Sequence[BoundJoin]) -> _Cells:
        """Drop the axes of attributes that no selection of these queries mentions."""
        axes, needed = step.fragments.axes, _attributes(step.relation, queries)
        if not step.fragments.cell_fragments:
            nothing = np.zeros(0, dtype=np.int64)
            return cls(nothing, nothing, step.fragments)
        before = np.array(step.fragments.cell_fragments).reshape([axis.size for axis in axes])
        after = before[tuple(slice(None if a.attribute in needed else 1) for a in axes)]
        left = tuple(axis for axis in axes if axis.attribute in needed)
        return cls(before, after, FragmentGrid(left, tuple(after.ravel().tolist())))

    def preserve(self, vertex: Vertex) -> bool:
        """Whether every row counts as often in this sketch as before axes were dropped."""
        times, fragments = dict(vertex.coefficients), range(self.before.max(initial=-1) + 1)
        # The last entry is that of fragment -1: rows that no query selects.
        counts = np.array([*(times.get(f, vertex.otherwise) for f in fragments), 0])
        return bool((counts[self.before] == counts[self.after]).all())


def _attributes(relation: str, queries: Sequence[BoundJoin]) -> set[Attribute]:
    """The attributes that the queries' selections of a relation compare with constants."""
    return {
        attribute
        for query in queries
        for alias, condition in query.conditions.items()
        if query.query.relations[alias] == relation
        for attribute in condition.attributes
    }
