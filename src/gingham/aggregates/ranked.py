"""The aggregates min_by and max_by with a limit: a list of the first k values of an order.

`max_by(x, x, 3)` is the three largest x. A row that is merged twice would be listed twice, so the
capability of these partials is general.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from gingham.aggregates.base import Aggregate, Partial
from gingham.aggregates.monoid import Monoid, State, flat
from gingham.core.arrays import Array
from gingham.core.errors import QueryError


@dataclass(frozen=True, slots=True)
class _FirstFew(Monoid):
    """States of sorted lists, no longer than `limit`, of structs with `by` and `value`."""

    limit: int
    descending: bool

    def load(self, columns: list[pa.Array]) -> State:
        """Read the lists of the first few rows of an order, none for NULL."""
        return State((_array_of_lists([listed or [] for listed in flat(columns[0]).to_pylist()]),))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write the lists of the first few rows of an order."""
        return [pa.array(list(state.arrays[0]), types[0])]

    def empty(self, count: int) -> State:
        """Make aggregate states of no rows: empty lists."""
        return State((_array_of_lists([[] for _ in range(count)]),))

    def merge(self, left: State, right: State) -> State:
        """Merge two lists at each position to the first few rows of both."""
        pairs = zip(left.arrays[0], right.arrays[0], strict=True)
        return State((_array_of_lists([self._first([*a, *b]) for a, b in pairs]),))

    def _first(self, pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Sort rows by their order, and keep the first few."""
        ordered = sorted(pairs, key=lambda pair: _sort_key(pair["by"]), reverse=self.descending)
        return ordered[: self.limit]


@dataclass(frozen=True, slots=True)
class FirstBy(Aggregate):
    """min_by with a limit: the first arguments of the rows whose second arguments are least.

    >>> from gingham.aggregates.base import Call
    >>> call = Call("min_by", ("x", "y", "2"), ("string", "int", "int"), pa.list_(pa.string()))
    >>> FirstBy(call).partials[0].columns
    ("min_by(named_struct('by', y, 'value', x), y, 2)",)
    """

    descending: ClassVar[bool] = False

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The first few pairs of order and value over each part of the rows."""
        value, by, limit = self.call.arguments
        if not limit.isdigit():
            raise QueryError(
                f"{self.call.sql}: {limit} is not a number",
                "how many values there are decides how partial results are cut",
                f"a literal, for example {self.call.function}(x, y, 3)",
            )
        pairs = f"{self.call.function}(named_struct('by', {by}, 'value', {value}), {by}, {limit})"
        return (Partial((pairs,), _FirstFew(int(limit), self.descending)),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """The values of the first few rows as lists, NULL where there was no row."""
        lists = [[pair["value"] for pair in first] or None for first in states[0].arrays[0]]
        return pa.array(lists, self.call.result)


@dataclass(frozen=True, slots=True)
class LastBy(FirstBy):
    """max_by with a limit: the first arguments of the rows whose second arguments are greatest."""

    descending: ClassVar[bool] = True


def _array_of_lists(values: list[Any]) -> Array:
    """Make a numpy array of lists, one list of the first few rows at each position."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _sort_key(value: Any) -> Any:
    """What to sort an order column of min_by or max_by by: NaN after all numbers, as in Spark."""
    # NaN comes after all numbers.
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value
