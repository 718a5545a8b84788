"""Conditions to predicates: atoms where an expression meets a constant, opaque otherwise."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

from gingham.core.errors import QueryError
from gingham.logical.domain import Constant
from gingham.logical.predicate import (
    TRUE,
    Always,
    And,
    Compare,
    IsNull,
    Matches,
    Not,
    Or,
    Predicate,
    TextTest,
    Truth,
)
from gingham.sql.expression import Expression, Part, Replaced, joined, parenthesized
from gingham.sql.statement import Span, split, unnested
from gingham.sql.tokens import MOST_DEPTH, Token

# The operator, and the operator with its sides exchanged.
_COMPARISONS = {
    "=": ("=", "="),
    "==": ("=", "="),
    "<": ("<", ">"),
    "<=": ("<=", ">="),
    ">": (">", "<"),
    ">=": (">=", "<="),
    "<=>": ("<=>", "<=>"),
    "<>": ("=", "="),
    "!=": ("=", "="),
}
_NEGATED = ("<>", "!=")
_PREDICATES = frozenset({"IS", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "NOT"})
# What makes a condition of operands, or of other conditions.
_OF_CONDITIONS = frozenset({*_COMPARISONS, *_PREDICATES, "!", "AND", "OR"})
_INTEGERS = {"": 63, "L": 63, "S": 15, "Y": 7}
_NUMBER = re.compile(r"(?P<value>[\d.]+(?:E[+-]?\d+)?)(?P<suffix>BD|[LSYFD])?", re.IGNORECASE)
_STRING = re.compile(r"'([^'\\]|\\[\\'\"ntr%_]|'')*'")
_ESCAPES = {
    "\\\\": "\\", "\\'": "'", '\\"': '"', "\\n": "\n", "\\t": "\t", "\\r": "\r", "''": "'",
    "\\%": "\\%", "\\_": "\\_",  # these keep their backslash, for LIKE
}  # fmt: skip
_ZONED = re.compile(
    r"(?!0000)\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:\.\d{6})?(?:Z|[+-](?:0\d|1[0-7]):[0-5]\d)"
)
# Tests of strings, by the function or the word that stands for them.
_TESTS: dict[str, Literal["contains", "startswith", "endswith", "like", "rlike"]] = {
    "CONTAINS": "contains",
    "STARTSWITH": "startswith",
    "ENDSWITH": "endswith",
    "LIKE": "like",
    "RLIKE": "rlike",
    "REGEXP": "rlike",
    "REGEXP_LIKE": "rlike",
}
_CASES: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper}


class Formula(NamedTuple):
    """A condition twice: as a predicate over comparisons, and as an expression for Spark."""

    predicate: Predicate
    sql: Expression


NO_CONDITION = Formula(TRUE, Expression(("TRUE",)))
Read = Callable[[Span], Expression]


def all_of(terms: Sequence[Formula]) -> Formula:
    """The conjunction of formulas."""
    return _combined("AND", And, terms) if terms else NO_CONDITION


def equality_sides(tokens: Sequence[Token], span: Span) -> tuple[Span, Span] | None:
    """Both sides of a condition that is one equality and nothing else; None for any other."""
    span = unnested(tokens, span)
    if not span:
        return None
    depth = tokens[span.low].depth
    found = [
        i
        for i in range(span.low, span.high)
        if tokens[i].depth == depth and tokens[i].upper in _OF_CONDITIONS
    ]
    if len(found) != 1 or tokens[found[0]].text not in ("=", "=="):
        return None
    sides = Span(span.low, found[0]), Span(found[0] + 1, span.high)
    return sides if all(sides) else None


class Conditions:
    """Reads conditions of one query; `read` turns a range of its tokens into an expression."""

    def __init__(self, tokens: Sequence[Token], read: Read) -> None:
        self._tokens = tokens
        self._read = read

    def formula(self, span: Span) -> Formula:
        """The formula of a range of tokens: OR over AND over NOT over single conditions."""
        if not span:
            raise QueryError(
                f"a condition is missing before {self._tokens[span.high].text or 'the end'}",
                "AND, OR and NOT stand between conditions",
                "a comparison, for example x > 0",
            )
        alternatives = list(split(self._tokens, span, "OR"))
        if len(alternatives) > 1:
            return _combined("OR", Or, [self.formula(span) for span in alternatives])
        conjuncts = list(self.conjuncts(span))
        if len(conjuncts) > 1:
            return all_of([self.formula(span) for span in conjuncts])
        operand = self._operand(span)
        if operand != span:
            found, negations = self.formula(operand), operand.low - span.low
            sql = Expression((*["NOT"] * negations, *parenthesized(found.sql).parts))
            # NOT NOT x is x, also where x is NULL.
            return Formula(Not(found.predicate) if negations % 2 else found.predicate, sql)
        inner = unnested(self._tokens, span)
        return self._single(span) if inner == span else self.formula(inner)

    def _operand(self, span: Span) -> Span:
        """What is behind all NOTs at the start of a condition."""
        low = span.low
        while low < span.high and self._tokens[low].upper in ("NOT", "!"):
            low += 1
        if low - span.low > MOST_DEPTH:
            raise QueryError(
                f"more than {MOST_DEPTH} NOTs in a row",
                "they are read one within the other",
                "one NOT, or none",
            )
        return Span(low, span.high)

    def conjuncts(self, span: Span) -> Iterator[Span]:
        """The terms of `a AND b AND ...`, or all if there is an OR around them.

        The AND of a BETWEEN belongs to it.
        """
        if not span:
            return
        if len(list(split(self._tokens, span, "OR"))) > 1:
            yield span
            return
        depth, low, between = self._tokens[span.low].depth, span.low, 0
        for i in range(span.low, span.high):
            if self._tokens[i].depth != depth:
                continue
            if self._tokens[i].upper == "BETWEEN":
                between += 1
            elif self._tokens[i].upper == "AND" and between:
                between -= 1
            elif self._tokens[i].upper == "AND":
                yield Span(low, i)
                low = i + 1
        yield Span(low, span.high)

    def _single(self, span: Span) -> Formula:
        """The formula of one condition: an atom if it compares with a constant, else opaque."""
        at_top = [
            i
            for i in range(span.low, span.high)
            if self._tokens[i].depth == self._tokens[span.low].depth
        ]
        words = [i for i in at_top if self._tokens[i].upper in _PREDICATES]
        operators = [i for i in at_top if self._tokens[i].upper in _COMPARISONS]
        if words:
            found = self._with_word(span, words[0])
        elif len(operators) == 1:
            found = self._comparison(span, operators[0])
        else:
            found = self._constant_condition(span) or self._test_call(span)
        if found is None:
            sql = self._read(span)
            return Formula(Truth(sql.run), sql)
        return found

    def _constant_condition(self, span: Span) -> Formula | None:
        """TRUE, FALSE or NULL as a condition."""
        value = {"TRUE": True, "FALSE": False, "NULL": None}
        word = self._tokens[span.low].upper
        if span.high - span.low != 1 or word not in value:
            return None
        return Formula(Always(value[word]), self._read(span))

    def _comparison(self, span: Span, i: int) -> Formula | None:
        """`expression operator constant`, or the other way round; None if both are no such."""
        text = self._tokens[i].upper
        sides = Span(span.low, i), Span(i + 1, span.high)
        if not all(sides):
            return None
        operator, flipped = _COMPARISONS[text]
        left, right = map(self.constant, sides)
        if (left is None) == (right is None):
            return None
        side, constant, known = (
            (sides[0], right, sides[1]) if right is not None else (sides[1], left, sides[0])
        )
        assert constant is not None
        operator = operator if right is not None else flipped
        atom = self._atom(side, operator, constant, known)
        ends = [self._checked(s, constant) if s == known else self._read(s) for s in sides]
        sql = Expression((*ends[0].parts, text, *ends[1].parts))
        return Formula(Not(atom) if text in _NEGATED else atom, sql)

    def _atom(
        self,
        side: Span,
        operator: str,
        constant: Constant,
        known: Span,
        whole: str | None = None,
    ) -> Predicate:
        """The atom that compares an expression with a constant; `whole` is what it is part of."""
        expression = self._read(unnested(self._tokens, side))
        if constant.kind == "null":
            return IsNull(expression.run) if operator == "<=>" else Always(None)
        if whole is None:
            whole = Expression((*self._read(side).parts, operator, *self._read(known).parts)).run
        return Compare(expression.run, operator, constant, whole)

    def _checked(self, span: Span, constant: Constant) -> Expression:
        """A constant as written; to be compared it is written as it was understood."""
        written = self._read(span)
        if constant.kind != "string":
            return written
        inner, _ = self._in_one_case(span)
        literal = self.constant(inner)
        assert literal is not None
        understood = Replaced(self._read(inner).run, string_literal(literal.value))
        around = self._raw(Span(span.low, inner.low)), self._raw(Span(inner.high, span.high))
        return Expression((*around[0], understood, *around[1]))

    def _with_word(self, span: Span, i: int) -> Formula | None:
        """A condition with IS, IN, BETWEEN, LIKE or RLIKE at its top; None for any other word."""
        negated = self._tokens[i].upper == "NOT"
        word = self._tokens[i + negated].upper
        side, rest = Span(span.low, i), Span(i + negated + 1, span.high)
        if not side or not rest:
            return None
        found: Formula | None = None
        if word == "IS" and not negated:
            found = self._is(span, side, rest)
        elif word == "BETWEEN":
            found = self._between(span, side, rest)
        elif word == "IN":
            found = self._in(span, side, rest)
        elif word in _TESTS:
            found = self._test(span, word, side, rest, self._plain(side, rest, word))
        if found is None or not negated:
            return found
        return Formula(Not(found.predicate), found.sql)

    def _is(self, span: Span, side: Span, rest: Span) -> Formula | None:
        """IS [NOT] NULL, IS [NOT] TRUE and IS [NOT] FALSE."""
        negated = self._tokens[rest.low].upper == "NOT"
        word = self._tokens[rest.low + negated].upper
        if rest.high - rest.low != 1 + negated or word not in ("NULL", "TRUE", "FALSE"):
            return None
        is_null = IsNull(self._read(unnested(self._tokens, side)).run)
        test: Predicate = is_null
        if word != "NULL":
            truth = self.formula(side).predicate
            # NULL IS TRUE is false, and so is NULL IS FALSE.
            test = And((Not(is_null), truth if word == "TRUE" else Not(truth)))
        return Formula(Not(test) if negated else test, self._read(span))

    def _between(self, span: Span, side: Span, rest: Span) -> Formula | None:
        """`x BETWEEN low AND high` as two comparisons, if both ends are constants."""
        ends = list(split(self._tokens, rest, "AND"))
        constants = [self.constant(end) for end in ends]
        low, high = constants if len(constants) == 2 else (None, None)
        if low is None or high is None or low.kind != high.kind:
            return None
        sql = self._with_constants(span, zip(ends, (low, high), strict=True))
        whole = self._plain(side, rest, "BETWEEN")
        atoms = (
            self._atom(side, ">=", low, ends[0], whole),
            self._atom(side, "<=", high, ends[1], whole),
        )
        return Formula(And(atoms), sql)

    def _in(self, span: Span, side: Span, rest: Span) -> Formula | None:
        """`x IN (a, b)` as alternatives; Spark compares a whole list in one type."""
        opened = self._tokens[rest.low]
        if opened.text != "(" or opened.closes != rest.high - 1:
            return None
        elements = list(split(self._tokens, Span(rest.low + 1, rest.high - 1), ","))
        constants = [self.constant(element) for element in elements]
        known = [c for c in constants if c is not None]
        kinds = {c.kind for c in known if c.kind != "null"}
        if len(known) < len(elements) or not (len(kinds) <= 1 or kinds == {"integer", "decimal"}):
            return None
        whole = self._plain(side, rest, "IN")
        atoms = tuple(
            self._atom(side, "=", c, e, whole) for c, e in zip(known, elements, strict=True)
        )
        return Formula(Or(atoms), self._with_constants(span, zip(elements, known, strict=True)))

    def _test_call(self, span: Span) -> Formula | None:
        """`contains(x, 'text')` and its like as a test of a string; None for any other call."""
        word, opened = self._tokens[span.low].upper, self._tokens[span.low + 1]
        if word not in _TESTS or opened.text != "(" or opened.closes != span.high - 1:
            return None
        arguments = list(split(self._tokens, Span(span.low + 2, span.high - 1), ","))
        if len(arguments) != 2 or not all(arguments):
            return None
        side, rest = arguments
        return self._test(span, word, side, rest, self._read(span).run)

    def _test(self, span: Span, word: str, side: Span, rest: Span, plain: str) -> Formula | None:
        """A test of a string against a constant pattern; None if the pattern is no constant."""
        constant = self.constant(rest)
        if constant is None or constant.kind != "string":
            return None
        expression = self._read(unnested(self._tokens, side)).run
        test = TextTest(_TESTS[word], constant.value)
        sql = self._with_constants(span, iter([(rest, constant)]))
        return Formula(Matches(expression, test, plain), sql)

    def _plain(self, side: Span, rest: Span, word: str) -> str:
        """A condition without its NOT, as Spark evaluates it where it cannot be cut."""
        # Not as comparisons of ours: Spark pads strings of type CHAR in these, and not in BETWEEN.
        return Expression((*self._read(side).parts, word, *self._read(rest).parts)).run

    def _with_constants(self, span: Span, known: Iterator[tuple[Span, Constant]]) -> Expression:
        """A condition whose constants are compared as they were understood."""
        parts: list[Part] = []
        position = span.low
        for where, constant in known:
            parts += self._raw(Span(position, where.low))
            parts += self._checked(where, constant).parts
            position = where.high
        return Expression((*parts, *self._raw(Span(position, span.high))))

    def _raw(self, span: Span) -> Sequence[Part]:
        """The parts of a range of tokens, which may be empty."""
        return self._read(span).parts if span else ()

    def constant(self, span: Span) -> Constant | None:
        """The constant that a range of tokens stands for; None if it is no literal.

        A string of ASCII may stand in lower(...) or upper(...).
        """
        inner, change = self._in_one_case(span)
        if change is not None:
            found = self.constant(inner)
            if found is None or found.kind != "string" or not found.value.isascii():
                return None
            return Constant("string", change(found.value))
        span = unnested(self._tokens, span)
        tokens = self._tokens[span.low : span.high]
        negative = tokens[0].text == "-"
        tokens = tokens[1:] if negative or tokens[0].text == "+" else tokens
        if len(tokens) == 1 and tokens[0].kind == "number":
            return _number(tokens[0].text, negative=negative)
        if len(tokens) < span.high - span.low:
            return None
        if len(tokens) == 1:
            return _word_or_string(tokens[0])
        if len(tokens) == 2 and tokens[0].upper == "DATE" and tokens[1].kind == "string":
            return _date(tokens[1].text[1:-1])
        if len(tokens) == 2 and tokens[0].upper == "TIMESTAMP" and tokens[1].kind == "string":
            return _timestamp(tokens[1].text[1:-1])
        return None

    def _in_one_case(self, span: Span) -> tuple[Span, Callable[[str], str] | None]:
        """What stands in lower(...) or upper(...), and what that does; else the range itself."""
        inner = unnested(self._tokens, span)
        word, opened = self._tokens[inner.low].upper, self._tokens[inner.low + 1]
        if word in _CASES and opened.text == "(" and opened.closes == inner.high - 1:
            argument = Span(inner.low + 2, inner.high - 1)
            if argument:
                return argument, _CASES[word]
        return inner, None


def _combined(word: str, kind: type[And | Or], formulas: Sequence[Formula]) -> Formula:
    """The formula of several ones with the same operator between them."""
    if len(formulas) == 1:
        return formulas[0]
    terms = [parenthesized(f.sql) if isinstance(f.predicate, And | Or) else f.sql for f in formulas]
    return Formula(kind(tuple(f.predicate for f in formulas)), joined(word, terms))


def string_literal(value: str) -> str:
    """A string as a literal of Spark SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\u0000")
    return f"'{escaped}'"


