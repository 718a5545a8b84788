"""Scalar SQL expressions by Spark's rules (ANSI mode), one Python value at a time.

NULL is None, timestamps are aware datetimes. Types are decided once, when an expression is bound:
Python's numbers alone would not tell when an int overflows or where a decimal is rounded.
"""

from __future__ import annotations

import ctypes
import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from functools import reduce
from typing import Any, NamedTuple, Self

from sqlglot import exp


class WouldFail(Exception):  # noqa: N818 - it says what Spark would do
    """Spark would stop the query here: an overflow or a division by zero."""


class Unsupported(Exception):  # noqa: N818 - it says what the SQL is
    """The reference does not know this piece of SQL."""


class Type(NamedTuple):
    """A Spark type; only decimals have a precision and a scale."""

    name: str
    precision: int = 0
    scale: int = 0


class Scalar(NamedTuple):
    """A bound expression: its type, and its value in an environment (a row or a group)."""

    type: Type
    of: Callable[[Any], Any]
    literal: Type | None = None  # the smallest decimal that holds it, if it is a literal integer


class Near(float):
    """A float that rounding may have moved: an equal answer lies within `tolerance` of it."""

    tolerance: float

    def __new__(cls, value: float, tolerance: float) -> Self:
        self = super().__new__(cls, value)
        self.tolerance = tolerance
        return self


Sub = Callable[[exp.Expression], Scalar]
Leaf = Callable[[exp.Expression], Scalar | None]
Functions = Mapping[str, tuple[Callable[..., Any], Type]]

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


def bind(node: exp.Expression, leaf: Leaf, functions: Functions) -> Scalar:
    """Type an expression and make it callable; `leaf` binds columns and aggregates."""

    def sub(child: exp.Expression) -> Scalar:
        return bind(child, leaf, functions)

    if (found := leaf(node)) is not None:
        return found
    if isinstance(node, exp.Anonymous) and node.name.lower() in functions:
        function, result = functions[node.name.lower()]
        arguments = [sub(e) for e in node.expressions]
        return Scalar(result, lambda env: function(*(a.of(env) for a in arguments)))
    if (rule := _RULES.get(type(node))) is None:
        raise Unsupported(node.sql(dialect="spark"))
    return rule(node, sub)


def order(value: Any) -> Any:
    """A key that sorts and hashes like Spark: NaN above all, equal to itself; -0.0 like 0.0."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, float(value))
    return value


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


def converted(scalar: Scalar, target: Type) -> Scalar:
    """The same expression, cast."""
    if scalar.type == target:
        return scalar
    return Scalar(target, lambda env: _cast(scalar.of(env), target))


def rounded(value: Decimal, target: Type) -> Decimal:
    """A decimal at its type's scale, half up; too many digits fail the query."""
    result = value.quantize(Decimal(1).scaleb(-target.scale), context=EXACT)
    if abs(result) >= Decimal(10) ** (target.precision - target.scale):
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


