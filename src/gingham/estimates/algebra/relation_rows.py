"""The rows of a relation as columns: checked, grouped by join keys, sketched slice by slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt

from gingham.core.arrays import Ints, Positions, Words
from gingham.core.errors import AnswerError, GinghamError
from gingham.estimates.algebra.counters import check_magnitude, count_slices, overflow
from gingham.estimates.algebra.join_keys import KeyColumn, encode_keys
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.algebra.signs import family_seeds
from gingham.estimates.algebra.vertex import Vertex

# 2^64 over the golden ratio: an odd multiplier that spreads bits (Fibonacci hashing).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class RelationRows:
    """Rows of a relation: join keys by attribute, counts, sums by measure, fragments and slices.

    A row may stand for many with equal keys. No two rows of a slice agree in all of `distinct`,
    unless that is empty.
    """

    keys: Mapping[str, KeyColumn]
    counts: Ints
    sums: Mapping[str, Ints]
    fragments: Ints | None
    slices: Ints | None
    distinct: frozenset[str]
    groupings: dict[tuple[str, ...], Grouping] = field(
        default_factory=dict[tuple[str, ...], "Grouping"]
    )

    @classmethod
    def of(
        cls,
        vertices: Sequence[Vertex],
        keys: Mapping[str, npt.ArrayLike],
        counts: npt.ArrayLike | None = None,
        sums: Mapping[str, npt.ArrayLike] | None = None,
        fragments: npt.ArrayLike | None = None,
        slices: npt.ArrayLike | None = None,
        *,
        grouped: bool = False,
    ) -> RelationRows:
        """Check that columns have all that sketches of a relation need, and encode join keys.

        `grouped` says that no two rows of a slice agree in all keys.
        """
        relation = vertices[0].relation
        needed = dict.fromkeys(attribute for vertex in vertices for attribute in vertex.attributes)
        _refuse_missing(relation, "join attribute", needed, keys)
        columns = {attribute: encode_keys(keys[attribute]) for attribute in needed}
        size = len(next(iter(columns.values())).words)
        for attribute, column in columns.items():
            if len(column.words) != size:
                raise GinghamError(
                    f"{relation}.{attribute} has {len(column.words)} keys for {size} rows",
                    "every row has a key in every column",
                    "columns of the same length, NULL where there is no key",
                )
        measured = {name: _integers(name, values, size) for name, values in (sums or {}).items()}
        measures = {v.measure: None for v in vertices if v.measure}
        _refuse_missing(relation, "measure", measures, measured)
        if fragments is None and any(vertex.coefficients for vertex in vertices):
            raise GinghamError(
                f"rows of {relation} without fragments",
                "queries select some of its rows",
                "give the number of each row's fragment",
            )
        return cls(
            keys=columns,
            counts=_integers("counts", np.ones(size, np.int64) if counts is None else counts, size),
            sums=measured,
            fragments=None if fragments is None else _integers("fragments", fragments, size),
            slices=None if slices is None else _integers("slices", slices, size),
            distinct=frozenset(keys) if grouped else frozenset(),
        )

    @property
    def size(self) -> int:
        """The number of rows to sketch."""
        return len(self.counts)

    def count(self, plan: SharingPlan, vertex: Vertex) -> tuple[Ints, Ints]:
        """Compute a sketch's counters: the slices that have rows, a row of counters for each.

        Where rows are not cut into slices, there is one slice, even if there are no rows.
        """
        attributes = tuple(dict.fromkeys(vertex.attributes))
        if attributes not in self.groupings:
            self.groupings[attributes] = self._grouped(attributes)
        grouping = self.groupings[attributes]
        values = self.counts if vertex.measure is None else self.sums[vertex.measure]
        copies = plan.words[vertex.number]
        counters = count_slices(
            [family_seeds(plan.seed, number, copies) for number in vertex.families],
            [grouping.keys[attributes.index(a)] for a in vertex.attributes],
            grouping.add(_multiplied(vertex, values, self.fragments)),
            grouping.bounds,
        )
        return grouping.slices, counters

    def _grouped(self, attributes: tuple[str, ...]) -> Grouping:
        """Group the rows to sketch by their join keys of these attributes."""
        columns = [self.keys[attribute] for attribute in attributes]
        distinct = self.distinct == frozenset(attributes)
        return Grouping.of(columns, self.slices, distinct=distinct)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The different combinations of join keys in each slice, and the rows that have each."""

    keys: Sequence[Words]
    order: Positions  # all rows, sorted by slice and combination
    starts: Positions  # the first row of each combination, in that order
    slices: Ints
    bounds: Positions  # the first combination of each slice

    @classmethod
    def of(cls, columns: Sequence[KeyColumn], slices: Ints | None, *, distinct: bool) -> Grouping:
        """Group rows without NULL by join keys; `distinct` if no combination repeats in a slice."""
        present = reduce(np.logical_and, (column.present for column in columns))
        order = np.flatnonzero(present)
        keys = [column.words[order] for column in columns]
        sliced = [] if slices is None else [slices[order].view(np.uint64)]
        # Equal keys must stand together, in any order. Where hashes collide, a combination may be
        # listed twice: its counters add up to the same.
        by = [*([] if distinct else [_hash_keys(keys)]), *sliced]
        if by:
            sorting = np.lexsort(by) if len(by) > 1 else np.argsort(by[0])
            keys, sliced = ([column[sorting] for column in part] for part in (keys, sliced))
            order = order[sorting]
        starts = np.arange(len(order)) if distinct else _key_changes([*keys, *sliced])
        keys, sliced = ([column[starts] for column in part] for part in (keys, sliced))
        bounds = _key_changes(sliced) if sliced else np.zeros(1, np.intp)
        return cls(
            keys=keys,
            order=order,
            starts=starts,
            slices=sliced[0][bounds].view(np.int64) if sliced else np.zeros(1, np.int64),
            bounds=bounds,
        )

    def add(self, values: Ints) -> Ints:
        """Add up the values of the rows of each combination of join keys."""
        ordered = values[self.order]
        check_magnitude(ordered)
        return np.add.reduceat(ordered, self.starts) if len(self.starts) else ordered


