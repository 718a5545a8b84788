"""The relations of FROM: the stream, its window clause, and joins with tables by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.core.time import parse_duration
from gingham.logical.catalog import Catalog, Table
from gingham.logical.query import Join, JoinUse
from gingham.logical.window import Window
from gingham.sql.expression import Expression, joined
from gingham.sql.predicates import Conditions
from gingham.sql.read_expression import read_expression
from gingham.sql.scope import Scope, matching_column, open_scope, table_called
from gingham.sql.statement import NOTHING, Span, Statement

_JOIN_WORDS = frozenset({
    "JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI", "NATURAL", "ASOF",
})  # fmt: skip


class Relation(NamedTuple):
    """A relation as FROM names it: its name, where that stands in the text, its alias if any."""

    name: str
    start: int
    stop: int
    alias: str | None


class JoinClause(NamedTuple):
    """A join as FROM has it: the words before JOIN, the relation, and USING or ON."""

    words: tuple[str, ...]
    relation: Relation
    using: tuple[str, ...]
    on: Span


class Source(NamedTuple):
    """What a query reads: its scope, its joins, and how these are compared with the original."""

    scope: Scope
    relations: tuple[Relation, ...]
    joins: tuple[JoinUse, ...]
    conditions: tuple[Span, ...]  # of WHERE and ON, without the equalities with keys
    check_from: str  # the FROM clause over stand-ins
    check_where: tuple[Span, ...]  # the terms of WHERE, all of them
    clause: Window | None  # [RANGE r SLIDE s]
    clause_span: tuple[int, int]  # where that stands in the text


def read_source(statement: Statement, catalog: Catalog) -> Source:
    """Read the FROM clause, and which terms of WHERE are joins with tables."""
    return _SourceReader(statement, catalog).read()


class _SourceReader:
    """Reads FROM token by token, and joins in the order in which they are written."""

    def __init__(self, statement: Statement, catalog: Catalog) -> None:
        self._statement = statement
        self._tokens = statement.tokens
        self._catalog = catalog
        self._position, self._end = statement.source
        self._clause: Window | None = None
        self._clause_span = (0, 0)

    def read(self) -> Source:
        """Read the stream, then each join."""
        stream = self._relation()
        scope = open_scope(stream.name, stream.alias, self._catalog)
        clauses: list[JoinClause] = []
        while self._position < self._end:
            clauses.append(self._join())
        scope.qualified = bool(clauses)
        conditions = Conditions(self._tokens, lambda span: self._expression(span, scope))
        where = list(conditions.conjuncts(self._statement.where))
        rest, uses, checks = list(where), list[JoinUse](), list[str]()
        for clause in clauses:
            table = table_called(clause.relation.name, self._catalog)
            alias = (clause.relation.alias or clause.relation.name).lower()
            if alias == scope.alias or alias in scope.joins:
                raise QueryError(
                    f"two relations called {alias}",
                    "a column could be of either",
                    f"another alias: JOIN {table.name} AS {alias}_2",
                )
            inner = _is_inner(clause.words)
            on_terms = list(conditions.conjuncts(clause.on))
            if clause.using:
                on = _using_columns(clause.using, table, alias, scope)
            else:
                terms = on_terms or rest
                on, others = self._key_equalities(terms, table, alias, scope)
                if on_terms and others and not inner:
                    raise QueryError(
                        f"LEFT JOIN {table.name} ON more than its key",
                        "a table is looked up once for all queries, by its key alone",
                        "the other conditions in FILTER (WHERE ...) or in the table itself",
                    )
                rest = [*rest, *others] if on_terms else others
            lookup = _lookup_join(table, on, self._catalog)
            scope.joins[alias] = (lookup, table)
            uses.append(JoinUse(lookup, drops_unmatched=inner))
            checks.append(self._check_of(clause, on_terms, scope))
        return Source(
            scope=scope,
            relations=(stream, *(clause.relation for clause in clauses)),
            joins=tuple(dict.fromkeys(uses)),
            conditions=tuple(rest),
            check_from="".join([self._stand_in(stream), *checks]),
            check_where=tuple(where),
            clause=self._clause,
            clause_span=self._clause_span,
        )

    def _check_of(self, clause: JoinClause, on: Sequence[Span], scope: Scope) -> str:
        """A join over stand-ins, from what was understood of it."""
        relation = self._stand_in(clause.relation)
        if not clause.words:
            return f", {relation}"
        join = f" {' '.join(clause.words)} {relation}"
        if clause.using:
            return f"{join} USING ({', '.join(map(quoted, clause.using))})"
        terms = [self._expression(span, scope) for span in on]
        return f"{join} ON {joined('AND', terms).check}" if terms else join

    def _stand_in(self, relation: Relation) -> str:
        """The stand-in of a relation, under the alias that columns are qualified with."""
        alias = (relation.alias or relation.name).lower()
        return f"{quoted(self._catalog.stand_in(relation.name))} AS {quoted(alias)}"

    def _expression(self, span: Span, scope: Scope) -> Expression:
        """A range of tokens as an expression over the relations so far."""
        return read_expression(self._tokens, span, scope.resolve)

    def _relation(self) -> Relation:
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
                "FROM " + next(iter(self._catalog.streams), "stream"),
            )
        if after.text in (".", "(") and self._position + 1 < self._end:
            what = "a name with dots" if after.text == "." else "a table function"
            raise QueryError(
                f"{what} in FROM at {self._statement.place(self._position)}",
                "streams and tables are known by the names they are registered under",
                f"FROM {next(iter(self._catalog.streams), 'stream')}",
            )
        self._position += 1
        self._window_clause()
        alias = self._alias()
        self._window_clause()
        self._refuse_more()
        return Relation(token.name, token.start, token.stop, alias)

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
        if self._clause is not None:
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
        self._clause = Window.ending_at(*map(parse_duration, lengths))
        self._clause_span = (opened.start, self._tokens[opened.closes].stop)
        self._position = opened.closes + 1

    def _key_equalities(
        self, terms: Sequence[Span], table: Table, alias: str, scope: Scope
    ) -> tuple[tuple[str, ...], list[Span]]:
        """The stream's side of `key = expression` for every key column, and the other terms."""
        key_values: dict[str, str] = {}
        rest: list[Span] = []
        for term in terms:
            match = self._key_and_value(term, table, alias, scope)
            if match is None or match[0] in key_values:
                rest.append(term)
            else:
                key_values[match[0]] = match[1]
        if set(key_values) != set(table.key):
            raise _not_by_key(table)
        return tuple(key_values[k] for k in table.key), rest

    def _key_and_value(
        self, term: Span, table: Table, alias: str, scope: Scope
    ) -> tuple[str, str] | None:
        """The key column on one side of an equality, and the expression on the other side."""
        tokens = self._tokens
        while tokens[term.low].text == "(" and tokens[term.low].closes == term.high - 1:
            term = Span(term.low + 1, term.high - 1)
        depth = tokens[term.low].depth
        equals = [
            i
            for i in range(term.low, term.high)
            if tokens[i].depth == depth and tokens[i].text in ("=", "==")
        ]
        if len(equals) != 1:
            return None
        sides = Span(term.low, equals[0]), Span(equals[0] + 1, term.high)
        for this, other in (sides, sides[::-1]):
            key = self._key_column(this, table, alias, scope)
            if key is not None and other:
                try:
                    return key, self._expression(other, scope).run
                except QueryError:
                    continue
        return None

    def _key_column(self, side: Span, table: Table, alias: str, scope: Scope) -> str | None:
        """The key column of the joined table that one side of an equality is; else None."""
        parts = [self._tokens[i].name for i in range(side.low, side.high, 2)]
        dots = all(self._tokens[i].text == "." for i in range(side.low + 1, side.high, 2))
        if (
            not parts
            or not dots
            or not all(self._tokens[i].is_name for i in range(side.low, side.high, 2))
        ):
            return None
        if len(parts) == 2 and parts[0].lower() == alias:
            return matching_column(parts[1], dict.fromkeys(table.key, ""))
        if len(parts) == 1 and not scope.reaches(parts[0]):
            return matching_column(parts[0], dict.fromkeys(table.key, ""))
        return None


