"""One SELECT taken apart: which tokens are its items, relations, conditions and keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gingham.core.errors import QueryError, at
from gingham.sql.tokens import Token, tokenize

SHAPE = (
    "SELECT keys, aggregates FROM stream WHERE predicate GROUP BY keys, window(ts, '10 minutes')"
)
_AS_SETS = ("answers are sets of rows", "an ORDER BY or a limit on the answer itself")
_ONE_SELECT = ("a query is one SELECT over one stream", "one query for each SELECT")
_REFUSED_CLAUSES: dict[str, tuple[str, str]] = {
    # why clauses after FROM are refused, and what to write instead
    "ORDER": _AS_SETS,
    "SORT": _AS_SETS,
    "CLUSTER": _AS_SETS,
    "DISTRIBUTE": _AS_SETS,
    "LIMIT": _AS_SETS,
    "OFFSET": _AS_SETS,
    "QUALIFY": ("window functions cannot be shared", "HAVING on an aggregate"),
    "WINDOW": ("window functions cannot be shared", "an aggregate over window(...)"),
    "LATERAL": ("a row would become many", "the explode in the stream's own DataFrame"),
    "PIVOT": ("a pivot is many aggregates", "one aggregate with FILTER (WHERE ...) per column"),
    "UNPIVOT": ("a row would become many", "the unpivot in the stream's own DataFrame"),
    "UNION": _ONE_SELECT,
    "EXCEPT": _ONE_SELECT,
    "INTERSECT": _ONE_SELECT,
    "MINUS": _ONE_SELECT,
    "|>": ("the pipe syntax is not read", SHAPE),
}
# The clauses after FROM, in their order.
_CLAUSES = ("WHERE", "GROUP", "HAVING")


class Span(NamedTuple):
    """A range of tokens: the indices of its first one and of the one after its last."""

    low: int
    high: int

    def __bool__(self) -> bool:
        return self.low < self.high


NOTHING = Span(0, 0)


class Item(NamedTuple):
    """An item of a SELECT list: the tokens of its expression, and its alias if it has one."""

    span: Span
    alias: str | None


class Statement(NamedTuple):
    """The text and tokens of a query, and which of them are which clause."""

    text: str
    tokens: Sequence[Token]
    items: tuple[Item, ...]
    source: Span  # the relations after FROM
    where: Span
    keys: tuple[Span, ...]
    having: Span
    grouped: bool  # is there a GROUP BY?
    keys_end: int  # where in the text one more key would be written

    def slice(self, span: Span) -> str:
        """The user's own characters of a range of tokens."""
        if not span:
            return ""
        return self.text[self.tokens[span.low].start : self.tokens[span.high - 1].stop]

    def place(self, index: int) -> str:
        """Where a token stands, for errors."""
        return at(self.text, self.tokens[index].start)

    def changed(self, changes: Iterable[tuple[int, int, str]]) -> str:
        """The user's text with some parts of it replaced, given by their positions."""
        text = self.text
        for start, stop, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[stop:]
        return text


def read_statement(text: str) -> Statement:
    """Take one SELECT apart; raises an error in three parts for any other text."""
    tokens = tokenize(text)
    end = len(tokens) - 1
    while end and tokens[end - 1].text == ";":
        end -= 1
    _refuse_other_statements(text, tokens, end)
    start = _first_clause(tokens, end)
    starts = dict(_clause_starts(text, tokens, start, end))
    bounds = [*starts.values(), end]

    def clause(word: str, skipped: int) -> Span:
        """The tokens of a clause, without its own words."""
        if word not in starts:
            return NOTHING
        low = starts[word]
        return Span(low + skipped, min(b for b in bounds if b > low))

    keys = clause("GROUP", 2)
    for word, skipped, what in (
        ("WHERE", 1, "a condition"),
        ("GROUP", 2, "a key"),
        ("HAVING", 1, "a condition"),
    ):
        if word in starts and not clause(word, skipped):
            raise _unreadable(text, tokens[starts[word]], f"{what} is missing")
    last = (keys or clause("WHERE", 1) or clause("FROM", 1)).high
    return Statement(
        text=text,
        tokens=tokens,
        items=tuple(_items(text, tokens, Span(1, start))),
        source=clause("FROM", 1),
        where=clause("WHERE", 1),
        keys=tuple(split(tokens, keys, ",")),
        having=clause("HAVING", 1),
        grouped="GROUP" in starts,
        keys_end=tokens[last - 1].stop,
    )


def split(tokens: Sequence[Token], span: Span, separator: str) -> Iterator[Span]:
    """The parts of a range of tokens between separators that no parenthesis is around."""
    if not span:
        return
    depth, low = tokens[span.low].depth, span.low
    for i in range(span.low, span.high):
        if tokens[i].depth == depth and tokens[i].upper == separator:
            yield Span(low, i)
            low = i + 1
    yield Span(low, span.high)


def unnested(tokens: Sequence[Token], span: Span) -> Span:
    """What is inside of parentheses around a whole range of tokens; a list in them stays."""
    while (
        span.high - span.low > 2
        and tokens[span.low].text == "("
        and tokens[span.low].closes == span.high - 1
        and len(list(split(tokens, Span(span.low + 1, span.high - 1), ","))) == 1
    ):
        span = Span(span.low + 1, span.high - 1)
    return span