def utc(moment: datetime) -> datetime:
    """A timestamp without a zone is in UTC."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _literal(node: exp.Literal, sign: str) -> Scalar:
    text = sign + node.this
    if node.is_string:
        return Scalar(STRING, lambda _: node.this)
    if "e" in text.lower():
        return Scalar(DOUBLE, lambda _: float(text))
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent)
    smallest = Type("decimal", max(len(digits), scale), scale)
    if scale or not -(1 << 63) <= number < 1 << 63:
        return Scalar(smallest, lambda _: number)
    fits = -(1 << 31) <= number < 1 << 31
    return Scalar(INT if fits else BIGINT, lambda _: int(number), literal=smallest)


def _negated(test: Scalar) -> Scalar:
    return _strict(BOOLEAN, operator.not_, test)


def _strict(result: Type, function: Callable[..., Any], *arguments: Scalar) -> Scalar:
    """NULL as soon as one argument is NULL."""

    def of(env: Any) -> Any:
        values = [a.of(env) for a in arguments]
        return None if any(v is None for v in values) else function(*values)

    return Scalar(result, of)


def _logic(left: Scalar, right: Scalar, *, decisive: bool) -> Scalar:
    """AND (False decides) and OR (True decides); otherwise one unknown makes it unknown."""

    def of(env: Any) -> bool | None:
        # One after the other: where the left side decides, the right cannot fail.
        if (first := left.of(env)) is decisive or (second := right.of(env)) is decisive:
            return decisive
        return None if first is None or second is None else not decisive

    return Scalar(BOOLEAN, of)


def _comparison(compare: Callable[[Any, Any], bool], left: Scalar, right: Scalar) -> Scalar:
    common = _wider(left.type, right.type)
    return _strict(
        BOOLEAN,
        lambda a, b: compare(order(a), order(b)),
        converted(left, common),
        converted(right, common),
    )


def _equal_or_both_null(left: Scalar, right: Scalar) -> Scalar:
    equal = _comparison(operator.eq, left, right)

    def of(env: Any) -> bool:
        return bool(equal.of(env)) or (left.of(env) is None and right.of(env) is None)

    return Scalar(BOOLEAN, of)


def _membership(value: Scalar, members: list[Scalar]) -> Scalar:
    # All meet in one type: in `n IN (9007199254740993, 0.5D)` that is double, for both members.
    common = reduce(_wider, (m.type for m in members), value.type)
    value = converted(value, common)
    tests = [_comparison(operator.eq, value, converted(m, common)) for m in members]
    return reduce(lambda a, b: _logic(a, b, decisive=True), tests)


def _between(node: exp.Between, sub: Sub) -> Scalar:
    value = sub(node.this)
    low = _comparison(operator.ge, value, sub(node.args["low"]))
    return _logic(low, _comparison(operator.le, value, sub(node.args["high"])), decisive=False)


def _matching(node: exp.Like, sub: Sub) -> Scalar:
    found = _strict(BOOLEAN, _like, sub(node.this), sub(node.expression))
    # sqlglot keeps the NOT of NOT LIKE inside, unlike that of NOT IN.
    return _negated(found) if node.args.get("negate") else found


def _like(text: str, pattern: str) -> bool:
    pieces = re.findall(r"\\.|.", pattern, flags=re.DOTALL)
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(p) or re.escape(p[-1]) for p in pieces)
    return re.fullmatch(regex, text, flags=re.DOTALL) is not None


def _first_not_null(choices: list[Scalar]) -> Scalar:
    common = reduce(_wider, (c.type for c in choices))
    choices = [converted(c, common) for c in choices]

    def of(env: Any) -> Any:
        return next((v for c in choices if (v := c.of(env)) is not None), None)

    return Scalar(common, of)


def _choice(branches: list[tuple[Scalar, Scalar]], otherwise: Scalar) -> Scalar:
    common = reduce(_wider, (value.type for _, value in branches), otherwise.type)
    branches = [(test, converted(value, common)) for test, value in branches]
    otherwise = converted(otherwise, common)

    def of(env: Any) -> Any:
        return next((v for test, v in branches if test.of(env) is True), otherwise).of(env)

    return Scalar(common, of)


def _if(node: exp.If, sub: Sub) -> Scalar:
    otherwise = sub(node.args.get("false") or exp.Null())
    return _choice([(sub(node.this), sub(node.args["true"]))], otherwise)


def _case(node: exp.Case, sub: Sub) -> Scalar:
    branches: list[tuple[Scalar, Scalar]] = []
    for branch in node.args["ifs"]:
        test = sub(branch.this)
        if node.this is not None:
            test = _comparison(operator.eq, sub(node.this), test)
        branches.append((test, sub(branch.args["true"])))
    return _choice(branches, sub(node.args.get("default") or exp.Null()))


_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _arithmetic(symbol: str, left: Scalar, right: Scalar) -> Scalar:
    kinds = {left.type.name, right.type.name}
    if "decimal" in kinds and not kinds & {"float", "double"}:
        return _decimal_arithmetic(symbol, left, right)
    common = _wider(left.type, right.type)
    if symbol == "/":
        common = DOUBLE  # 7 / 2 is 3.5
    if common.name in INTEGERS:
        return _strict(common, lambda a, b: in_range(_integers(symbol, a, b), common), left, right)
    if common not in (FLOAT, DOUBLE):
        raise Unsupported(f"{left.type.name} {symbol} {right.type.name}")
    left, right = converted(left, common), converted(right, common)
    return _strict(common, lambda a, b: _cast(_floats(symbol, a, b), common), left, right)


def _integers(symbol: str, a: int, b: int) -> int:
    if symbol != "%":
        return _PYTHON[symbol](a, b)
    if b == 0:
        raise WouldFail("remainder by zero")
    return int(math.copysign(1, a)) * (abs(a) % abs(b))  # the sign of the dividend, as in Java


def _floats(symbol: str, a: float, b: float) -> float:
    if symbol in "/%" and b == 0:
        raise WouldFail("division by zero")
    if symbol == "%":
        return math.fmod(a, b) if math.isfinite(a) else math.nan
    value = _PYTHON[symbol](float(a), float(b))
    near, far = (getattr(x, "tolerance", 0.0) for x in (a, b))
    if not near and not far:
        return value
    match symbol:
        case "*":
            return Near(value, near * abs(b) + far * abs(a))
        case "/":
            return Near(value, (near + abs(value) * far) / abs(b))
        case _:
            return Near(value, near + far)


def _decimal_arithmetic(symbol: str, left: Scalar, right: Scalar) -> Scalar:
    # Beside a decimal, a literal integer has only the digits it shows.
    (p1, s1), (p2, s2) = (as_decimal(x.literal or x.type)[1:] for x in (left, right))
    scale = max(s1, s2)
    match symbol:
        case "*":
            result = p1 + p2 + 1, s1 + s2
        case "/":
            scale = max(6, s1 + p2 + 1)
            result = p1 - s1 + s2 + scale, scale
        case "%":
            result = min(p1 - s1, p2 - s2) + scale, scale
        case _:
            result = max(p1 - s1, p2 - s2) + scale + 1, scale
    target = _within_38(*result)

    def compute(a: Decimal | int, b: Decimal | int) -> Decimal:
        if symbol in "/%" and b == 0:
            raise WouldFail("division by zero")
        function = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide}
        return rounded(function.get(symbol, EXACT.remainder)(Decimal(a), Decimal(b)), target)

    return _strict(target, compute, left, right)


def _within_38(precision: int, scale: int) -> Type:
    """Digits before the point come first, but six after it are kept."""
    if precision <= 38:
        return Type("decimal", precision, scale)
    return Type("decimal", 38, max(38 - (precision - scale), min(scale, 6)))


def _signed(function: Callable[[Any], Any], scalar: Scalar) -> Scalar:
    def compute(value: Any) -> Any:
        if isinstance(value, Near):
            return Near(function(float(value)), value.tolerance)
        if isinstance(value, Decimal):
            with localcontext(EXACT):  # else even a change of sign would round to 28 digits
                return rounded(function(value), scalar.type)
        return in_range(function(value), scalar.type) if isinstance(value, int) else function(value)

    return _strict(scalar.type, compute, scalar)


def _wider(a: Type, b: Type) -> Type:
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


def _cast(value: Any, target: Type) -> Any:
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


def _two(combine: Callable[[Scalar, Scalar], Scalar]) -> Callable[[Any, Sub], Scalar]:
    return lambda node, sub: combine(sub(node.this), sub(node.expression))


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Sub], Scalar]:
    return _two(lambda a, b: _comparison(compare, a, b))


def _computed(symbol: str) -> Callable[[Any, Sub], Scalar]:
    return _two(lambda a, b: _arithmetic(symbol, a, b))


def _negative(node: exp.Neg, sub: Sub) -> Scalar:
    if isinstance(node.this, exp.Literal):
        return _literal(node.this, "-")  # -2147483648 is an int, 2147483648 is not
    return _signed(operator.neg, sub(node.this))


def _converted(node: exp.Cast, sub: Sub) -> Scalar:
    return converted(sub(node.this), parse_type(node.args["to"].sql(dialect="spark")))


_RULES: dict[type[exp.Expression], Callable[[Any, Sub], Scalar]] = {
    exp.Paren: lambda node, sub: sub(node.this),
    exp.Literal: lambda node, _: _literal(node, ""),
    exp.Null: lambda _, __: Scalar(NULL, lambda _: None),
    exp.Boolean: lambda node, _: Scalar(BOOLEAN, lambda _: bool(node.this)),
    exp.Cast: _converted,
    exp.TryCast: _converted,  # how sqlglot reads 1.5D and CAST alike
    exp.And: _two(lambda a, b: _logic(a, b, decisive=False)),
    exp.Or: _two(lambda a, b: _logic(a, b, decisive=True)),
    exp.Not: lambda node, sub: _negated(sub(node.this)),
    exp.Is: _two(_equal_or_both_null),
    exp.NullSafeEQ: _two(_equal_or_both_null),
    exp.NullSafeNEQ: _two(lambda a, b: _negated(_equal_or_both_null(a, b))),
    exp.EQ: _compared(operator.eq),
    exp.NEQ: _compared(operator.ne),
    exp.LT: _compared(operator.lt),
    exp.LTE: _compared(operator.le),
    exp.GT: _compared(operator.gt),
    exp.GTE: _compared(operator.ge),
    exp.Between: _between,
    exp.In: lambda node, sub: _membership(sub(node.this), [sub(e) for e in node.expressions]),
    exp.Like: _matching,
    exp.Add: _computed("+"),
    exp.Sub: _computed("-"),
    exp.Mul: _computed("*"),
    exp.Div: _computed("/"),
    exp.Mod: _computed("%"),
    exp.Neg: _negative,
    exp.Abs: lambda node, sub: _signed(abs, sub(node.this)),
    exp.Length: lambda node, sub: _strict(INT, len, sub(node.this)),
    exp.Upper: lambda node, sub: _strict(STRING, str.upper, sub(node.this)),
    exp.Lower: lambda node, sub: _strict(STRING, str.lower, sub(node.this)),
    exp.Coalesce: lambda node, sub: _first_not_null(
        [sub(e) for e in (node.this, *node.expressions)]
    ),
    exp.If: _if,
    exp.Case: _case,
}
