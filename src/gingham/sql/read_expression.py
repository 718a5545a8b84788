"""Tokens to expressions: which names are columns, and which are functions, types or units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gingham.core.errors import QueryError
from gingham.sql.expression import KEYWORDS, Column, Expression, Part, Replaced
from gingham.sql.statement import Span
from gingham.sql.tokens import Token

_UNITS = frozenset({
    "YEAR", "YEARS", "QUARTER", "QUARTERS", "MONTH", "MONTHS", "WEEK", "WEEKS", "DAY", "DAYS",
    "DAYOFYEAR", "HOUR", "HOURS", "MINUTE", "MINUTES", "SECOND", "SECONDS", "MILLISECOND",
    "MILLISECONDS", "MICROSECOND", "MICROSECONDS",
})  # fmt: skip
# Functions whose first argument may be a unit of time without quotes.
_TAKE_UNIT = frozenset({
    "TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "TIMEDIFF",
    "TIMESTAMP_ADD", "TIMESTAMP_DIFF",
})  # fmt: skip
_CASTS = frozenset({"CAST", "TRY_CAST"})
# Words within the arguments of a function, between parts that are expressions.
_ARGUMENT_WORDS: Mapping[str, frozenset[str]] = {
    "TRIM": frozenset({"BOTH", "LEADING", "TRAILING"}),
    "SUBSTRING": frozenset({"FOR"}),
    "SUBSTR": frozenset({"FOR"}),
    "OVERLAY": frozenset({"PLACING", "FOR"}),
}
# Functions that are called without parentheses, unless a column has their name.
_WITHOUT_PARENTHESES = frozenset({
    "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "USER",
    "LOCALTIMESTAMP", "UNKNOWN",
})  # fmt: skip

# From the parts of a dotted name to the column, and the struct fields after it.
Resolve = Callable[[Sequence[str]], tuple[Column | Replaced, Sequence[str]]]
# What stands for tokens from an index on, and the index after the last of them.
Replacements = Mapping[int, tuple[int, Replaced]]


class Call(NamedTuple):
    """A function call in the text: its name in lower case, and where its parts are."""

    name: str
    first: int  # the index of the first token of its name
    opened: int  # and of its parentheses
    closed: int

    @property
    def span(self) -> Span:
        """The tokens of the whole call."""
        return Span(self.first, self.closed + 1)


def read_expression(
    tokens: Sequence[Token], span: Span, resolve: Resolve, replacements: Replacements | None = None
) -> Expression:
    """Read a range of tokens as an expression; names that are columns become references.

    Names of functions are in lower case and keywords in upper case, so that equal expressions of
    different queries have the same text. Everything else is as the user wrote it.
    """
    replaced = replacements or {}
    as_written = _no_columns(tokens, span)
    parts: list[Part] = []
    i = span.low
    while i < span.high:
        token = tokens[i]
        if i in replaced:
            i, part = replaced[i]
            parts.append(part)
        elif token.is_name and i not in as_written:
            stop = chain_end(tokens, i, span.high)
            try:
                reference, fields = resolve([tokens[j].name for j in range(i, stop, 2)])
            except QueryError:
                if stop > i + 1 or token.upper not in _WITHOUT_PARENTHESES:
                    raise
                reference, fields = token.text, ()
            parts.append(reference)
            for j in range(stop - 2 * len(fields) + 1, stop, 2):
                parts += (".", tokens[j].text)
            i = stop
        else:
            parts.append(as_written.get(i, token.text))
            i += 1
    return Expression(tuple(parts))


def calls(tokens: Sequence[Token], span: Span) -> Iterator[Call]:
    """The function calls in a range of tokens, outer ones before those in their arguments."""
    i = span.low
    while i < span.high:
        stop = chain_end(tokens, i, span.high) if tokens[i].is_name else i + 1
        name = ".".join(tokens[j].name.lower() for j in range(i, stop, 2))
        is_call = tokens[i].is_name and stop < span.high and tokens[stop].text == "("
        if is_call and not _is_keyword(tokens, i):
            yield Call(name, i, stop, tokens[stop].closes)
        i = stop


def chain_end(tokens: Sequence[Token], start: int, high: int) -> int:
    """The index after the last part of a dotted name that starts here."""
    stop = start + 1
    while stop + 1 < high and tokens[stop].text == "." and tokens[stop + 1].is_name:
        stop += 2
    return stop


def _is_keyword(tokens: Sequence[Token], i: int) -> bool:
    """Whether an unquoted word is part of the grammar, and no name of anything."""
    upper = tokens[i].upper
    if i and upper in ("ANY", "SOME", "ALL"):
        return tokens[i - 1].upper in ("LIKE", "ILIKE")
    return tokens[i].kind == "word" and upper in KEYWORDS and not (i and tokens[i - 1].text == ".")


def _no_columns(tokens: Sequence[Token], span: Span) -> dict[int, str]:
    """The tokens with names in them that are no columns, by index, as they are to be written."""
    written: dict[int, str] = {}
    for i in range(span.low, span.high):
        if tokens[i].is_name and _is_keyword(tokens, i):
            written[i] = tokens[i].upper
    for call in calls(tokens, span):
        for i in range(call.first, call.opened):
            token = tokens[i]
            written[i] = token.text.lower() if token.kind == "word" else token.text
        for i in _words_of_call(tokens, call):
            written[i] = tokens[i].text
    for i in range(span.low, span.high):
        for j in _names_around(tokens, i, span):
            written.setdefault(j, tokens[j].text)
    return written


def _words_of_call(tokens: Sequence[Token], call: Call) -> Iterator[int]:
    """The names in a function's own syntax: units of time, types, words between arguments."""
    name, first = call.name.upper(), call.opened + 1
    if name in _TAKE_UNIT and tokens[first].upper in _UNITS and tokens[first + 1].text == ",":
        yield first
    if name == "EXTRACT" and tokens[first + 1].upper == "FROM":
        yield first
    inside = [i for i in range(first, call.closed) if tokens[i].depth == tokens[first].depth]
    words = _ARGUMENT_WORDS.get(name, frozenset())
    for i in inside:
        if tokens[i].upper in words:
            yield i
        if tokens[i].upper == "AS":
            yield from range(i + 1, call.closed if name in _CASTS else i + 2)


