"""Sketch the rows of relations, and estimate queries from the sketches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gingham.core.arrays import Floats, Ints
from gingham.core.errors import AnswerError, GinghamError
from gingham.estimates.algebra.counters import overflow
from gingham.estimates.algebra.median_of_means import Estimate, median_of_means
from gingham.estimates.algebra.relation_rows import RelationRows
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.algebra.vertex import Factor


@dataclass(frozen=True, slots=True)
class Sketches:
    """The counters of a plan's sketches, by vertex; sketches of parts of the rows can be added.

    `fingerprint` is that of the plan; `kinds` has the kind of join keys by xi family.
    """

    fingerprint: str
    counters: Mapping[int, Ints]
    kinds: Mapping[int, str]

    def __add__(self, other: Sketches) -> Sketches:
        return self._add(other, 1)

    def __sub__(self, other: Sketches) -> Sketches:
        return self._add(other, -1)

    def _add(self, other: Sketches, sign: int) -> Sketches:
        """Add or subtract the counters of sketches of the same plan."""
        if self.fingerprint != other.fingerprint:
            raise GinghamError(
                "sketches of two different plans",
                "their counters are on different random signs or of different sizes",
                "add sketches that were made with the same plan",
            )
        counters = dict(self.counters)
        for vertex, added in other.counters.items():
            present = counters.get(vertex)
            signed = sign * added
            counters[vertex] = signed if present is None else _add_counters(present, signed)
        return Sketches(self.fingerprint, counters, _same_kinds(self.kinds, other.kinds))


def empty(plan: SharingPlan) -> Sketches:
    """Make the sketches of no rows."""
    return Sketches(plan.fingerprint, {}, {})


def sketch(
    plan: SharingPlan,
    relation: str,
    keys: Mapping[str, npt.ArrayLike],
    *,
    counts: npt.ArrayLike | None = None,
    sums: Mapping[str, npt.ArrayLike] | None = None,
    fragments: npt.ArrayLike | None = None,
    grouped: bool = False,
) -> Sketches:
    """Sketch rows of a relation for all join queries of a plan.

    A row may stand for many: `counts` says how many, negative if they are deleted; `sums` has
    their measures added up, negative likewise. `fragments` has the fragment of each row. Rows
    whose key is NULL join nothing. `grouped` says that no two rows agree in all keys.
    """
    vertices = plan.of(relation)
    if not vertices:
        return empty(plan)
    rows = RelationRows.of(vertices, keys, counts, sums, fragments, grouped=grouped)
    counters: dict[int, Ints] = {}
    kinds: dict[int, str] = {}
    for vertex in vertices:
        counters[vertex.number] = rows.count(plan, vertex)[1][0]
        pairs = zip(vertex.families, vertex.attributes, strict=True)
        vertex_kinds = {f: kind for f, a in pairs if (kind := rows.keys[a].kind)}
        kinds = _same_kinds(kinds, vertex_kinds if rows.size else {})
    return Sketches(plan.fingerprint, counters, kinds)


def truncate(sketches: Sketches, plan: SharingPlan, smaller: SharingPlan) -> Sketches:
    """Drop copies, so that the sketches of a plan fit one of the same vertices and fewer words."""
    sizes = (
        zip(plan.words, smaller.words, strict=True)
        if plan.vertices == smaller.vertices
        else [(0, 1)]
    )
    if (
        sketches.fingerprint != plan.fingerprint
        or plan.seed != smaller.seed
        or any(before < after for before, after in sizes)
    ):
        raise GinghamError(
            "sketches that do not contain those of the other plan",
            "it has other vertices, another seed or more words",
            "sketch the rows again, or make the plan with plan.within(...)",
        )
    counters = {v: counters[: smaller.words[v]] for v, counters in sketches.counters.items()}
    return Sketches(smaller.fingerprint, counters, sketches.kinds)


def estimate(
    plan: SharingPlan, sketches: Sketches, query: str, confidence: float = 0.95
) -> Estimate:
    """Estimate the answer of a join query from sketches, with an interval."""
    return median_of_means(samples(plan, sketches, query), confidence, plan.space(query))


def samples(plan: SharingPlan, sketches: Sketches, query: str) -> Floats:
    """Compute independent unbiased estimates of a join query from sketches: one for each copy."""
    if plan.fingerprint != sketches.fingerprint:
        raise GinghamError(
            "sketches of another plan", "their sizes and signs differ", "use the plan they are of"
        )
    copies = plan.copies[query]
    product = np.ones(copies)
    for factor in plan.factors[query]:
        product *= _combine_sketches(factor, sketches, copies)
    return product


def _combine_sketches(factor: Factor, sketches: Sketches, copies: int) -> Floats:
    """Add up the sketches of a factor of a join estimate, each by its coefficient."""
    total = np.zeros(copies, dtype=np.int64)
    for vertex, times in factor:
        counters = sketches.counters.get(vertex)
        if counters is None:
            continue
        # Compared as Python integers, which do not overflow.
        if abs(times) * int(np.abs(counters).max()) >= 2**63:
            raise overflow()
        total = _add_counters(total, times * counters[:copies])
    return total.astype(np.float64)


def _add_counters(one: Ints, other: Ints) -> Ints:
    """Add counters of sketches; raise if a sum overflows 64 bits."""
    total = one + other
    if (((one ^ total) & (other ^ total)) < 0).any():
        raise overflow()
    return total


def _same_kinds(one: Mapping[int, str], other: Mapping[int, str]) -> dict[int, str]:
    """Combine the kinds of join keys by xi family; raise if keys of one family differ in kind."""
    for number in one.keys() & other.keys():
        if one[number] != other[number]:
            raise AnswerError(
                f"a {one[number]} is joined with a {other[number]}",
                "equal keys of different types are sketched differently",
                "cast both sides of the join to one type",
            )
    return {**one, **other}
