"""Predicates: boolean formulas over spans of attributes, evaluated cell by cell.

A parsed predicate compares expressions with constants (`Compare`, `IsNull`, `Truth`). When Spark
has given the types of these expressions, every comparison becomes a `Span` of an ordered attribute,
or an opaque boolean attribute that Spark evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gingham.core.arrays import Bools
from gingham.logical.domain import (
    BOOLEAN,
    END,
    START,
    Bound,
    Constant,
    Domain,
    cast_for,
    compared,
    cut,
    natural,
    sort_key,
)


@dataclass(frozen=True, slots=True)
class TextTest:
    """A test of a string: whether it contains, starts with, ends with or is like a pattern."""

    kind: Literal["contains", "startswith", "endswith", "like", "rlike"]
    pattern: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """An expression that predicates compare with constants.

    If it is the test of a string, that string's expression and the test are known, too.
    """

    sql: str
    domain: Domain
    text: str | None = field(default=None, compare=False, repr=False)
    test: TextTest | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Always:
    """TRUE, FALSE or NULL for every row."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Compare:
    """`expression op constant`, before types are known; `sql` is the whole comparison."""

    expression: str
    operator: str  # one of = < <= > >= <=>
    constant: Constant
    sql: str


@dataclass(frozen=True, slots=True)
class IsNull:
    """`expression IS NULL`, before types are known."""

    expression: str


@dataclass(frozen=True, slots=True)
class Truth:
    """An opaque boolean expression."""

    expression: str


@dataclass(frozen=True, slots=True)
class Matches:
    """A test of a string against a constant pattern; `sql` is the whole condition."""

    expression: str
    test: TextTest
    sql: str