def dotted_name(tokens: Sequence[Token], span: Span) -> list[str] | None:
    """The parts of a name with dots that a range of tokens is; None if it is anything else."""
    found = tokens[span.low : span.high]
    if len(found) % 2 == 0 or not all(token.is_name for token in found[::2]):
        return None
    if any(token.text != "." for token in found[1::2]):
        return None
    return [token.name for token in found[::2]]


def _refuse_other_statements(text: str, tokens: Sequence[Token], end: int) -> None:
    """Raise for a text that is not one SELECT."""
    first = tokens[0]
    statements = 1 + sum(t.text == ";" for t in tokens[:end])
    if not end or statements > 1:
        raise QueryError(f"{statements if end else 0} statements", _ONE_SELECT[0], SHAPE)
    if first.upper == "WITH":
        raise QueryError("WITH in a query", "a CTE would be a query of its own", SHAPE)
    if first.upper in ("INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "FROM", "VALUES"):
        raise QueryError(f"{first.upper} instead of a SELECT", _ONE_SELECT[0], SHAPE)
    if first.upper != "SELECT":
        raise _unreadable(text, first, "a query starts with SELECT")


def _first_clause(tokens: Sequence[Token], end: int) -> int:
    """The index of the FROM that ends the SELECT list."""
    if tokens[1].upper in ("DISTINCT", "ALL") and tokens[2].text != ",":
        raise QueryError(
            f"{tokens[1].upper} in a query",
            "every group gives one row per window already",
            "SELECT without it",
        )
    for i in range(1, end):
        # a IS DISTINCT FROM b
        if tokens[i].depth == 0 and tokens[i].upper == "FROM" and tokens[i - 1].upper != "DISTINCT":
            return i
    raise QueryError("no stream in FROM", "a query reads one registered stream", SHAPE)


def _clause_starts(
    text: str, tokens: Sequence[Token], start: int, end: int
) -> Iterator[tuple[str, int]]:
    """The clauses of a SELECT, and the index of the first word of each."""
    yield "FROM", start
    expected = list(_CLAUSES)
    for i in range(start + 1, end):
        upper = tokens[i].upper
        if tokens[i].depth or tokens[i - 1].text == ".":
            continue
        if upper in expected and (upper != "GROUP" or tokens[i + 1].upper == "BY"):
            expected = expected[expected.index(upper) + 1 :]
            yield upper, i
        elif upper in _REFUSED_CLAUSES and not _is_operand(tokens, i):
            why, instead = _REFUSED_CLAUSES[upper]
            raise QueryError(f"{upper} in a query", why, instead)
        elif upper in (*_CLAUSES, "FROM", "SELECT") and (
            upper != "GROUP" or tokens[i + 1].upper == "BY"
        ):
            if upper == "FROM" and tokens[i - 1].upper == "DISTINCT":
                continue
            raise _unreadable(text, tokens[i], f"{upper} stands where it cannot")


def _is_operand(tokens: Sequence[Token], i: int) -> bool:
    """Whether a word that opens a clause elsewhere is a call or a column here."""
    after = tokens[i + 1]
    if tokens[i].upper == "|>":
        return False
    if after.text in ("(", "."):
        return tokens[i].upper not in ("PIVOT", "UNPIVOT")
    before = tokens[i - 1]
    return after.kind == "operator" or (before.kind == "operator" and before.text not in ")]")


def _items(text: str, tokens: Sequence[Token], span: Span) -> Iterator[Item]:
    """The items of a SELECT list with their aliases."""
    for part in split(tokens, span, ","):
        if not part:
            raise _unreadable(text, tokens[part.high], "an item of the SELECT list is missing")
        yield _item(text, tokens, part)


def _item(text: str, tokens: Sequence[Token], span: Span) -> Item:
    """An item of a SELECT list: `expression AS alias`, `expression alias` or `expression`."""
    last, before = tokens[span.high - 1], tokens[span.high - 2]
    if span.high - span.low >= 3 and before.upper == "AS" and before.depth == 0:
        if not last.is_name:
            raise _unreadable(text, last, "an alias is a name")
        return Item(Span(span.low, span.high - 2), last.name)
    if any(tokens[i].upper == "AS" and tokens[i].depth == 0 for i in range(span.low, span.high)):
        raise _unreadable(text, last, "an item has one alias")
    may_end = span.high - span.low >= 2 and last.depth == 0 and _ends_value(before)
    is_alias = last.is_name and last.upper not in _NO_ALIASES and not _in_interval(tokens, span)
    return (
        Item(Span(span.low, span.high - 1), last.name) if may_end and is_alias else Item(span, None)
    )


_NO_ALIASES = ("END", "NULL", "TRUE", "FALSE", "UNKNOWN")


def _ends_value(token: Token) -> bool:
    """Whether a token can be the last one of an expression."""
    if token.kind == "word":
        return token.upper not in ("AND", "OR", "NOT", "DIV", "IS", "LIKE", "RLIKE", "INTERVAL")
    return token.kind in ("name", "string", "number") or token.text in (")", "]", "*")


def _in_interval(tokens: Sequence[Token], span: Span) -> bool:
    """Whether the last word of an item is the unit of an INTERVAL."""
    for i in range(span.high - 2, span.low - 1, -1):
        token = tokens[i]
        if token.upper == "INTERVAL":
            return True
        if not (token.kind in ("number", "string", "word") or token.text in ("-", "+")):
            return False
    return False


def _unreadable(text: str, token: Token, why: str) -> QueryError:
    """The error of SQL that cannot be read at a token."""
    return QueryError(f"the SQL does not parse at {at(text, token.start)}", why, SHAPE)