def _word_or_string(token: Token) -> Constant | None:
    """The constant of TRUE, FALSE, NULL or a string with none but common escapes."""
    if token.kind == "string" and token.text[0] in "rR":
        return Constant("string", token.text[2:-1])
    if token.kind == "string" and _STRING.fullmatch(token.text):
        body = token.text[1:-1]
        value = re.sub(r"\\.|''", lambda found: _ESCAPES[found[0]], body, flags=re.DOTALL)
        return Constant("string", value)
    values = {"TRUE": True, "FALSE": False}
    if token.upper in values:
        return Constant("boolean", values[token.upper])
    return Constant("null", None) if token.upper == "NULL" else None


def _number(text: str, *, negative: bool) -> Constant | None:
    """The constant of a numeric literal, of the type that Spark gives it."""
    found = _NUMBER.fullmatch(text)
    assert found is not None, text
    digits, suffix = found["value"], (found["suffix"] or "").upper()
    exact = Decimal(digits).copy_negate() if negative else Decimal(digits)
    if suffix == "D" or ("e" in digits.lower() and suffix == ""):
        return Constant("double", float(f"-{digits}" if negative else digits))
    if suffix == "BD" or ("." in digits and suffix == ""):
        return Constant("decimal", exact)
    if suffix not in _INTEGERS or "." in digits or "e" in digits.lower():
        return None
    value, limit = int(exact), 1 << _INTEGERS[suffix]
    if -limit <= value < limit:
        return Constant("integer", value)
    return Constant("decimal", exact) if suffix == "" else None


def _timestamp(text: str) -> Constant | None:
    """The constant of TIMESTAMP '...' with a zone: without one it depends on the session."""
    if not _ZONED.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text.replace(" ", "T", 1))
    except ValueError:
        return None
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return Constant("timestamp", since // datetime.timedelta(microseconds=1))


def _date(text: str) -> Constant | None:
    """The constant of a DATE literal, in days since 1970."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return None
    return Constant("date", (day - datetime.date(1970, 1, 1)).days)
