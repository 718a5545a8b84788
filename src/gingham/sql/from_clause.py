"""The FROM clause taken apart: relations, their aliases, joins, and the window clause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.core.time import parse_duration
from gingham.logical.window import Clock, Window
from gingham.sql.statement import NOTHING, Span, Statement, split

_JOIN_WORDS = frozenset({
    "JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI", "NATURAL", "ASOF",
})  # fmt: skip
_NO_ALIASES = ("ON", "USING", "TABLESAMPLE", "VERSION", "TIMESTAMP", "FOR", "LATERAL", "MATCH")
# From the name of a relation to that of the view that stands for it when Spark compares queries.
StandIn = Callable[[str], str]


class NamedRelation(NamedTuple):
    """A relation as FROM names it: its name, where that stands in the text, its alias if any."""

    name: str
    start: int
    stop: int
    alias: str | None

    @property
    def key(self) -> str:
        """The name in lower case that columns of the relation are qualified with."""
        return (self.alias or self.name).lower()

    def over(self, stand_in: StandIn) -> str:
        """The stand-in of the relation, under the alias that columns are qualified with."""
        return f"{quoted(stand_in(self.name))} AS {quoted(self.key)}"


class JoinClause(NamedTuple):
    """A join as FROM has it: the words before JOIN, the relation, and USING or ON."""

    words: tuple[str, ...]  # none if a comma stands there
    relation: NamedRelation
    using: tuple[str, ...]
    on: Span

    @property
    def kind(self) -> tuple[str, ...]:
        """The words that say which kind of join it is: none for JOIN and for a comma."""
        return tuple(word for word in self.words if word != "JOIN")

    def over(self, stand_in: StandIn, on: str) -> str:
        """The join over stand-ins, from what was understood of it and of its ON."""
        relation = self.relation.over(stand_in)
        if not self.words:
            return f", {relation}"
        join = f" {' '.join(self.words)} {relation}"
        if self.using:
            return f"{join} USING ({', '.join(map(quoted, self.using))})"
        return f"{join} ON {on}" if on else join


class FromClause(NamedTuple):
    """What FROM names: the first relation, the joins after it, and the window clause.

    That is `[RANGE r SLIDE s]` or `[ROWS n SLIDE s PER columns]`; the clock of its window does not
    know the columns yet, whose tokens are `window_per`.
    """

    first: NamedRelation
    joins: tuple[JoinClause, ...]
    window: Window | None
    window_span: tuple[int, int]  # where the window clause stands in the text
    window_per: tuple[Span, ...] = ()

    @property
    def relations(self) -> tuple[NamedRelation, ...]:
        """All relations in the order in which they are written."""
        return (self.first, *(join.relation for join in self.joins))


def read_from(statement: Statement, known: Sequence[str]) -> FromClause:
    """Read the FROM clause; errors show the first of the names that are `known`."""
    return _FromReader(statement, next(iter(known), "stream")).read()


class _FromReader:
    """Reads FROM token by token."""

    def __init__(self, statement: Statement, example: str) -> None:
        self._statement = statement
        self._tokens = statement.tokens
        self._example = example
        self._position, self._end = statement.source
        self._window: Window | None = None
        self._window_span = (0, 0)
        self._window_per: tuple[Span, ...] = ()

    def read(self) -> FromClause:
        """Read the first relation, then each join."""
        first = self._relation()
        joins: list[JoinClause] = []
        while self._position < self._end:
            joins.append(self._join())
        return FromClause(first, tuple(joins), self._window, self._window_span, self._window_per)

    def _relation(self) -> NamedRelation:
        """The relation that stands here: a registered name, and an alias."""
        token = self._tokens[self._position] if self._position < self._end else self._tokens[-1]
        after = self._tokens[self._position + 1] if token.kind != "end" else token
        if token.text == "(":
            raise QueryError(
                f"a subquery in FROM at {self._statement.place(self._position)}",
                "only registered streams and tables are read, once for all queries",
                "a view of it: loom.table(name, df, key=...)",
            )
        if not token.is_name or token.upper in _JOIN_WORDS:
            raise QueryError(
                "no stream in FROM",
                "a query reads one registered stream",
                f"FROM {self._example}",
            )
        if after.text in (".", "(") and self._position + 1 < self._end:
            what = "a name with dots" if after.text == "." else "a table function"
            raise QueryError(
                f"{what} in FROM at {self._statement.place(self._position)}",
                "streams and tables are known by the names they are registered under",
                f"FROM {self._example}",
            )
        self._position += 1
        self._window_clause()
        alias = self._alias()
        self._window_clause()
        self._refuse_more()
        return NamedRelation(token.name, token.start, token.stop, alias)

    def _alias(self) -> str | None:
        """The alias of a relation, if one stands here."""
        if self._position >= self._end:
            return None
        token = self._tokens[self._position]
        if token.upper == "AS":
            self._position += 1
            token = self._tokens[self._position]
        elif not token.is_name or token.upper in {*_JOIN_WORDS, *_NO_ALIASES}:
            return None
        if not token.is_name:
            raise self._unexpected()
        self._position += 1
        return token.name

    def _refuse_more(self) -> None:
        """Raise for anything after a relation but a join or its condition."""
        if self._position >= self._end:
            return
        token = self._tokens[self._position]
        if token.text != "," and token.upper not in {*_JOIN_WORDS, "ON", "USING"}:
            raise self._unexpected()

    def _unexpected(self) -> QueryError:
        """The error of words in FROM that would be lost in silence."""
        where = self._statement.place(self._position)
        return QueryError(
            f"{self._tokens[self._position].text} in FROM at {where}",
            "FROM has the stream and joins with tables, each with an alias at most: no samples, "
            "versions or lists of columns",
            "FROM stream AS s JOIN table AS t USING (key)",
        )

    def _join(self) -> JoinClause:
        """The join that stands here."""
        words: list[str] = []
        if self._tokens[self._position].text == ",":
            self._position += 1
        else:
            while self._tokens[self._position].upper in _JOIN_WORDS:
                words.append(self._tokens[self._position].upper)
                self._position += 1
            if "NATURAL" in words:
                raise QueryError(
                    "a NATURAL JOIN",
                    "which columns it joins by changes with the columns of both sides",
                    "JOIN ... USING (key)",
                )
            if not words or words[-1] != "JOIN":
                raise self._unexpected()
        relation = self._relation()
        using, on = tuple[str, ...](), NOTHING
        token = self._tokens[self._position] if self._position < self._end else None
        if token is not None and token.upper == "USING":
            opened = self._tokens[self._position + 1]
            if opened.text != "(":
                raise self._unexpected()
            inside = range(self._position + 2, opened.closes)
            using = tuple(self._tokens[i].name for i in inside if self._tokens[i].is_name)
            self._position = opened.closes + 1
        elif token is not None and token.upper == "ON":
            low = self._position + 1
            while self._position < self._end and not self._ends_on(low):
                self._position += 1
            on = Span(low, self._position)
            if not on:
                raise self._unexpected()
        self._refuse_more()
        return JoinClause(tuple(words), relation, using, on)

    def _ends_on(self, low: int) -> bool:
        """Whether the token that stands here ends the condition of an ON."""
        token = self._tokens[self._position]
        if token.depth or self._position < low:
            return False
        is_call = self._tokens[self._position + 1].text in ("(", ".")
        return token.text == "," or (token.upper in _JOIN_WORDS and not is_call)

    def _window_clause(self) -> None:
        """Read `[RANGE r SLIDE s]` or `[ROWS n SLIDE s PER columns]`, if it stands here."""
        if self._position >= self._end or self._tokens[self._position].text != "[":
            return
        opened = self._tokens[self._position]
        kind = self._tokens[self._position + 1].upper
        if kind not in ("RANGE", "ROWS", "SLIDE"):
            raise self._unexpected()
        if self._window is not None:
            raise QueryError(
                f"two windows: a second [{kind} ...] at {self._statement.place(self._position)}",
                "a query has one window",
                "two queries, one for each window",
            )
        inside = Span(self._position + 1, opened.closes)
        words = [self._tokens[i].upper for i in range(*inside)]
        end = words.index("PER") if kind == "ROWS" and "PER" in words else len(words)
        slide = words.index("SLIDE") if "SLIDE" in words[:end] else 0
        if kind == "SLIDE" or not 1 < slide < end - 1:
            raise QueryError(
                f"an incomplete window clause at {self._statement.place(self._position)}",
                "a window needs its length and how often it is reported: RANGE or ROWS, and SLIDE",
                "[RANGE '12 min' SLIDE '5 min'] or [ROWS 1000 SLIDE 100]",
            )
        lengths = (
            Span(inside.low + 1, inside.low + slide),
            Span(inside.low + slide + 1, inside.low + end),
        )
        if kind == "ROWS":
            rows, slide = map(self._rows, lengths)
            self._window = Window.ending_at(rows, slide, Clock(by_rows=True))
            self._window_per = self._per(Span(inside.low + end + 1, inside.high))
        else:
            texts = (self._statement.slice(length).strip("'") for length in lengths)
            range_, slide = map(parse_duration, texts)
            self._window = Window.ending_at(range_, slide)
        self._window_span = (opened.start, self._tokens[opened.closes].stop)
        self._position = opened.closes + 1

    def _rows(self, length: Span) -> int:
        """The number of rows that a range of tokens says."""
        text = self._statement.slice(length)
        if not (text.isascii() and text.isdigit()):
            raise QueryError(
                f"{text} as a number of rows at {self._statement.place(length.low)}",
                "a window of rows has a whole number of them, known when the query is added",
                "for example [ROWS 1000 SLIDE 100]",
            )
        return int(text)

    def _per(self, columns: Span) -> tuple[Span, ...]:
        """The tokens of each column after PER, if there are any."""
        if columns.low > columns.high:
            return ()
        parts = tuple(split(self._tokens, columns, ","))
        if not parts or not all(parts):
            raise QueryError(
                f"PER without a column at {self._statement.place(columns.low - 1)}",
                "it says whose rows are counted apart",
                "[ROWS 1000 SLIDE 100 PER symbol]",
            )
        return parts
