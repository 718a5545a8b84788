"""Rows of one relation as columns: checked, grouped by keys, and counted slice by slice."""

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

# An odd number with bits all over: the golden ratio of 2^64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class RelationRows:
    """Keys by attribute; counts, measures and fragments of rows, and the slices they are in.

    `distinct` are attributes in which no two rows of a slice are alike, if there are such.
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
        """Check that there is all that the sketches of a relation need.

        `grouped` says that no two rows of a slice have all their keys alike.
        """
        relation = vertices[0].relation
        wanted = dict.fromkeys(attribute for vertex in vertices for attribute in vertex.attributes)
        _all_there(relation, "join attribute", wanted, keys)
        columns = {attribute: encode_keys(keys[attribute]) for attribute in wanted}
        size = len(next(iter(columns.values())).words)
        for attribute, column in columns.items():
            if len(column.words) != size:
                raise GinghamError(
                    f"{relation}.{attribute} has {len(column.words)} keys for {size} rows",
                    "every row has a key in every column",
                    "columns of the same length, NULL where there is no key",
                )
        measured = {name: _whole(name, values, size) for name, values in (sums or {}).items()}
        _all_there(relation, "measure", {v.measure: None for v in vertices if v.measure}, measured)
        if fragments is None and any(vertex.coefficients for vertex in vertices):
            raise GinghamError(
                f"rows of {relation} without fragments",
                "queries select some of its rows",
                "give the number of each row's fragment",
            )
        return cls(
            columns,
            _whole("counts", np.ones(size, np.int64) if counts is None else counts, size),
            measured,
            None if fragments is None else _whole("fragments", fragments, size),
            None if slices is None else _whole("slices", slices, size),
            frozenset(keys) if grouped else frozenset(),
        )

    @property
    def size(self) -> int:
        return len(self.counts)

    def count(self, plan: SharingPlan, vertex: Vertex) -> tuple[Ints, Ints]:
        """The slices that have rows, and a row of counters for each.

        Where rows are not cut into slices, all of them are in one, even if there are none.
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
            grouping.add(_selected(vertex, values, self.fragments)),
            grouping.bounds,
        )
        return grouping.slices, counters

    def _grouped(self, attributes: tuple[str, ...]) -> Grouping:
        columns = [self.keys[attribute] for attribute in attributes]
        return Grouping.of(columns, self.slices, alone=self.distinct == frozenset(attributes))


@dataclass(frozen=True, slots=True)
class Grouping:
    """Different combinations of keys in each slice, and which rows have each."""

    keys: Sequence[Words]
    order: Positions  # rows, those of a combination one after the other
    starts: Positions  # the first row of each combination, in that order
    slices: Ints
    bounds: Positions  # the first combination of each slice

    @classmethod
    def of(cls, columns: Sequence[KeyColumn], slices: Ints | None, *, alone: bool) -> Grouping:
        """Rows with a NULL are left out; `alone` says that combinations in a slice all differ."""
        present = reduce(np.logical_and, (column.present for column in columns))
        order = np.flatnonzero(present)
        keys = [column.words[order] for column in columns]
        cut = [] if slices is None else [slices[order].view(np.uint64)]
        # Equal keys are to stand together, in any order. Should hashes meet, some do not: no harm.
        by = [*([] if alone else [_hashed(keys)]), *cut]
        if by:
            sorting = np.lexsort(by) if len(by) > 1 else np.argsort(by[0])
            keys, cut = ([column[sorting] for column in part] for part in (keys, cut))
            order = order[sorting]
        starts = np.arange(len(order)) if alone else _changes([*keys, *cut])
        keys, cut = ([column[starts] for column in part] for part in (keys, cut))
        if not cut:
            return cls(keys, order, starts, np.zeros(1, np.int64), np.zeros(1, np.intp))
        bounds = _changes(cut)
        return cls(keys, order, starts, cut[0][bounds].view(np.int64), bounds)

    def add(self, values: Ints) -> Ints:
        """Sums of values by combination."""
        ordered = values[self.order]
        check_magnitude(ordered)
        return np.add.reduceat(ordered, self.starts) if len(self.starts) else ordered


def _hashed(columns: Sequence[Words]) -> Words:
    """A word for each row; equal rows have equal words."""
    return reduce(lambda found, column: found * GOLDEN + column, columns)


def _changes(columns: Sequence[Words]) -> Positions:
    """Where a row differs from the one before."""
    new = np.ones(len(columns[0]), dtype=np.bool_)
    if len(new):
        new[1:] = reduce(np.logical_or, (column[1:] != column[:-1] for column in columns))
    return np.flatnonzero(new)


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


def _whole(name: str, values: npt.ArrayLike, size: int) -> Ints:
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


def _selected(vertex: Vertex, values: Ints, fragments: Ints | None) -> Ints:
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