def _hash_keys(columns: Sequence[Words]) -> Words:
    """Hash the join keys of each row to one word."""
    return reduce(lambda hashed, column: hashed * GOLDEN + column, columns)


def _key_changes(columns: Sequence[Words]) -> Positions:
    """Find the rows whose join keys differ from those of the row before."""
    new = np.ones(len(columns[0]), dtype=np.bool_)
    if len(new):
        new[1:] = reduce(np.logical_or, (column[1:] != column[:-1] for column in columns))
    return np.flatnonzero(new)


def _refuse_missing(
    relation: str, role: str, needed: Mapping[str, None], given: Mapping[str, object]
) -> None:
    """Refuse rows of a relation that lack a column which sketches need."""
    missing = [name for name in needed if name not in given]
    if missing:
        raise GinghamError(
            f"rows of {relation} without {role} {', '.join(missing)}",
            "queries of the plan need it",
            f"a column for each of {', '.join(needed)}",
        )


def _integers(name: str, values: npt.ArrayLike, size: int) -> Ints:
    """Check that a column to sketch has one integer for each row, and that 64 bits hold it."""
    column = np.asarray(values)
    if column.dtype.kind not in "iub" or len(column) != size:
        raise AnswerError(
            f"{name}: {len(column)} values of type {column.dtype} for {size} rows",
            "counters are whole numbers, so that sums of parts are exact",
            "one whole number for each row; scale decimals, round floats",
        )
    if column.dtype.kind == "u" and (column > np.uint64(2**63 - 1)).any():
        raise overflow()
    return column.astype(np.int64)


def _multiplied(vertex: Vertex, values: Ints, fragments: Ints | None) -> Ints:
    """Multiply the value of each row by how often its fragment counts in a sketch."""
    if not vertex.coefficients:
        return values * vertex.otherwise
    assert fragments is not None
    numbers = np.array([fragment for fragment, _ in vertex.coefficients], dtype=np.int64)
    times = np.array([time for _, time in vertex.coefficients], dtype=np.int64)
    position = np.minimum(np.searchsorted(numbers, fragments), len(numbers) - 1)
    factor = np.where(numbers[position] == fragments, times[position], vertex.otherwise)
    largest = max(1, int(np.abs(factor).max(initial=1)))
    if largest > 1 and np.abs(values.astype(np.float64)).max(initial=0) * largest >= 2**62:
        raise overflow()
    return values * factor
