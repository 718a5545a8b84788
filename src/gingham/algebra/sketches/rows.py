"""Rows to sketches, and sketches to estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gingham.algebra.sketches.counters import Counters, check_magnitude, count, overflow
from gingham.algebra.sketches.estimate import Estimate, median_of_means
from gingham.algebra.sketches.fragments import Factor, Vertex
from gingham.algebra.sketches.keys import Keys, encode
from gingham.algebra.sketches.plan import SharingPlan
from gingham.algebra.sketches.xi import Words, family
from gingham.core.errors import AnswerError, GinghamError

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sketches:
    """Counters by vertex, for one plan; those of parts add up to those of the whole, exactly.

    `kinds` are the types of keys by xi family.
    """

    fingerprint: str
    counters: Mapping[int, Counters]
    kinds: Mapping[int, str]

    def __add__(self, other: Sketches) -> Sketches:
        return self._joined(other, 1)

    def __sub__(self, other: Sketches) -> Sketches:
        return self._joined(other, -1)

    def _joined(self, other: Sketches, sign: int) -> Sketches:
        if self.fingerprint != other.fingerprint:
            raise GinghamError(
                "sketches of two different plans",
                "their counters are on different random signs or of different sizes",
                "add sketches that were made with the same plan",
            )
        counters = dict(self.counters)
        for vertex, its in other.counters.items():
            mine = counters.get(vertex)
            signed = sign * its
            counters[vertex] = signed if mine is None else _added(mine, signed)
        return Sketches(self.fingerprint, counters, _same_kinds(self.kinds, other.kinds))


def empty(plan: SharingPlan) -> Sketches:
    """The sketches of no rows."""
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
    """Sketch rows of a relation for all queries of a plan.

    A row may stand for many: `counts` says how many, negative if they are deleted; `sums` has
    their measures added up, negative likewise. `fragments` has the fragment of each row. Rows
    whose key is NULL join nothing. `grouped` says that no two rows have all their keys alike.
    """
    mine = [vertex for vertex in plan.vertices if vertex.relation == relation]
    if not mine:
        return empty(plan)
    wanted = dict.fromkeys(attribute for vertex in mine for attribute in vertex.attributes)
    _all_there(relation, "join attribute", wanted, keys)
    columns = {attribute: encode(keys[attribute]) for attribute in wanted}
    size = len(columns[next(iter(wanted))].words)
    for attribute, column in columns.items():
        if len(column.words) != size:
            raise GinghamError(
                f"{relation}.{attribute} has {len(column.words)} keys for {size} rows",
                "every row has a key in every column",
                "columns of the same length, NULL where there is no key",
            )
    rows = _whole("counts", np.ones(size, np.int64) if counts is None else counts, size)
    measured = {name: _whole(name, values, size) for name, values in (sums or {}).items()}
    _all_there(relation, "measure", {v.measure: None for v in mine if v.measure}, measured)
    if fragments is None and any(vertex.coefficients for vertex in mine):
        raise GinghamError(
            f"rows of {relation} without fragments",
            "queries select some of its rows",
            "give the number of each row's fragment",
        )
    parts = None if fragments is None else _whole("fragments", fragments, size)

    groupings: dict[tuple[str, ...], _Grouping] = {}
    counters: dict[int, Counters] = {}
    for vertex in mine:
        attributes = tuple(dict.fromkeys(vertex.attributes))
        if attributes not in groupings:
            alone = grouped and set(attributes) == set(keys)
            groupings[attributes] = _Grouping.of([columns[a] for a in attributes], alone=alone)
        grouping = groupings[attributes]
        values = rows if vertex.measure is None else measured[vertex.measure]
        frequencies = grouping.add(_selected(vertex, values, parts))
        copies = plan.words[vertex.number]
        counters[vertex.number] = count(
            [family(plan.seed, number, copies) for number in vertex.families],
            [grouping.keys[attributes.index(a)] for a in vertex.attributes],
            frequencies,
        )
    kinds: dict[int, str] = {}
    for vertex in mine:
        pairs = zip(vertex.families, vertex.attributes, strict=True)
        kinds = _same_kinds(kinds, {f: columns[a].kind for f, a in pairs} if size else {})
    return Sketches(plan.fingerprint, counters, kinds)


def cut(sketches: Sketches, plan: SharingPlan, to: SharingPlan) -> Sketches:
    """The same sketches with fewer copies, as a plan with the same vertices wants them."""
    fits = zip(plan.words, to.words, strict=True) if plan.vertices == to.vertices else [(0, 1)]
    if (
        sketches.fingerprint != plan.fingerprint
        or plan.seed != to.seed
        or any(have < want for have, want in fits)
    ):
        raise GinghamError(
            "sketches that do not contain those of the other plan",
            "it has other vertices, another seed or more words",
            "sketch the rows again, or make the plan with plan.within(...)",
        )
    counters = {v: counters[: to.words[v]] for v, counters in sketches.counters.items()}
    return Sketches(to.fingerprint, counters, sketches.kinds)


def estimate(
    plan: SharingPlan, sketches: Sketches, query: str, confidence: float = 0.95
) -> Estimate:
    """What a query answers, as far as sketches know."""
    return median_of_means(samples(plan, sketches, query), confidence, plan.space(query))


def samples(plan: SharingPlan, sketches: Sketches, query: str) -> npt.NDArray[np.float64]:
    """Independent estimates, each right on average: one for each copy."""
    if plan.fingerprint != sketches.fingerprint:
        raise GinghamError(
            "sketches of another plan", "their sizes and signs differ", "use the plan they are of"
        )
    copies = plan.copies[query]
    product = np.ones(copies)
    for factor in plan.factors[query]:
        product *= _combined(factor, sketches, copies)
    return product


def _combined(factor: Factor, sketches: Sketches, copies: int) -> npt.NDArray[np.float64]:
    total = np.zeros(copies, dtype=np.int64)
    for vertex, times in factor:
        counters = sketches.counters.get(vertex)
        if counters is None:
            continue
        # Python's integers know what 64 bits do not hold.
        if abs(times) * int(np.abs(counters).max()) >= 2**63:
            raise overflow()
        total = _added(total, times * counters[:copies])
    return total.astype(np.float64)


def _added(one: Counters, other: Counters) -> Counters:
    total = one + other
    if (((one ^ total) & (other ^ total)) < 0).any():
        raise overflow()
    return total


def _same_kinds(one: Mapping[int, str], other: Mapping[int, str]) -> dict[int, str]:
    for number in one.keys() & other.keys():
        if one[number] != other[number]:
            raise AnswerError(
                f"a {one[number]} is joined with a {other[number]}",
                "equal keys of different types are sketched differently",
                "cast both sides of the join to one type",
            )
    return {**one, **other}


def _all_there(
    relation: str, what: str, wanted: Mapping[str, None], given: Mapping[str, object]
) -> None:
    missing = [name for name in wanted if name not in given]
    if missing:
        raise GinghamError(
            f"rows of {relation} without {what} {', '.join(missing)}",
            "queries of the plan need it",
            f"a column for each of {', '.join(wanted)}",
        )


def _whole(name: str, values: npt.ArrayLike, size: int) -> Whole:
    found = np.asarray(values)
    if found.dtype.kind not in "iub" or len(found) != size:
        raise AnswerError(
            f"{name}: {len(found)} values of type {found.dtype} for {size} rows",
            "counters are whole numbers, so that sums of parts are exact",
            "one whole number for each row; scale decimals, round floats",
        )
    if found.dtype.kind == "u" and (found > np.uint64(2**63 - 1)).any():
        raise overflow()
    return found.astype(np.int64)


def _selected(vertex: Vertex, values: Whole, fragments: Whole | None) -> Whole:
    if not vertex.coefficients:
        return values * vertex.otherwise
    assert fragments is not None
    numbers = np.array([fragment for fragment, _ in vertex.coefficients], dtype=np.int64)
    times = np.array([time for _, time in vertex.coefficients], dtype=np.int64)
    place = np.minimum(np.searchsorted(numbers, fragments), len(numbers) - 1)
    factor = np.where(numbers[place] == fragments, times[place], vertex.otherwise)
    largest = max(1, int(np.abs(factor).max(initial=1)))
    if largest > 1 and np.abs(values.astype(np.float64)).max(initial=0) * largest >= 2**62:
        raise overflow()
    return values * factor


@dataclass(frozen=True, slots=True)
class _Grouping:
    """Different combinations of keys, and which rows have each."""

    keys: Sequence[Words]
    order: npt.NDArray[np.intp] | None
    starts: npt.NDArray[np.intp]

    @classmethod
    def of(cls, columns: Sequence[Keys], *, alone: bool) -> _Grouping:
        """Rows with a NULL are left out; `alone` says that all combinations differ."""
        present = np.logical_and.reduce([column.present for column in columns])
        order = np.flatnonzero(present)
        words = [column.words[order] for column in columns]
        if alone:
            return cls(words, order, np.arange(len(order)))
        sorting = np.lexsort(words)
        words = [column[sorting] for column in words]
        new = np.ones(len(sorting), dtype=np.bool_)
        if len(sorting):
            new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in words])
        starts = np.flatnonzero(new)
        return cls([column[starts] for column in words], order[sorting], starts)

    def add(self, values: Whole) -> Whole:
        """Sums of values by combination."""
        ordered = values[self.order]
        check_magnitude(ordered)
        return np.add.reduceat(ordered, self.starts) if len(self.starts) else ordered
