"""Binding: the types of its expressions turn a parsed query into one that can be planned.

Spark tells the types (`spark.bind_query`); nothing here needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from gingham.aggregates import LITERAL_FROM, Call, bind, is_plain, reads_as_double
from gingham.core.errors import QueryError
from gingham.logical.predicate import Predicate, expressions
from gingham.logical.query import Query, Selected
from gingham.logical.risk import RiskOf
from gingham.plan.bound import BoundQuery, Condition, ConditionalAggregate
from gingham.plan.row_binder import RowBinder


def expressions_to_type(query: Query) -> set[str]:
    """The SQL of all expressions of a query whose types `bind_types` has to know."""
    wanted = {sql for predicate in _predicates(query) for sql in expressions(predicate)}
    arguments = {a for selected in query.aggregates for a in selected.arguments if a != "*"}
    return wanted | arguments | set(query.keys)


def bind_types(
    query: Query, types: Mapping[str, str], schema: pa.Schema, risk: RiskOf, *, ansi: bool
) -> BoundQuery:
    """Bind a query to the Spark types of its expressions: comparisons to cuts, calls to partials.

    `schema` has the Arrow types of window bounds, keys and aggregates; `risk` tells how likely an
    expression raises.
    """
    return _Binder(query, types, risk, schema, ansi=ansi).bind()


def _predicates(query: Query) -> list[Predicate]:
    """The predicates of a query: its WHERE, and the WHERE and FILTER of each aggregate."""
    return [query.where, *(selected.where for selected in query.aggregates)]


class _Binder:
    """Builds a `BoundQuery`."""

    def __init__(
        self,
        query: Query,
        types: Mapping[str, str],
        risk: RiskOf,
        schema: pa.Schema,
        *,
        ansi: bool,
    ) -> None:
        self.query = query
        self.types = types
        self.rows = RowBinder(types, risk)
        self.schema = schema
        self.ansi = ansi

    def bind(self) -> BoundQuery:
        """The bound query: its condition, keys and aggregates with types."""
        query = self.query
        where = self.rows.condition(query.where, query.where_sql)
        return BoundQuery(
            query=query,
            where=where,
            keys=tuple(self._key(key, where) for key in query.keys),
            aggregates=tuple(
                self._aggregate(i, selected, where) for i, selected in enumerate(query.aggregates)
            ),
            slots=self.schema,
            fragile=self.rows.fragile,
        )

    def _key(self, sql: str, where: Condition) -> str:
        """A key of the query, of a type whose values are told apart as Spark does."""
        # What is computed over a key of CHAR(n) would not know of the blanks at its end.
        blanks = self.types[sql].startswith("char(") and not self.query.plain
        if blanks or not is_plain(self.types[sql]):
            raise QueryError(
                f"{sql} as a key",
                f"groups are told apart by numbers, dates and strings, and it is a "
                f"{self.types[sql]}",
                "a field or an element of it, or its text: to_json(...), CAST(... AS STRING)",
            )
        return self.rows.protected(sql, where)

    def _aggregate(
        self, position: int, selected: Selected, where: Condition
    ) -> ConditionalAggregate:
        """Bind an aggregate call."""
        condition = where
        if selected.filter_sql is not None:
            both = f"CASE WHEN {selected.where_sql} THEN {selected.filter_sql} END"
            condition = self.rows.condition(selected.where, both)
        literal = _literal_arguments(selected)
        typed_arguments = [self._typed(selected.function, a) for a in selected.arguments]
        arguments = tuple(
            a if i in literal or a == "*" else self.rows.protected(a, condition)
            for i, (a, _) in enumerate(typed_arguments)
        )
        call = Call(
            function=selected.function,
            arguments=arguments,
            types=tuple(kind for _, kind in typed_arguments),
            result=self.schema.field(2 + len(self.query.keys) + position).type,
            ansi=self.ansi,
        )
        aggregate = bind(call)
        aggregate.partials  # noqa: B018  (refuses types that it has no partial for)
        return ConditionalAggregate(aggregate, condition, selected.filter_sql)

    def _typed(self, function: str, argument: str) -> tuple[str, str]:
        """An argument of an aggregate, cast to a double if Spark casts it so, and its type."""
        kind = self.types.get(argument, "void")
        if argument != "*" and reads_as_double(function, kind):
            # Written out: the cast may raise, and is then for the query's own rows only.
            return f"CAST({argument} AS DOUBLE)", "double"
        return argument, kind


def _literal_arguments(selected: Selected) -> range:
    """The positions of an aggregate's percentages, accuracies and limits: literals that stay."""
    first = LITERAL_FROM.get(selected.function, len(selected.arguments))
    return range(first, len(selected.arguments))