_NO_ALIASES = ("ON", "USING", "TABLESAMPLE", "VERSION", "TIMESTAMP", "FOR", "LATERAL", "MATCH")


def _is_inner(words: Sequence[str]) -> bool:
    """True for JOIN, False for LEFT JOIN; raises for any other kind of join in the SQL text."""
    kind = tuple(word for word in words if word != "JOIN")
    if kind in (("LEFT",), ("LEFT", "OUTER")):
        return False
    if kind in ((), ("INNER",), ("CROSS",)):
        return True
    raise QueryError(
        f"a {' '.join(kind)} join",
        "rows of a stream are looked up in a table; the table has no rows of its own to give",
        "JOIN or LEFT JOIN",
    )


def _using_columns(using: Sequence[str], table: Table, alias: str, scope: Scope) -> tuple[str, ...]:
    """The stream's side of a join with USING, for every key column; hides the table's side."""
    if {name.lower() for name in using} != {k.lower() for k in table.key}:
        raise _not_by_key(table)
    on = tuple(scope.resolve([k])[0].run for k in table.key)
    scope.hidden |= {(alias, k.lower()) for k in table.key}
    return on


def _lookup_join(table: Table, on: tuple[str, ...], catalog: Catalog) -> Join:
    """The join of a table by the expressions `on`; its role names them if they are unusual."""
    usual = all(o.strip("`").lower() == k.lower() for o, k in zip(on, table.key, strict=True))
    name = next(t.name for t in catalog.tables.values() if t is table)
    return Join(name, on, name if usual else f"{name}[{', '.join(o.strip('`') for o in on)}]")


def _not_by_key(table: Table) -> QueryError:
    """The error of a join in SQL that does not look a table up by its whole unique key."""
    keys = " AND ".join(f"... = {table.name}.{k}" for k in table.key)
    return QueryError(
        f"{table.name} is not joined by its key",
        f"a row must find at most one row of {table.name}, so it is looked up by {table.key}",
        f"JOIN {table.name} USING ({', '.join(table.key)}) or ON {keys}",
    )
