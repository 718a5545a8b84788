"""Syntax trees to predicates: atoms where an expression meets a constant, opaque otherwise."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

from sqlglot import exp

from gingham.core.decimals import shifted
from gingham.estimates.planning.tree_text import canonical_sql
from gingham.logical.domain import Constant
from gingham.logical.predicate import (
    Always,
    And,
    Compare,
    IsNull,
    Not,
    Or,
    Predicate,
    Truth,
)

_COMPARISONS: dict[type[exp.Expr], tuple[str, str]] = {
    # the operator, and the operator with its sides exchanged
    exp.EQ: ("=", "="),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
    exp.NullSafeEQ: ("<=>", "<=>"),
}
_INTEGERS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}


def to_predicate(node: exp.Expr) -> Predicate:
    """The predicate of a SQL condition's syntax tree.

    >>> from gingham.estimates.planning.tree_text import parse_expression
    >>> to_predicate(parse_expression("a > 5 AND f(b)"))
    And(terms=(Compare(expression='a', operator='>', constant=Constant(kind='integer', value=5), \
sql='a > 5'), Truth(expression='f(b)')))
    """
    match node:
        case exp.Paren():
            return to_predicate(node.this)
        case exp.And():
            return And(tuple(to_predicate(n) for n in node.flatten()))
        case exp.Or():
            return Or(tuple(to_predicate(n) for n in node.flatten()))
        case exp.Not():
            return Not(to_predicate(node.this))
        case exp.Boolean():
            return Always(bool(node.this))
        case exp.Null():
            return Always(None)
        case exp.NEQ():
            return Not(_comparison_predicate(exp.EQ(this=node.this, expression=node.expression)))
        case exp.NullSafeNEQ():
            return Not(
                _comparison_predicate(exp.NullSafeEQ(this=node.this, expression=node.expression))
            )
        case exp.Between():
            low = exp.GTE(this=node.this, expression=node.args["low"])
            high = exp.LTE(this=node.this, expression=node.args["high"])
            return And((_comparison_predicate(low), _comparison_predicate(high)))
        case exp.In() if _is_or_of_equalities(node):
            return Or(
                tuple(
                    _comparison_predicate(exp.EQ(this=node.this, expression=e))
                    for e in node.expressions
                )
            )
        case exp.Is():
            return _is_predicate(node)
        case exp.Anonymous() if node.name.lower() in ("isnull", "isnotnull"):
            test = IsNull(canonical_sql(node.expressions[0]))
            return test if node.name.lower() == "isnull" else Not(test)
        case _ if type(node) in _COMPARISONS:
            return _comparison_predicate(node)
        case _:
            return Truth(canonical_sql(node))


def to_constant(node: exp.Expr) -> Constant | None:
    """The constant that a SQL syntax tree stands for; None if it is no literal."""
    match node:
        case exp.Paren():
            return to_constant(node.this)
        case exp.Null():
            return Constant("null", None)
        case exp.Boolean():
            return Constant("boolean", bool(node.this))
        case exp.Literal():
            return Constant("string", node.this) if node.is_string else _numeric_constant(node.this)
        case exp.Neg():
            inner = to_constant(node.this)
            if inner is None or inner.kind not in ("integer", "decimal", "double"):
                return None
            return Constant(inner.kind, _negative(inner.value))
        case exp.Cast():
            return _cast_constant(node)
        case _:
            return None


def _is_or_of_equalities(node: exp.In) -> bool:
    """True if x IN (a, b) means x = a OR x = b: Spark compares a whole list in one type."""
    constants = [to_constant(n) for n in node.expressions]
    kinds = {c.kind for c in constants if c is not None and c.kind != "null"}
    constant = bool(constants) and None not in constants and not node.args.get("query")
    return constant and (len(kinds) <= 1 or kinds == {"integer", "decimal"})


def _comparison_predicate(node: exp.Expr) -> Predicate:
    """The predicate of a SQL comparison: an atom if one side is a constant, else opaque."""
    operator, flipped = _COMPARISONS[type(node)]
    left, right = to_constant(node.this), to_constant(node.expression)
    if left is not None and right is not None:
        return Truth(canonical_sql(node))
    if left is not None:
        return _compare(node, node.expression, flipped, left)
    if right is not None:
        return _compare(node, node.this, operator, right)
    return Truth(canonical_sql(node))


def _compare(node: exp.Expr, side: exp.Expr, operator: str, constant: Constant) -> Predicate:
    """The atom that compares one side of a SQL comparison with the constant on the other."""
    expression = canonical_sql(side.unnest())
    if constant.kind == "null":
        return IsNull(expression) if operator == "<=>" else Always(None)
    return Compare(expression, operator, constant, canonical_sql(node))


def _is_predicate(node: exp.Is) -> Predicate:
    """The predicate of the SQL conditions IS NULL, IS TRUE and IS FALSE."""
    inner = node.this
    if isinstance(node.expression, exp.Null):
        return IsNull(canonical_sql(inner.unnest()))
    if isinstance(node.expression, exp.Boolean):
        truth = to_predicate(inner)
        # NULL IS TRUE is false, and so is NULL IS FALSE.
        not_null = Not(IsNull(canonical_sql(inner.unnest())))
        return And((not_null, truth if node.expression.this else Not(truth)))
    return Truth(canonical_sql(node))


def _negative(value: float | Decimal) -> float | Decimal:
    """The value of a numeric SQL literal with a minus sign, with all digits of a decimal."""
    # Minus rounds a decimal to 28 digits.
    return value.copy_negate() if isinstance(value, Decimal) else -value


def _numeric_constant(text: str) -> Constant:
    """The constant of a numeric SQL literal, of the type that Spark gives it."""
    if re.search("[eE]", text):
        return Constant("double", float(text))
    if "." in text:
        return Constant("decimal", Decimal(text))
    value = int(text)
    return Constant("integer", value) if value < 1 << 63 else Constant("decimal", Decimal(value))


def _cast_constant(node: exp.Cast) -> Constant | None:
    """The constant of a CAST of a SQL literal, if the value survives it exactly."""
    inner = to_constant(node.this)
    kind = node.to.this.name
    if inner is None:
        return None
    if kind in _INTEGERS and inner.kind == "integer":
        limit = 1 << _INTEGERS[kind]
        return inner if -limit <= inner.value < limit else None
    if kind == "DOUBLE" and inner.kind in ("integer", "decimal", "double"):
        return Constant("double", float(inner.value))
    if kind == "DECIMAL" and inner.kind in ("string", "decimal"):
        return _decimal_constant(node.to, str(inner.value))
    if kind == "DATE" and inner.kind == "string":
        return _date_constant(inner.value)
    return None


def _decimal_constant(kind: exp.DataType, text: str) -> Constant | None:
    """The constant of a SQL text cast to DECIMAL(p, s), if it fits exactly."""
    limits = [int(parameter.name) for parameter in kind.expressions]
    if len(limits) != 2 or not re.fullmatch(r"-?\d+(\.\d+)?", text):
        return None
    value = Decimal(text)
    scaled = shifted(value, limits[1])
    exact = scaled == int(scaled) and abs(int(scaled)) < 10 ** limits[0]
    return Constant("decimal", value) if exact else None


def _date_constant(text: str) -> Constant | None:
    """The constant of a SQL text cast to DATE, in days since 1970."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return None
    return Constant("date", (day - datetime.date(1970, 1, 1)).days)