@dataclass(frozen=True, slots=True)
class Span:
    """low <= attribute < high; `on_null` is its value where the attribute is NULL."""

    attribute: Attribute
    low: Any = START
    high: Any = END
    on_null: bool | None = None


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a predicate."""

    term: Predicate


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of any number of predicates."""

    terms: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of any number of predicates."""

    terms: tuple[Predicate, ...]


Predicate = Always | Compare | IsNull | Truth | Matches | Span | Not | And | Or
TRUE = Always(value=True)


def conjunction(*terms: Predicate) -> Predicate:
    """The conjunction of predicates, without those that are always true."""
    needed = tuple(dict.fromkeys(t for t in terms if t != TRUE))
    return TRUE if not needed else needed[0] if len(needed) == 1 else And(needed)


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """Iterate over the comparisons of a predicate, from left to right."""
    match predicate:
        case Not(term):
            yield from leaves(term)
        case And(terms) | Or(terms):
            for term in terms:
                yield from leaves(term)
        case _:
            yield predicate


def rewrite(predicate: Predicate, leaf: Callable[[Predicate], Predicate]) -> Predicate:
    """Replace every comparison of a predicate by what the function `leaf` makes of it."""
    match predicate:
        case Not(term):
            return Not(rewrite(term, leaf))
        case And(terms):
            return And(tuple(rewrite(t, leaf) for t in terms))
        case Or(terms):
            return Or(tuple(rewrite(t, leaf) for t in terms))
        case _:
            return leaf(predicate)


def expressions(predicate: Predicate) -> set[str]:
    """The SQL of the expressions in a predicate whose types must be known to make spans."""
    return {
        leaf.expression
        for leaf in leaves(predicate)
        if isinstance(leaf, Compare | IsNull | Truth | Matches)
    }


def typed(predicate: Predicate, types: Mapping[str, str]) -> Predicate:
    """Turn a predicate's comparisons into spans of attributes, by the types of their expressions.

    >>> p = Compare("vol", ">", Constant("integer", 100), "vol > 100")
    >>> typed(p, {"vol": "int"})
    Span(attribute=Attribute(sql='CAST(vol AS BIGINT)', domain=Domain(kind='integer', scale=0, \
precision=0)), low=101, high=END, on_null=None)
    """

    def attribute(sql: str, domain: Domain, kind: str) -> Attribute:
        """The attribute of an expression of a type, in the domain that it is compared in."""
        return Attribute(cast_for(sql, kind, domain), domain)

    def leaf(node: Predicate) -> Predicate:
        """The span, or the boolean attribute, of one comparison of the predicate."""
        match node:
            case Compare(expression, operator, constant, sql):
                domain = compared(types[expression], constant)
                if domain is None:
                    return Span(attribute(sql, BOOLEAN, "boolean"), low=True)
                return _span(attribute(expression, domain, types[expression]), operator, constant)
            case IsNull(expression):
                domain = natural(types[expression])
                if domain is None:
                    return Span(attribute(f"({expression}) IS NULL", BOOLEAN, "boolean"), low=True)
                ordered = attribute(expression, domain, types[expression])
                return Span(ordered, START, START, on_null=True)
            case Truth(expression):
                return Span(attribute(expression, BOOLEAN, "boolean"), low=True)
            case Matches(expression, test, sql):
                if types[expression] != "string":
                    return Span(attribute(sql, BOOLEAN, "boolean"), low=True)
                return Span(Attribute(sql, BOOLEAN, expression, test), low=True)
            case _:
                return node

    return rewrite(predicate, leaf)


def opaque(sql: str) -> Predicate:
    """A predicate as one boolean attribute, which Spark evaluates as it is written."""
    return Span(Attribute(sql, BOOLEAN), low=True)


def attributes(predicate: Predicate) -> tuple[Attribute, ...]:
    """The attributes that a typed predicate cuts, in order of appearance."""
    return tuple(
        dict.fromkeys(leaf.attribute for leaf in leaves(predicate) if isinstance(leaf, Span))
    )


def cuts(predicate: Predicate) -> Iterator[tuple[Attribute, Any]]:
    """The pairs of attribute and cut of a typed predicate, in order, with repetitions."""
    for leaf in leaves(predicate):
        if isinstance(leaf, Span):
            for bound in (leaf.low, leaf.high):
                if not isinstance(bound, Bound):
                    yield leaf.attribute, bound


@dataclass(frozen=True)  # no slots: cached properties need a __dict__
class Axis:
    """An attribute with all its cuts: intervals 0 to n, then NULL."""

    attribute: Attribute
    cuts: tuple[Any, ...]

    @property
    def null(self) -> int:
        """The number of the interval in which the attribute is NULL."""
        return len(self.cuts) + 1

    @property
    def size(self) -> int:
        """The number of intervals of the attribute, with that of NULL."""
        return len(self.cuts) + 2

    def interval_from(self, bound: Any) -> int:
        """The number of the first interval at or beyond a bound of a span."""
        if isinstance(bound, Bound):
            return 0 if bound is START else self.null
        return self._intervals[sort_key(bound)]

    @cached_property
    def _intervals(self) -> dict[Any, int]:
        """The number of the interval that begins at each cut."""
        return {sort_key(c): i + 1 for i, c in enumerate(self.cuts)}


@dataclass(frozen=True, slots=True)
class Truths:
    """The cells in which a predicate is true, and those in which it is false."""

    true: Bools
    false: Bools


def evaluate(predicate: Predicate, axes: tuple[Axis, ...]) -> Truths:
    """Evaluate a typed predicate in every cell of the grid that the axes span.

    FALSE AND NULL is false, TRUE OR NULL is true; in other cells with a NULL neither may be.
    """
    shape = tuple(axis.size for axis in axes)
    positions = {axis.attribute: position for position, axis in enumerate(axes)}
    truths = _evaluate(predicate, positions, axes)
    return Truths(
        true=np.broadcast_to(truths.true, shape).ravel(),
        false=np.broadcast_to(truths.false, shape).ravel(),
    )


def _evaluate(
    predicate: Predicate, positions: Mapping[Attribute, int], axes: tuple[Axis, ...]
) -> Truths:
    """Evaluate a predicate: a dimension for each axis, of length 1 if the axis is not compared."""
    match predicate:
        case Always(value):
            shape = (1,) * len(axes)
            return Truths(np.full(shape, value is True), np.full(shape, value is False))
        case Span():
            return _evaluate_span(predicate, positions[predicate.attribute], axes)
        case Not(term):
            inner = _evaluate(term, positions, axes)
            return Truths(true=inner.false, false=inner.true)
        case And(terms):
            parts = [_evaluate(t, positions, axes) for t in terms]
            return Truths(_all(p.true for p in parts), _any(p.false for p in parts))
        case Or(terms):
            parts = [_evaluate(t, positions, axes) for t in terms]
            return Truths(_any(p.true for p in parts), _all(p.false for p in parts))
        case _:
            raise TypeError(f"{predicate} has no type yet")


def _evaluate_span(span: Span, position: int, axes: tuple[Axis, ...]) -> Truths:
    """Evaluate a span in every interval of its axis, which is the one at this position."""
    axis = axes[position]
    inside = np.zeros(axis.size, dtype=bool)
    inside[axis.interval_from(span.low) : axis.interval_from(span.high)] = True
    outside = np.zeros(axis.size, dtype=bool)
    outside[: axis.null] = ~inside[: axis.null]
    if span.on_null is not None:
        (inside if span.on_null else outside)[axis.null] = True
    shape = [1] * len(axes)
    shape[position] = axis.size
    return Truths(inside.reshape(shape), outside.reshape(shape))


def _span(attribute: Attribute, operator: str, constant: Constant) -> Predicate:
    """The span of an attribute's values for which `value operator constant` is true."""
    before = cut(attribute.domain, constant, after=False)
    after = cut(attribute.domain, constant, after=True)
    match operator:
        case "<":
            return Span(attribute, high=before)
        case "<=":
            return Span(attribute, high=after)
        case ">":
            return Span(attribute, low=after)
        case ">=":
            return Span(attribute, low=before)
        case "=":
            return Span(attribute, before, after)
        case _:
            return Span(attribute, before, after, on_null=False)


def _any(parts: Iterator[Bools]) -> Bools:
    """Combine flags of cells by OR, over parts with a dimension for each axis."""
    total: Any = False
    for part in parts:
        total = total | part
    return np.asarray(total)


def _all(parts: Iterator[Bools]) -> Bools:
    """Combine flags of cells by AND, over parts with a dimension for each axis."""
    total: Any = True
    for part in parts:
        total = total & part
    return np.asarray(total)
