"""Merges of partials, and what they can do: linear, idempotent, or merely associative."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from gingham.core.arrays import Array, Bools

# At most this many values are gathered for one call of a ufunc.
_GATHERED = 1 << 22


@dataclass(frozen=True, slots=True)
class Operation:
    """An associative, commutative merge of partials; the capabilities it declares are trusted.

    `function` merges two single partials, neither of them empty. An object array has None where
    there is no partial; other arrays have `empty(dtype)`.

    >>> top = Operation("top 2", lambda a, b: sorted(a + b)[-2:])
    >>> values = np.empty((3, 1), dtype=object)
    >>> values[:, 0] = [[1], [9], [4]]
    >>> top.merge(np.array([[True, True, True], [False, True, False]]), values).tolist()
    [[[4, 9]], [[9]]]
    """

    name: str
    function: Callable[[Any, Any], Any]
    linear: bool = False
    idempotent: bool = False
    ufunc: np.ufunc | None = None
    empty: Callable[[np.dtype[Any]], Any] = lambda _: None

    def merge(self, members: Bools, values: Array) -> Array:
        """Merge, for each row of the boolean matrix `members`, the partials at its ones."""
        ufunc, empty = self.ufunc, None
        if values.dtype == object or ufunc is None:
            values = values.astype(object)
            ufunc = np.frompyfunc(self._unless_empty, 2, 1)
        else:
            empty = self.empty(values.dtype)
        merged = np.full((len(members), *values.shape[1:]), empty, dtype=values.dtype)
        width = max(1, int(np.prod(values.shape[1:], dtype=np.int64)))
        rows = max(1, _GATHERED // max(1, members.shape[1] * width))
        for start in range(0, len(members), rows):
            target, source = np.nonzero(members[start : start + rows])
            if len(target):
                targets, first = np.unique(target, return_index=True)
                merged[start + targets] = ufunc.reduceat(values[source], first, axis=0)
        return merged

    def _unless_empty(self, one: Any, other: Any) -> Any:
        """Merge two partials, either of which may be None, the empty partial."""
        if one is None or other is None:
            return one if other is None else other
        return self.function(one, other)


def operation_of(given: Operation | np.ufunc | Callable[[Any, Any], Any]) -> Operation:
    """Look up the capabilities of a merge of partials; an unknown function has none."""
    if isinstance(given, Operation):
        return given
    if isinstance(given, np.ufunc) and given in _OPERATIONS:
        return _OPERATIONS[given]
    name = str(getattr(given, "__name__", given))
    return Operation(name, cast("Callable[[Any, Any], Any]", given))


def _lowest(dtype: np.dtype[Any]) -> Any:
    """The empty partial of maxima: the lowest value of a type."""
    return False if dtype.kind == "b" else -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    """The empty partial of minima: the highest value of a type."""
    return True if dtype.kind == "b" else np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _zero(dtype: np.dtype[Any]) -> Any:
    """The empty partial of sums and ORs: zero."""
    return dtype.type(0)


def _all_bits(dtype: np.dtype[Any]) -> Any:
    """The empty partial of bitwise ANDs: all bits set."""
    return np.invert(dtype.type(0))


def _of_ufunc(
    ufunc: np.ufunc, function: Callable[[Any, Any], Any], empty: Callable[[np.dtype[Any]], Any]
) -> Operation:
    """Build the merge of partials that a numpy ufunc computes, with its capabilities."""
    return Operation(
        name=ufunc.__name__,
        function=function,
        linear=ufunc is np.add,
        idempotent=ufunc is not np.add,
        ufunc=ufunc,
        empty=empty,
    )


ADD = _of_ufunc(np.add, operator.add, _zero)
MAXIMUM = _of_ufunc(np.maximum, max, _lowest)
_OPERATIONS: dict[np.ufunc, Operation] = {
    np.add: ADD,
    np.maximum: MAXIMUM,
    np.minimum: _of_ufunc(np.minimum, min, _highest),
    np.fmax: _of_ufunc(np.fmax, max, _lowest),
    np.fmin: _of_ufunc(np.fmin, min, _highest),
    np.bitwise_or: _of_ufunc(np.bitwise_or, operator.or_, _zero),
    np.bitwise_and: _of_ufunc(np.bitwise_and, operator.and_, _all_bits),
    np.logical_or: _of_ufunc(np.logical_or, operator.or_, lambda _: False),
    np.logical_and: _of_ufunc(np.logical_and, operator.and_, lambda _: True),
}