def _names_around(tokens: Sequence[Token], i: int, span: Span) -> Iterator[int]:
    """The names that a token shows to be no columns: types, lambda variables, units, paths."""
    token, after = tokens[i], tokens[i + 1]
    match token.upper:
        case "->":
            yield from _lambda_variables(tokens, i, span)
        case "=>":
            yield i - 1
        case "::":
            yield from _type_names(tokens, i + 1, span)
        case ":":
            yield from range(i + 1, chain_end(tokens, i + 1, span.high))
        case "." if i > span.low and tokens[i - 1].text in (")", "]"):
            # Fields of what a function or an index gives: items[0].price
            yield from range(i + 1, chain_end(tokens, i + 1, span.high))
        case "COLLATE" if after.is_name:
            yield i
            yield from range(i + 1, chain_end(tokens, i + 1, span.high))
        case "INTERVAL" if after.kind != "operator" or after.text in ("-", "+", "("):
            yield i
            yield from _interval_units(tokens, i + 1, span)
        case "AT" if after.upper == "TIME" and tokens[i + 2].upper == "ZONE":
            yield from range(i, i + 3)
        case _ if token.kind == "word" and after.kind == "string" and i + 1 < span.high:
            yield i  # DATE '2024-01-01', X'1F'
        case _:
            pass


def _lambda_variables(tokens: Sequence[Token], arrow: int, span: Span) -> Iterator[int]:
    """The variables of a lambda, before its arrow and in its body."""
    depth = tokens[arrow].depth
    if tokens[arrow - 1].text == ")":
        first = next(i for i in range(arrow) if tokens[i].closes == arrow - 1)
        own = [i for i in range(first + 1, arrow - 1) if tokens[i].is_name]
    else:
        own = [arrow - 1]
    yield from own
    variables = {tokens[i].name.lower() for i in own}
    i = arrow + 1
    while i < span.high and not (
        tokens[i].depth < depth or (tokens[i].depth == depth and tokens[i].text == ",")
    ):
        if tokens[i].is_name and tokens[i].name.lower() in variables and tokens[i - 1].text != ".":
            yield from range(i, chain_end(tokens, i, span.high))
        i += 1


def _type_names(tokens: Sequence[Token], i: int, span: Span) -> Iterator[int]:
    """The names in a type after `::`: `int`, `decimal(10, 2)`, `array<int>`."""
    yield i
    if i + 1 < span.high and tokens[i + 1].text == "(":
        yield from range(i + 1, tokens[i + 1].closes)
    angles = 0
    for j in range(i + 1, span.high):
        text = tokens[j].text
        angles += text.count("<") - text.count(">") if set(text) <= {"<", ">"} else 0
        if angles <= 0:
            return
        if tokens[j].is_name:
            yield j


def _interval_units(tokens: Sequence[Token], i: int, span: Span) -> Iterator[int]:
    """The units of an INTERVAL literal: `INTERVAL 1 HOUR 30 MINUTES`, `... '1' DAY TO HOUR`."""
    value = False  # has the unit of a value been awaited?
    while i < span.high:
        token = tokens[i]
        if token.upper == "TO" and tokens[i + 1].upper in _UNITS:
            yield i
            value = True
        elif value and token.upper in _UNITS:
            yield i
            value = False
        elif not value and (token.kind in ("number", "string")):
            value = True
        elif not value and token.text == "(":
            i, value = token.closes, True
        elif not value and token.is_name and tokens[i + 1].upper in _UNITS:
            value = True
        elif token.text not in ("-", "+") or value:
            return
        i += 1
