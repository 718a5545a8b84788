"""Are two answers the same? Floats that were summed may differ by rounding; nothing else may."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.oracle.values import Near


def assert_same(
    expected: Iterable[Any],
    actual: Iterable[Any],
    approx: Mapping[str, float] | None = None,
    query: str = "",
) -> None:
    """Fail unless both have the same rows, in any order.

    How far a float may be off, its `Near` in `expected` says; `approx` widens that for a column.
    """
    left, right = [_plain(row) for row in expected], [_plain(row) for row in actual]
    missing, surplus = _difference(left, right, approx or {})
    if missing or surplus:
        raise AssertionError(
            "\n".join(
                (
                    "the answers differ",
                    *([f"query     {query}"] if query else []),
                    *(f"missing   {_show(row)}" for row in missing),
                    *(f"surplus   {_show(row)}" for row in surplus),
                    *(f"expected  {_show(row)}" for row in left),
                    *(f"actual    {_show(row)}" for row in right),
                )
            )
        )


def _difference(
    expected: list[dict[str, Any]], actual: list[dict[str, Any]], approx: Mapping[str, float]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    # The keys are part of every answer, so at most one row on the other side can be the same.
    missing: list[dict[str, Any]] = []
    surplus = list(actual)
    for row in expected:
        found = next((r for r in surplus if _same_row(row, r, approx)), None)
        if found is None:
            missing.append(row)
        else:
            surplus = [r for r in surplus if r is not found]
    return missing, surplus


def _same_row(
    expected: dict[str, Any], actual: dict[str, Any], approx: Mapping[str, float]
) -> bool:
    return Counter(expected.keys()) == Counter(actual.keys()) and all(
        _same(value, actual[name], approx.get(name, 0.0)) for name, value in expected.items()
    )


def _same(expected: Any, actual: Any, tolerance: float) -> bool:
    tolerance = max(tolerance, getattr(expected, "tolerance", 0.0))
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, float) and isinstance(actual, float | int):
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        if isinstance(actual, int) and not isinstance(expected, Near):
            return False
        return expected == actual or abs(expected - actual) <= tolerance
    if isinstance(expected, Decimal) and isinstance(actual, Decimal):
        # 1.50 and 1.5 are of different types.
        return expected == actual and expected.as_tuple().exponent == actual.as_tuple().exponent
    return type(expected) is type(actual) and expected == actual


def _plain(row: Any) -> dict[str, Any]:
    cells = dict(row) if isinstance(row, Mapping) else row.asDict()
    return {name: _utc(v) if isinstance(v, datetime) else v for name, v in cells.items()}


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _show(row: dict[str, Any]) -> str:
    return "  ".join(
        f"{name}={v:%Y-%m-%d %H:%M:%S.%f}" if isinstance(v, datetime) else f"{name}={_value(v)}"
        for name, v in row.items()
    )


def _value(value: Any) -> str:
    if isinstance(value, Near):
        return f"{float(value)!r}±{value.tolerance:.0e}"
    return repr(value)
