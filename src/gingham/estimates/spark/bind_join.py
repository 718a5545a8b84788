"""Check the types of a join aggregate with Spark: joinable keys, summable measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from gingham.core.errors import QueryError
from gingham.estimates.algebra.join_query import Join
from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.join_aggregate import JoinAggregate, Selection
from gingham.logical.predicate import expressions, opaque, typed
from gingham.logical.try_form import NoTryForm, ToTryForm, TryForm
from gingham.plan.bound import Condition
from gingham.spark.expression_types import ExpressionTypes
from gingham.spark.spark_errors import refused_by_spark


def bind_join(
    query: JoinAggregate, types: Mapping[str, ExpressionTypes], to_try_form: Mapping[str, ToTryForm]
) -> BoundJoin:
    """Check a join query and add Spark types; `types` and `to_try_form` are by relation's alias."""
    try:
        return _Binder(query, types, to_try_form).bind()
    except (AnalysisException, ParseException) as error:
        raise refused_by_spark(error) from None


class _Binder:
    """Binds the types of one join query, and notes whether some expression of it may raise."""

    def __init__(
        self,
        query: JoinAggregate,
        types: Mapping[str, ExpressionTypes],
        to_try_form: Mapping[str, ToTryForm],
    ) -> None:
        self.query = query
        self.types = types
        self.to_try_form = to_try_form
        self.fragile = False

    def bind(self) -> BoundJoin:
        """Bind join keys, conditions and measures of the query."""
        query = self.query
        joins: list[Join] = []
        for left, left_sql, right, right_sql in query.joins:
            left_word, right_word = self._words(left, left_sql, right, right_sql)
            joins.append((left, left_word, right, right_word))
        conditions = {alias: self._condition(alias, s) for alias, s in query.selections.items()}
        measures = {
            alias: self._measure(alias, sql, conditions.get(alias))
            for alias, sql in query.measures.items()
        }
        return BoundJoin(
            query=query,
            joins=tuple(joins),
            measures=measures,
            conditions=conditions,
            fragile=self.fragile,
        )

    def _words(self, left: str, a: str, right: str, b: str) -> tuple[str, str]:
        """Encode both sides of a join equality as SQL of 64-bit words, equal where keys are."""
        types = [self._type(left, a), self._type(right, b)]
        left_key, right_key = (
            _encode_key(sql, kind) for sql, kind in zip((a, b), types, strict=True)
        )
        if left_key is None or right_key is None:
            refused = types[0 if left_key is None else 1].simpleString()
            raise QueryError(
                f"{left}.{a} = {right}.{b} joins a {refused}",
                "keys are hashed to 64 bits, and values of this type have no one form",
                "a key of whole numbers, doubles, decimals, text, dates or times",
            )
        if left_key.kind != right_key.kind:
            raise QueryError(
                f"{left}.{a} = {right}.{b} joins {types[0].simpleString()} with "
                f"{types[1].simpleString()}",
                "equal keys of different types are sketched differently",
                "the same type on both sides: "
                f"CAST({left}.{a} AS {types[1].simpleString().upper()}) = {right}.{b}",
            )
        for alias, sql in ((left, a), (right, b)):
            self._may_raise(alias, sql)
        return left_key.word, right_key.word

    def _measure(self, alias: str, sql: str, condition: Condition | None) -> Measure:
        """Bind what a join query sums; if it may raise, it is evaluated for its rows only."""
        kind = self._type(alias, sql)
        if not isinstance(kind, IntegralType | DecimalType):
            floats = isinstance(kind, FractionalType)
            raise QueryError(
                f"sum({sql}) of type {kind.simpleString()}",
                "counters are whole numbers, so that sums of parts are exact",
                f"sum(CAST({sql} AS DECIMAL(18, 2))), with as many digits as matter"
                if floats
                else "whole numbers or decimals",
            )
        if self._may_raise(alias, sql) and condition is not None:
            # Evaluated for rows of the query only, so that no other query can share it.
            sql = f"CASE WHEN {condition.sql} THEN {sql} END"
        if not isinstance(kind, DecimalType):
            return Measure(f"coalesce({sql}, 0)")
        # A zero of another type would change how many digits there are.
        zero = f"CAST(0 AS {kind.simpleString()})"
        return Measure(f"coalesce({sql}, {zero})", zero, kind.scale)

    def _condition(self, alias: str, selection: Selection) -> Condition:
        """Bind a selection of a relation's rows; one that may raise is evaluated by Spark."""
        if not isinstance(self._type(alias, selection.sql), BooleanType):
            raise QueryError(
                f"a condition that is not boolean: {selection.sql}",
                "a row is kept or not",
                "a comparison, for example x > 0",
            )
        types = self.types[alias].scalars(expressions(selection.predicate))
        type_names = {sql: kind.simpleString() for sql, kind in types.items()}
        try:
            return Condition(
                typed(selection.predicate, type_names, lambda sql: TryForm(self._safe(alias, sql))),
                selection.sql,
            )
        except NoTryForm:
            self.fragile = True
            # Evaluated as it stands, with Spark's own order of evaluation.
            return Condition(opaque(selection.sql), selection.sql)

    def _safe(self, alias: str, sql: str) -> str:
        """Rewrite an expression of a join query so that it cannot raise; NoTryForm if it may."""
        try_form, raises = self.to_try_form[alias](sql)
        if raises is not None:
            raise NoTryForm
        return try_form

    def _may_raise(self, alias: str, sql: str) -> bool:
        """Tell whether an expression of a join may raise; then the query is fragile."""
        try:
            self._safe(alias, sql)
        except NoTryForm:
            self.fragile = True
            return True
        return False

    def _type(self, alias: str, sql: str) -> DataType:
        """The Spark type of an expression over one relation of the join."""
        return self.types[alias].scalars([sql])[sql]


class _Key(NamedTuple):
    """A join key as SQL of a 64-bit word, and which keys it may be compared with."""

    kind: str  # keys of the same kind may be compared
    word: str  # SQL of the 64-bit word, NULL for NULL


def _encode_key(sql: str, kind: DataType) -> _Key | None:
    """Encode a join key as SQL of a 64-bit word; None if values of its type have no one form.

    Hashes of different keys are equal with a probability of 2^-64 for each pair.
    """
    hashed = f"IF(({sql}) IS NULL, NULL, xxhash64({sql}))"
    match kind:
        case IntegralType():
            return _Key("whole number", sql)
        case BooleanType():
            return _Key("boolean", f"CAST({sql} AS INT)")
        case DecimalType():
            # Spark hashes the digits as one number: of 64 bits, or longer.
            return _Key(f"decimal {kind.scale} {kind.precision <= 18}", hashed)
        case FractionalType():
            double = f"CAST({sql} AS DOUBLE)"
            return _Key("float", f"IF(({sql}) IS NULL, NULL, xxhash64({double}))")
        case StringType() if kind.simpleString() == "string":
            return _Key("text", hashed)
        case BinaryType():
            return _Key("bytes", hashed)
        case DateType():
            return _Key("date", f"unix_date({sql})")
        case TimestampType():
            return _Key("timestamp", f"unix_micros({sql})")
        case TimestampNTZType():
            return _Key("timestamp_ntz", hashed)
        case _:
            return None
