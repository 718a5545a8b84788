"""What an exact query reads: its stream, and tables that are looked up by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from gingham.core.errors import QueryError
from gingham.logical.catalog import Catalog, Table
from gingham.logical.query import Join, JoinUse
from gingham.sql.expression import Expression, joined
from gingham.sql.from_clause import FromClause, JoinClause, StandIn, read_from
from gingham.sql.predicates import Conditions, equality_sides
from gingham.sql.read_expression import read_expression
from gingham.sql.scope import Scope, matching_column, open_scope, table_called
from gingham.sql.statement import Span, Statement, dotted_name


class Source(NamedTuple):
    """What a query reads: its scope, its joins, and how these are compared with the original."""

    scope: Scope
    clause: FromClause
    joins: tuple[JoinUse, ...]
    conditions: tuple[Span, ...]  # of WHERE and ON, without the equalities with keys
    check_from: str  # the FROM clause over stand-ins
    check_where: tuple[Span, ...]  # the terms of WHERE, all of them
    stand_in: StandIn


def read_source(statement: Statement, catalog: Catalog) -> Source:
    """Read the FROM clause, and which terms of WHERE are joins with tables."""
    return _SourceReader(statement, catalog).read()


class _SourceReader:
    """Finds out by which key each table is looked up, in the order of FROM."""

    def __init__(self, statement: Statement, catalog: Catalog) -> None:
        self._statement = statement
        self._tokens = statement.tokens
        self._catalog = catalog

    def read(self) -> Source:
        """Read the stream, then each join."""
        source = read_from(self._statement, list(self._catalog.streams))
        by_rows = source.window is not None and source.window.clock.by_rows
        stand_in = partial(self._catalog.stand_in, by_rows=by_rows)
        scope = open_scope(source.first.name, source.first.alias, self._catalog)
        scope.qualified = bool(source.joins)
        conditions = Conditions(self._tokens, lambda span: self._expression(span, scope))
        where = list(conditions.conjuncts(self._statement.where))
        rest, uses, checks = list(where), list[JoinUse](), list[str]()
        for clause in source.joins:
            table = table_called(clause.relation.name, self._catalog)
            alias = clause.relation.key
            if alias == scope.alias or alias in scope.joins:
                raise QueryError(
                    f"two relations called {alias}",
                    "a column could be of either",
                    f"another alias: JOIN {table.name} AS {alias}_2",
                )
            inner = _is_inner(clause)
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
            understood = joined("AND", [self._expression(span, scope) for span in on_terms])
            checks.append(clause.over(stand_in, understood.check))
        return Source(
            scope=scope,
            clause=source,
            joins=tuple(dict.fromkeys(uses)),
            conditions=tuple(rest),
            check_from="".join([source.first.over(stand_in), *checks]),
            check_where=tuple(where),
            stand_in=stand_in,
        )

    def _expression(self, span: Span, scope: Scope) -> Expression:
        """A range of tokens as an expression over the relations so far."""
        return read_expression(self._tokens, span, scope.resolve)

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
        sides = equality_sides(self._tokens, term)
        if sides is None:
            return None
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
        parts = dotted_name(self._tokens, side) or ()
        if len(parts) == 2 and parts[0].lower() == alias:
            return matching_column(parts[1], dict.fromkeys(table.key, ""))
        if len(parts) == 1 and not scope.reaches(parts[0]):
            return matching_column(parts[0], dict.fromkeys(table.key, ""))
        return None


def _is_inner(clause: JoinClause) -> bool:
    """True for JOIN, False for LEFT JOIN; raises for any other kind of join in the SQL text."""
    kind = clause.kind
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
