"""Scalar SQL expressions by Spark's rules (ANSI mode), one Python value at a time.

Types are decided once, when an expression is bound: Python's numbers alone would not tell when an
int overflows or where a decimal is rounded.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from functools import reduce
from typing import Any, NamedTuple

from sqlglot import exp

from tests.oracle.values import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    EXACT,
    FLOAT,
    INT,
    INTEGERS,
    NULL,
    STRING,
    Near,
    Type,
    Unsupported,
    WouldFail,
    as_decimal,
    cast,
    in_range,
    order,
    parse_type,
    rounded,
    wider,
    within_38,
)


class Scalar(NamedTuple):
    """A bound expression: its type, and its value in an environment (a row or a group)."""

    type: Type
    of: Callable[[Any], Any]
    literal: Decimal | None = None  # if it is a number as the query wrote it


Sub = Callable[[exp.Expression], Scalar]
Leaf = Callable[[exp.Expression], Scalar | None]
Functions = Mapping[str, tuple[Callable[..., Any], Type]]


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


def converted(scalar: Scalar, target: Type) -> Scalar:
    """The same expression, cast."""
    if scalar.type == target:
        return scalar
    return Scalar(target, lambda env: cast(scalar.of(env), target))


def _literal(node: exp.Literal, sign: str) -> Scalar:
    text = sign + node.this
    if node.is_string:
        return Scalar(STRING, lambda _: node.this)
    if "e" in text.lower():
        return Scalar(DOUBLE, lambda _: float(text))
    number = Decimal(text)
    if "." in text or not -(1 << 63) <= number < 1 << 63:
        return Scalar(_shown_digits(number), lambda _: number, literal=number)
    small = -(1 << 31) <= number < 1 << 31
    return Scalar(INT if small else BIGINT, lambda _: int(number), literal=number)


def _shown_digits(number: Decimal) -> Type:
    _, digits, exponent = number.as_tuple()
    return Type("decimal", max(len(digits), -int(exponent)), -int(exponent))


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
    if compare not in (operator.eq, operator.ne) and (beyond := _beyond_bigint(left, right)):
        # Spark decides this without a look at the column: `n < 9223372036854775808` even for NULL.
        always = compare(*beyond)
        return Scalar(BOOLEAN, lambda _: always)
    common = wider(left.type, right.type)
    return _strict(
        BOOLEAN,
        lambda a, b: compare(order(a), order(b)),
        converted(left, common),
        converted(right, common),
    )


def _beyond_bigint(left: Scalar, right: Scalar) -> tuple[Decimal, Decimal] | None:
    """Both sides, zero for the integer, if the other is a literal that no bigint reaches."""

    def far(scalar: Scalar) -> bool:
        return scalar.literal is not None and not -(1 << 63) <= scalar.literal <= (1 << 63) - 1

    if left.type.name in INTEGERS and far(right):
        return Decimal(0), right.literal or Decimal(0)
    if right.type.name in INTEGERS and far(left):
        return left.literal or Decimal(0), Decimal(0)
    return None


def _equal_or_both_null(left: Scalar, right: Scalar) -> Scalar:
    equal = _comparison(operator.eq, left, right)

    def of(env: Any) -> bool:
        return bool(equal.of(env)) or (left.of(env) is None and right.of(env) is None)

    return Scalar(BOOLEAN, of)


def _membership(value: Scalar, members: list[Scalar]) -> Scalar:
    # All meet in one type: in `n IN (9007199254740993, 0.5D)` that is double, for both members.
    common = reduce(wider, (m.type for m in members), value.type)
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
    common = reduce(wider, (c.type for c in choices))
    choices = [converted(c, common) for c in choices]

    def of(env: Any) -> Any:
        return next((v for c in choices if (v := c.of(env)) is not None), None)

    return Scalar(common, of)


def _choice(branches: list[tuple[Scalar, Scalar]], otherwise: Scalar) -> Scalar:
    common = reduce(wider, (value.type for _, value in branches), otherwise.type)
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
    common = wider(left.type, right.type)
    if symbol == "/":
        common = DOUBLE  # 7 / 2 is 3.5
    if common.name in INTEGERS:
        return _strict(common, lambda a, b: in_range(_integers(symbol, a, b), common), left, right)
    if common not in (FLOAT, DOUBLE):
        raise Unsupported(f"{left.type.name} {symbol} {right.type.name}")
    left, right = converted(left, common), converted(right, common)
    return _strict(common, lambda a, b: cast(_floats(symbol, a, b), common), left, right)


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
    own = (x.type if x.literal is None else _shown_digits(x.literal) for x in (left, right))
    (p1, s1), (p2, s2) = (as_decimal(kind)[1:] for kind in own)
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
    target = within_38(*result)

    def compute(a: Decimal | int, b: Decimal | int) -> Decimal:
        if symbol in "/%" and b == 0:
            raise WouldFail("division by zero")
        function = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide}
        return rounded(function.get(symbol, EXACT.remainder)(Decimal(a), Decimal(b)), target)

    return _strict(target, compute, left, right)


def _signed(function: Callable[[Any], Any], scalar: Scalar) -> Scalar:
    def compute(value: Any) -> Any:
        if isinstance(value, Near):
            return Near(function(float(value)), value.tolerance)
        if isinstance(value, Decimal):
            with localcontext(EXACT):  # else even a change of sign would round to 28 digits
                return rounded(function(value), scalar.type)
        return in_range(function(value), scalar.type) if isinstance(value, int) else function(value)

    return _strict(scalar.type, compute, scalar)


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
