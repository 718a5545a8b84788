"""Spark's types (ANSI mode): where values meet, when they overflow, how decimals are rounded.

NULL is None, timestamps are aware datetimes, and everything else is the Python value of that name.
"""

from __future__ import annotations

import ctypes
import math
import re
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple, Self


class WouldFail(Exception):  # noqa: N818 - it says what Spark would do
    """Spark would stop the query here: an overflow or a division by zero."""


class Unsupported(Exception):  # noqa: N818 - it says what the SQL is
    """The reference does not know this piece of SQL."""


class Type(NamedTuple):
    """A Spark type; only decimals have a precision and a scale."""

    name: str
    precision: int = 0
    scale: int = 0


class Near(float):
    """A float that rounding may have moved: an equal answer lies within `tolerance` of it."""

    tolerance: float

    def __new__(cls, value: float, tolerance: float) -> Self:
        self = super().__new__(cls, value)
        self.tolerance = tolerance
        return self


NULL, BOOLEAN, STRING = Type("null"), Type("boolean"), Type("string")
INT, BIGINT, FLOAT, DOUBLE = Type("int"), Type("bigint"), Type("float"), Type("double")
DATE, TIMESTAMP = Type("date"), Type("timestamp")
INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}  # and their digits as decimals
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_GUESSES: dict[type, Type] = {
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    str: STRING,
    date: DATE,
    datetime: TIMESTAMP,
}
EXACT = Context(prec=120, rounding=ROUND_HALF_UP)


def parse_type(text: str) -> Type:
    """Read a Spark type name, as in `decimal(10,2)`."""
    name, *numbers = re.findall(r"\w+", text.lower())
    names: dict[str, str] = {"integer": "int", "long": "bigint"}
    return Type(names.get(name) or name, *map(int, numbers))


def type_of(value: Any) -> Type:
    """Guess the type of a column from one of its values."""
    if isinstance(value, Decimal):
        return Type("decimal", 38, 18)
    return _GUESSES.get(type(value), NULL)


def order(value: Any) -> Any:
    """A key that sorts and hashes like Spark: NaN above all, equal to itself; -0.0 like 0.0."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, float(value))
    return value


def wider(a: Type, b: Type) -> Type:
    """The type in which Spark lets two values meet: to compare them, or to choose one."""
    names = {a.name, b.name}
    if b in (a, NULL):
        return a
    if a == NULL:
        return b
    numeric = INTEGERS.keys() | {"decimal", "float", "double"}
    if names <= INTEGERS.keys():
        return max(a, b, key=lambda t: INTEGERS[t.name])
    if names <= INTEGERS.keys() | {"decimal"}:
        (p1, s1), (p2, s2) = as_decimal(a)[1:], as_decimal(b)[1:]
        scale = max(s1, s2)
        surplus = max(0, max(p1 - s1, p2 - s2) + scale - 38)
        # Too long for 38 digits: those behind the point go, so the shorter side may be rounded.
        return Type("decimal", max(p1 - s1, p2 - s2) + scale - surplus, max(0, scale - surplus))
    if names <= numeric:
        return DOUBLE
    if names in ({"date", "timestamp"}, {"string", "timestamp"}):
        return TIMESTAMP
    if names == {"string", "date"}:
        return DATE
    raise Unsupported(f"{a.name} beside {b.name}")


def cast(value: Any, target: Type) -> Any:
    """A value in another type, or a failed query."""
    if value is None:
        return None
    match target.name:
        case "double":
            return value if isinstance(value, float) else float(value)
        case "float":
            return ctypes.c_float(float(value)).value
        case "decimal":
            return rounded(Decimal(repr(value) if isinstance(value, float) else value), target)
        case name if name in INTEGERS:
            if isinstance(value, float) and not math.isfinite(value):
                raise WouldFail(f"{value} is no {name}")
            return in_range(int(value), target)
        case "timestamp" if isinstance(value, datetime):
            return utc(value)
        case "timestamp" if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        case "timestamp":
            return utc(datetime.fromisoformat(value))
        case "date" if isinstance(value, str):
            return date.fromisoformat(value)
        case "string" if isinstance(value, str):
            return value
        case _:
            raise Unsupported(f"CAST({value!r} AS {target.name})")


def rounded(value: Decimal, target: Type) -> Decimal:
    """A decimal at its type's scale, half up; too many digits fail the query."""
    result = value.quantize(Decimal(1).scaleb(-target.scale), context=EXACT)
    if result.copy_abs() >= Decimal(10) ** (target.precision - target.scale):
        raise WouldFail(f"{value} does not fit in {target}")
    return result


def in_range(value: int, target: Type) -> int:
    """An integer, if its type can hold it."""
    if not -(1 << _BITS[target.name] - 1) <= value < 1 << _BITS[target.name] - 1:
        raise WouldFail(f"{value} does not fit in {target.name}")
    return value


def as_decimal(integer: Type) -> Type:
    """The decimal type that holds every value of an integer type; a decimal stays itself."""
    return integer if integer.name == "decimal" else Type("decimal", INTEGERS[integer.name])


def within_38(precision: int, scale: int) -> Type:
    """Digits before the point come first, but six after it are kept."""
    if precision <= 38:
        return Type("decimal", precision, scale)
    return Type("decimal", 38, max(38 - (precision - scale), min(scale, 6)))


def utc(moment: datetime) -> datetime:
    """A timestamp without a zone is in UTC."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
