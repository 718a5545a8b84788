"""Binding: Spark tells the types of a query, or refuses it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from gingham.aggregates import LITERAL_FROM, Call, bind
from gingham.core import names
from gingham.core.errors import QueryError
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
from gingham.spark.expression_types import ExpressionTypes
from gingham.spark.spark_errors import refused_by_spark
from gingham.spark.unshared import aggregate_windows, select_outputs


def bind_query(
    query: Query, types: ExpressionTypes, time: str, to_try_form: ToTryForm, *, ansi: bool
) -> BoundQuery:
    """The query with types; raises Spark's own complaint, in three parts, if there is one."""
    try:
        known_types = _known_types(query, types)
        schema = _aggregated_schema(query, types, time)
        if known_types is None or not query.plain:
            # Some errors only the query as a whole shows: Spark analyses all of it.
            aggregated = aggregate_windows(types.rows, query, time)
            select_outputs(aggregated, query).schema  # noqa: B018  (asks Spark)
    except (AnalysisException, ParseException) as error:
        raise refused_by_spark(error) from None
    if known_types is None:
        raise QueryError(
            f"a condition that is not boolean: {query.where_sql}",
            "a row is kept or not",
            "a comparison, for example x > 0",
        )
    return _Binder(query, known_types, to_try_form, schema, ansi=ansi).bind()


def _known_types(query: Query, types: ExpressionTypes) -> dict[str, str] | None:
    """The types of all expressions in a query, by their SQL; None if a condition is not boolean."""
    predicates = [query.where, *(selected.where for selected in query.aggregates)]
    wanted = {sql for predicate in predicates for sql in expressions(predicate)}
    wanted |= {a for selected in query.aggregates for a in selected.arguments if a != "*"}
    known = {sql: kind.simpleString() for sql, kind in types.scalars(wanted).items()}
    atoms = [leaf for predicate in predicates for leaf in leaves(predicate)]
    opaque = {
        leaf.sql
        for leaf in atoms
        if isinstance(leaf, Compare) and compared(known[leaf.expression], leaf.constant) is None
    }
    conditions = opaque | {leaf.expression for leaf in atoms if isinstance(leaf, Truth)}
    kinds = types.scalars(conditions).values()
    return known if all(kind.simpleString() == "boolean" for kind in kinds) else None


def _aggregated_schema(query: Query, types: ExpressionTypes, time: str) -> pa.Schema:
    """The Arrow types of window bounds, keys and aggregates."""
    instant = types.rows.schema[time].dataType
    keys = types.scalars(query.keys)
    calls = [selected.sql for selected in query.aggregates]
    values = types.aggregates(calls)
    fields = [
        StructField(names.WINDOW_START, instant),
        StructField(names.WINDOW_END, instant),
        *(StructField(names.key(i), keys[k]) for i, k in enumerate(query.keys)),
        *(StructField(names.aggregate(i), values[c]) for i, c in enumerate(calls)),
    ]
    return to_arrow_schema(StructType(fields), timezone="UTC")


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
        query = self.query
        where = self._condition(query.where, query.where_sql)
        guards: list[ConditionalAggregate] = []
        keys = tuple(self._try_form(k, where, guards) for k in query.keys)
        readings = tuple(
            self._reading(i, selected, where, guards) for i, selected in enumerate(query.aggregates)
        )
        return BoundQuery(
            query=query,
            where=where,
            keys=keys,
            readings=readings,
            guards=tuple(dict.fromkeys(guards)),
            slots=self.schema,
            fragile=self.fragile,
        )

    def _condition(self, predicate: Predicate, sql: str) -> Condition:
        try:
            return Condition(typed(predicate, self.types, self.to_try_form), sql)
        except NoTryForm:
            self.fragile = True
            # Evaluated as it stands, with Spark's own order of evaluation.
            return Condition(opaque(sql), sql)

    def _reading(
        self,
        position: int,
        selected: Selected,
        where: Condition,
        guards: list[ConditionalAggregate],
    ) -> ConditionalAggregate:
        condition = where
        if selected.filter_sql is not None:
            both = f"CASE WHEN {selected.where_sql} THEN {selected.filter_sql} END"
            condition = self._condition(selected.where, both)
        literal = _literal_arguments(selected)
        arguments = tuple(
            a if i in literal else self._try_form(a, condition, guards, selected.filter_sql)
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
        guards: list[ConditionalAggregate],
        filter_sql: str | None = None,
    ) -> str:
        """The try form of an argument or key; where it may raise, add a guard that counts rows."""
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
            guards.append(ConditionalAggregate(failures, condition, filter_sql))
        return try_form.sql


def _literal_arguments(selected: Selected) -> range:
    """The positions of percentages, accuracies and limits, which stay as they are written."""
    first = LITERAL_FROM.get(selected.function, len(selected.arguments))
    return range(first, len(selected.arguments))
