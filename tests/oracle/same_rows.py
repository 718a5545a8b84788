"""Are two lists of rows the same, in any order? Floats that were summed may differ by rounding."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

_ROUNDING = (1e-9, 1e-9)  # relative, and absolute
# Three times the standard error of a sketch, and collisions among few values.
_SKETCHES = (0.15, 2.0)


def canonical_row(row: tuple[Any, ...], columns: Sequence[tuple[str, str]]) -> tuple[Any, ...]:
    """A row that equals another if SQL says so; `columns` are the names and types of its values."""
    return tuple(
        _canonical(value, folded="collate" in kind)
        for value, (_, kind) in zip(row, columns, strict=True)
    )


def rows_differ(wanted: list[Any], own: list[Any], *, summed: bool, sketched: bool = False) -> str:
    """How canonical rows differ from Spark's, in a line; empty if they do not.

    With `summed`, floats may differ by rounding; with `sketched`, all numbers by the error of two
    sketches.
    """
    if sketched:
        wanted, own = ([_with_floats(row) for row in rows] for rows in (wanted, own))
    missing = Counter(wanted)
    missing.subtract(Counter(own))
    lacking = list((+missing).elements())
    surplus = list((-missing).elements())
    if summed or sketched:
        tolerance = _SKETCHES if sketched else _ROUNDING
        lacking, surplus = _without_near_pairs(lacking, surplus, tolerance)
    if not lacking and not surplus:
        return ""
    shown = f"{len(lacking)} missing, {len(surplus)} surplus of {len(wanted)}"
    return f"{shown}; Spark {_shown(lacking)}, ours {_shown(surplus)}"


def _canonical(value: Any, *, folded: bool = False) -> Any:
    """A value that is equal to another one if and only if SQL says so."""
    if isinstance(value, float):
        # A string can be found in a Counter, NaN cannot.
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, Decimal):
        return ("decimal", str(value.normalize()) if value else "0")
    if isinstance(value, str) and folded:
        # Which of two spellings stands for a group depends on the order of rows.
        return value.casefold()
    if isinstance(value, dict):
        return tuple((k, _canonical(v, folded=folded)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return tuple(_canonical(v, folded=folded) for v in value)
    return value


def _with_floats(value: Any) -> Any:
    """A row, with floats in place of integers."""
    if isinstance(value, tuple):
        return tuple(map(_with_floats, value))
    return float(value) if type(value) is int else value


def _without_near_pairs(
    lacking: list[Any], surplus: list[Any], tolerance: tuple[float, float]
) -> tuple[list[Any], list[Any]]:
    """Both lists without the pairs of rows whose floats differ by a tolerance at most."""
    # Only rows that agree in everything but floats can be near, and the order of their floats
    # is nearly the same on both sides: the first one that is left is the one, as a rule.
    candidates: dict[Any, list[Any]] = {}
    for row in sorted(surplus, key=_floats):
        candidates.setdefault(_without_floats(row), []).append(row)
    left: list[Any] = []
    for row in sorted(lacking, key=_floats):
        others = candidates.get(_without_floats(row), [])
        near = next((i for i, other in enumerate(others) if _near(row, other, tolerance)), None)
        if near is None:
            left.append(row)
        else:
            del others[near]
    return left, [row for others in candidates.values() for row in others]


def _floats(row: Any) -> list[float]:
    """All floats of a row, in their order."""

    def each(value: Any) -> Iterator[float]:
        if isinstance(value, tuple):
            for part in value:
                yield from each(part)
        elif isinstance(value, float):
            yield value

    return list(each(row))


def _without_floats(value: Any) -> Any:
    """A row, with the same mark in place of every float."""
    if isinstance(value, tuple):
        return tuple(map(_without_floats, value))
    return float if isinstance(value, float) else (type(value), value)


def _shown(found: list[Any]) -> str:
    return repr(found[0])[:120] if found else "none"


def _near(left: Any, right: Any, tolerance: tuple[float, float]) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(
            _near(a, b, tolerance) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, float) and isinstance(right, float):
        relative, absolute = tolerance
        return left == right or math.isclose(left, right, rel_tol=relative, abs_tol=absolute)
    return type(left) is type(right) and left == right
