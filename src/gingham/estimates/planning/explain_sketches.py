"""A plan of sketches as text."""

from __future__ import annotations

from collections.abc import Iterator

from gingham.estimates.algebra import Vertex
from gingham.estimates.planning.sketch_plan import Pass, SketchPlan
from gingham.plan.slices import periodic

_LISTED = 6


def explain_sketches(plan: SketchPlan) -> str:
    """Which sketches there are, how large they are, and who reads them."""
    return "\n".join(_lines(plan))


def _lines(plan: SketchPlan) -> Iterator[str]:
    sharing = plan.sharing
    yield (
        f"{len(plan.queries)} queries, {len(sharing.vertices)} sketches of {sum(sharing.words):,} "
        f"words for the least {sharing.metric} error, one pass over each relation"
    )
    if plan.edges:
        found = periodic(plan.edges)
        how = str(found) if found else "listed around the data, panes beyond: the pattern is long"
        yield f"  slices: {how}; every slice has sketches of this size"
    for one in plan.passes:
        yield f"  {_pass(one)}"
        for vertex in sharing.of(one.relation):
            yield f"    {_vertex(vertex, plan)}"
    for query in plan.queries:
        name = query.name
        yield (
            f"  {name}: {sharing.space(name):,} words, {sharing.copies[name]:,} copies, "
            f"weight {sharing.weights[name]:.3g}"
        )
    for notice in plan.notices:
        yield f"  notice: {notice}"


def _pass(one: Pass) -> str:
    parts = [f"{one.relation}: rows grouped by {', '.join(one.attributes)}"]
    if one.sliced:
        parts.append("slice")
    if one.fragments.of_cells:
        over = " x ".join(axis.attribute.sql for axis in one.fragments.axes) or "all rows"
        parts.append(f"{one.fragments.count} fragments of {over}")
    return ", ".join(parts)


def _vertex(vertex: Vertex, plan: SketchPlan) -> str:
    sharing = plan.sharing
    users = [
        query
        for query, factors in sharing.factors.items()
        if any(vertex.number == number for factor in factors for number, _ in factor)
    ]
    listed = ", ".join(users[:_LISTED]) + (", ..." if len(users) > _LISTED else "")
    what = f"sum({vertex.measure})" if vertex.measure else "count"
    of = " of some fragments" if vertex.coefficients else ""
    words = sharing.words[vertex.number]
    return f"{what} by {', '.join(vertex.attributes)}{of}: {words:,} words for {listed}"
