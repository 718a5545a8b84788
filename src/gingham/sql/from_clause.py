"""The FROM clause taken apart: relations, their aliases, joins, and the window clause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.core.time import parse_duration
from gingham.logical.window import Window
from gingham.sql.statement import NOTHING, Span, Statement

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
    """What FROM names: the first relation, the joins after it, and `[RANGE r SLIDE s]`."""

    first: NamedRelation
    joins: tuple[JoinClause, ...]
    window: Window | None
    window_span: tuple[int, int]  # where the window clause stands in the text

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

    def read(self) -> FromClause:
        """Read the first relation, then each join."""
        first = self._relation()
        joins: list[JoinClause] = []
        while self._position < self._end:
            joins.append(self._join())
        return FromClause(first, tuple(joins), self._window, self._window_span)

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
        """Read `[RANGE r SLIDE s]`, if it stands here."""
        if self._position >= self._end or self._tokens[self._position].text != "[":
            return
        opened = self._tokens[self._position]
        if self._tokens[self._position + 1].upper not in ("RANGE", "SLIDE"):
            raise self._unexpected()
        if self._window is not None:
            raise QueryError(
                f"two windows: a second [RANGE ...] at {self._statement.place(self._position)}",
                "a query has one window",
                "two queries, one for each window",
            )
        inside = [self._tokens[i] for i in range(self._position + 1, opened.closes)]
        words = [token.upper for token in inside]
        slide = words.index("SLIDE") if "SLIDE" in words else 0
        if words[0] != "RANGE" or not 1 < slide < len(words) - 1:
            raise QueryError(
                f"an incomplete window clause at {self._statement.place(self._position)}",
                "a window needs its length and how often it is reported: RANGE and SLIDE",
                "[RANGE '12 min' SLIDE '5 min']",
            )
        text = self._statement.text
        lengths = (
            text[tokens[0].start : tokens[-1].stop].strip("'")
            for tokens in (inside[1:slide], inside[slide + 1 :])
        )
        self._window = Window.ending_at(*map(parse_duration, lengths))
        self._window_span = (opened.start, self._tokens[opened.closes].stop)
        self._position = opened.closes + 1
