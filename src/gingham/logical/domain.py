"""Ordered domains: where a comparison with a constant cuts the values of an attribute in two.

Every comparison becomes "x >= cut". `x > c` cuts right after c, at the next value of the domain:
the next integer, the next double, the string with a zero byte appended.

Spark decides in which type a column and a constant are compared. `compared` follows its rules for
pairs that can be cut exactly, and gives None for all others: Spark itself evaluates those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Literal

Kind = Literal["integer", "double", "decimal", "string", "date", "boolean"]
_MOST_DIGITS = 38  # of a decimal
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal of a query; `kind` is how SQL wrote it."""

    kind: Literal["integer", "decimal", "double", "string", "boolean", "date", "timestamp", "null"]
    value: Any  # of a timestamp: microseconds since 1970


@dataclass(frozen=True, slots=True)
class Domain:
    """The type in which an attribute is compared; decimals are integers at a fixed scale."""

    kind: Kind
    scale: int = 0
    precision: int = 0


BOOLEAN = Domain("boolean")
INTEGER = Domain("integer")
DOUBLE = Domain("double")
STRING = Domain("string")
DATE = Domain("date")


class Bound(Enum):
    """The ends of every domain: below and above all its values."""

    START = "START"
    END = "END"

    def __repr__(self) -> str:
        return self.value


START = Bound.START
END = Bound.END


def natural(attribute_type: str) -> Domain | None:
    """The domain in which values of a Spark type are ordered; None if no cut would be exact."""
    if attribute_type in _INTEGERS:
        return INTEGER
    if attribute_type.startswith("decimal"):
        precision, scale = attribute_type.removeprefix("decimal(")[:-1].split(",")
        return Domain("decimal", int(scale), int(precision))
    return {
        "float": DOUBLE,
        "double": DOUBLE,
        "string": STRING,
        "date": DATE,
        "boolean": BOOLEAN,
    }.get(attribute_type)


def compared(attribute_type: str, constant: Constant) -> Domain | None:
    """The domain in which Spark compares a column of this type with this constant.

    >>> compared("int", Constant("integer", 5))
    Domain(kind='integer', scale=0, precision=0)
    >>> compared("decimal(10,2)", Constant("integer", 5))
    Domain(kind='decimal', scale=2, precision=10)
    >>> compared("string", Constant("integer", 5)) is None
    True
    """
    exact = constant.kind in ("integer", "decimal") and _fits(attribute_type, constant.value)
    match attribute_type:
        case "tinyint" | "smallint" | "int" if exact or constant.kind == "double":
            return INTEGER
        case "bigint" if exact:
            return INTEGER
        # Spark casts the column to double here, which rounds: `cast_for` says so.
        case "bigint" if constant.kind == "double":
            return DOUBLE
        case "double" if exact or constant.kind == "double":
            return DOUBLE
        # A float and an integer may meet as floats or as doubles; the same up to 2^24.
        case "float" if constant.kind == "integer" and abs(constant.value) <= 1 << 24:
            return DOUBLE
        case "float" if constant.kind in ("decimal", "double"):
            return DOUBLE
        case "string" if constant.kind == "string":
            return STRING
        case "date" if constant.kind == "date":
            return DATE
        case "timestamp" if constant.kind == "timestamp":
            return INTEGER
        case "boolean" if constant.kind == "boolean":
            return BOOLEAN
        case _ if attribute_type.startswith("decimal"):
            if constant.kind == "double":
                return DOUBLE
            if exact:
                return natural(attribute_type)
        case _:
            pass
    return None


def _fits(attribute_type: str, value: int | Decimal) -> bool:
    """Whether Spark compares exactly: the common decimal type of both sides has 38 digits."""
    if attribute_type in _INTEGERS and not -(1 << 63) <= value <= (1 << 63) - 1:
        return False  # what Spark makes of NULL here depends on its optimizer
    _, digits, exponent = Decimal(value).as_tuple()
    scale = max(0, -int(exponent))
    whole = max(0, len(digits) + int(exponent))
    type_precision, type_scale = 20, 0
    if attribute_type.startswith("decimal"):
        domain = natural(attribute_type)
        assert domain is not None
        type_precision, type_scale = domain.precision, domain.scale
    return max(type_precision - type_scale, whole) + max(type_scale, scale) <= _MOST_DIGITS


def cast_for(sql: str, attribute_type: str, domain: Domain) -> str:
    """The SQL of an expression cast to the type of its domain, where a cast is needed."""
    if domain == DOUBLE and attribute_type != "double":
        return f"CAST({sql} AS DOUBLE)"
    if attribute_type == "timestamp":
        return f"unix_micros({sql})"
    if domain == INTEGER and attribute_type != "bigint":
        return f"CAST({sql} AS BIGINT)"
    return sql


def cut(domain: Domain, constant: Constant, *, after: bool) -> Any:
    r"""The cut of a domain such that x >= cut means x >= constant, or x > constant if `after`.

    START if every x is that large, END if none is.

    >>> cut(INTEGER, Constant("decimal", Decimal("10.5")), after=False)
    11
    >>> cut(DOUBLE, Constant("double", 0.0), after=True)
    5e-324
    >>> cut(STRING, Constant("string", "a"), after=True)
    'a\x00'
    """
    value = constant.value
    match domain.kind:
        case "integer":
            if isinstance(value, float) and not math.isfinite(value):
                return START if value == -math.inf else END
            return _integer_cut(Fraction(value), 1 << 63, after=after)
        case "decimal":
            scaled = Fraction(value) * 10**domain.scale
            return _integer_cut(scaled, 10**domain.precision, after=after)
        case "double":
            return _double_cut(float(value), after=after)
        case "string":
            return value + "\x00" if after else value
        case "date":
            return value + int(after)
        case "boolean":
            return (END if value else True) if after else (True if value else START)


def _integer_cut(value: Fraction, limit: int, *, after: bool) -> Any:
    """The cut of a domain of integers at this value, or above it if `after`."""
    bound = math.floor(value) + 1 if after else math.ceil(value)
    return START if bound <= -limit else END if bound >= limit else bound


def _double_cut(value: float, *, after: bool) -> Any:
    """The cut of a domain of doubles at this value, or at the next double if `after`."""
    # Spark's order: -inf < numbers < inf < NaN, and -0.0 = 0.0.
    if math.isnan(value):
        return END if after else value
    if value == math.inf:
        return math.nan if after else value
    if value == -math.inf and not after:
        return START
    return math.nextafter(value, math.inf) if after else value + 0.0


def sort_key(value: Any) -> Any:
    """A key that sorts the cuts of an attribute in Spark's order: NaN last."""
    return (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value)
