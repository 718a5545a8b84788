"""Binding: the types of its expressions turn a parsed query into one that can be planned.

Spark tells the types (`spark.bind_query`); nothing here needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from gingham.aggregates import LITERAL_FROM, Call, bind
from gingham.logical.domain import compared
from gingham.logical.predicate import (
    Compare,
    Predicate,
    Truth,
    expressions,
    leaves,
    opaque,
    typed,
)
from gingham.logical.query import Query, Selected
from gingham.logical.try_form import NoTryForm, ToTryForm
from gingham.plan.bound import BoundQuery, Condition, ConditionalAggregate


def expressions_to_type(query: Query) -> set[str]:
    """The SQL of all expressions of a query whose types `bind_types` has to know."""
    wanted = {sql for predicate in _predicates(query) for sql in expressions(predicate)}
    arguments = {a for selected in query.aggregates for a in selected.arguments if a != "*"}
    return wanted | arguments


def conditions_to_type(query: Query, types: Mapping[str, str]) -> set[str]:
    """The SQL of all conditions of a query that must be boolean, given the types so far."""
    atoms = [leaf for predicate in _predicates(query) for leaf in leaves(predicate)]
    inexact = {
        leaf.sql
        for leaf in atoms
        if isinstance(leaf, Compare) and compared(types[leaf.expression], leaf.constant) is None
    }
    return inexact | {leaf.expression for leaf in atoms if isinstance(leaf, Truth)}


def bind_types(
    query: Query,
    types: Mapping[str, str],
    schema: pa.Schema,
    to_try_form: ToTryForm,
    *,
    ansi: bool,
) -> BoundQuery:
    """Bind a query to the Spark types of its expressions: comparisons to cuts, calls to partials.

    `schema` has the Arrow types of window bounds, keys and aggregates.
    """
    return _Binder(query, types, to_try_form, schema, ansi=ansi).bind()


def _predicates(query: Query) -> list[Predicate]:
    """The predicates of a query: its WHERE, and the WHERE and FILTER of each aggregate."""
    return [query.where, *(selected.where for selected in query.aggregates)]


class _Binder:
    """Builds a `BoundQuery`; `fragile` becomes true at an expression that has no try form."""

    def __init__(
        self,
        query: Query,
        types: Mapping[str, str],
        to_try_form: ToTryForm,
        schema: pa.Schema,
        *,
        ansi: bool,
    ) -> None:
        self.query = query
        self.types = types
        self.to_try_form = to_try_form
        self.schema = schema
        self.ansi = ansi
        self.fragile = False

    def bind(self) -> BoundQuery:
        """The bound query: its condition, keys and aggregates with types."""
        query = self.query
        where = self._condition(query.where, query.where_sql)
        failure_counts: list[ConditionalAggregate] = []
        keys = tuple(self._try_form(k, where, failure_counts) for k in query.keys)
        aggregates = tuple(
            self._aggregate(i, selected, where, failure_counts)
            for i, selected in enumerate(query.aggregates)
        )
        return BoundQuery(
            query=query,
            where=where,
            keys=keys,
            aggregates=aggregates,
            failure_counts=tuple(dict.fromkeys(failure_counts)),
            slots=self.schema,
            fragile=self.fragile,
        )

    def _condition(self, predicate: Predicate, sql: str) -> Condition:
        """The condition of a predicate: with types, and as the SQL that Spark evaluates."""
        try:
            return Condition(typed(predicate, self.types, self.to_try_form), sql)
        except NoTryForm:
            self.fragile = True
            # Evaluated as it stands, with Spark's own order of evaluation.
            return Condition(opaque(sql), sql)

    def _aggregate(
        self,
        position: int,
        selected: Selected,
        where: Condition,
        failure_counts: list[ConditionalAggregate],
    ) -> ConditionalAggregate:
        """Bind an aggregate call; add counts of rows on which its arguments would raise."""
        condition = where
        if selected.filter_sql is not None:
            both = f"CASE WHEN {selected.where_sql} THEN {selected.filter_sql} END"
            condition = self._condition(selected.where, both)
        literal = _literal_arguments(selected)
        arguments = tuple(
            a if i in literal else self._try_form(a, condition, failure_counts, selected.filter_sql)
            for i, a in enumerate(selected.arguments)
        )
        call = Call(
            function=selected.function,
            arguments=arguments,
            types=tuple(self.types.get(a, "void") for a in selected.arguments),
            result=self.schema.field(2 + len(self.query.keys) + position).type,
            ansi=self.ansi,
        )
        aggregate = bind(call)
        aggregate.partials  # noqa: B018  (refuses types that it has no partial for)
        return ConditionalAggregate(aggregate, condition, selected.filter_sql)

    def _try_form(
        self,
        sql: str,
        condition: Condition,
        failure_counts: list[ConditionalAggregate],
        filter_sql: str | None = None,
    ) -> str:
        """The try form of an argument or key; where it may raise, add a count of such rows."""
        if sql == "*":
            return sql
        try:
            try_form = self.to_try_form(sql)
        except NoTryForm:
            self.fragile = True
            # Evaluated for rows of the query only; no other query can share it.
            return f"CASE WHEN {condition.sql} THEN {sql} END"
        if try_form.raises is not None:
            failures = bind(Call("count_if", (try_form.raises,), ("boolean",), pa.int64()))
            failure_counts.append(ConditionalAggregate(failures, condition, filter_sql))
        return try_form.sql


def _literal_arguments(selected: Selected) -> range:
    """The positions of an aggregate's percentages, accuracies and limits: literals that stay."""
    first = LITERAL_FROM.get(selected.function, len(selected.arguments))
    return range(first, len(selected.arguments))
