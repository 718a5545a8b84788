"""Ask Spark what types a join aggregate has: which keys can meet, what can be added up."""

from __future__ import annotations

from collections.abc import Mapping

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
from gingham.logical.try_form import NoTryForm, ToTryForm
from gingham.plan.bound import Condition
from gingham.spark.expression_types import ExpressionTypes
from gingham.spark.spark_errors import refused_by_spark


def check_join(
    query: JoinAggregate, types: Mapping[str, ExpressionTypes], make_safe: Mapping[str, ToTryForm]
) -> BoundJoin:
    """The query with types; `types` and `make_safe` are of relations, by alias."""
    try:
        return _Binder(query, types, make_safe).bind()
    except (AnalysisException, ParseException) as error:
        raise refused_by_spark(error) from None


class _Binder:
    def __init__(
        self,
        query: JoinAggregate,
        types: Mapping[str, ExpressionTypes],
        make_safe: Mapping[str, ToTryForm],
    ) -> None:
        self.query = query
        self.types = types
        self.make_safe = make_safe
        self.fragile = False

    def bind(self) -> BoundJoin:
        query = self.query
        joins: list[Join] = []
        for left, a, right, b in query.joins:
            one, other = self._words(left, a, right, b)
            joins.append((left, one, right, other))
        conditions = {alias: self._condition(alias, s) for alias, s in query.selections.items()}
        measures = {
            alias: self._measure(alias, sql, conditions.get(alias))
            for alias, sql in query.measures.items()
        }
        return BoundJoin(query, tuple(joins), measures, conditions, fragile=self.fragile)

    def _words(self, left: str, a: str, right: str, b: str) -> tuple[str, str]:
        """Both sides of an equality as 64-bit words that are equal if and only if the keys are."""
        kinds = [self._type(left, a), self._type(right, b)]
        (kind, one), (other, two) = (
            _word(sql, found) for sql, found in zip((a, b), kinds, strict=True)
        )
        if kind is None or other is None:
            found = kinds[0 if kind is None else 1].simpleString()
            raise QueryError(
                f"{left}.{a} = {right}.{b} joins a {found}",
                "keys are hashed to 64 bits, and values of this type have no one form",
                "a key of whole numbers, doubles, decimals, text, dates or times",
            )
        if kind != other:
            raise QueryError(
                f"{left}.{a} = {right}.{b} joins {kinds[0].simpleString()} with "
                f"{kinds[1].simpleString()}",
                "equal keys of different types are sketched differently",
                "the same type on both sides: "
                f"CAST({left}.{a} AS {kinds[1].simpleString().upper()}) = {right}.{b}",
            )
        for alias, sql in ((left, a), (right, b)):
            self._may_raise(alias, sql)
        return one, two

    def _measure(self, alias: str, sql: str, condition: Condition | None) -> Measure:
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
            # Evaluated for rows of the query only; nobody else can share it.
            sql = f"CASE WHEN {condition.sql} THEN {sql} END"
        if not isinstance(kind, DecimalType):
            return Measure(f"coalesce({sql}, 0)")
        # A zero of another type would change how many digits there are.
        zero = f"CAST(0 AS {kind.simpleString()})"
        return Measure(f"coalesce({sql}, {zero})", zero, kind.scale)

    def _condition(self, alias: str, selection: Selection) -> Condition:
        if not isinstance(self._type(alias, selection.sql), BooleanType):
            raise QueryError(
                f"a condition that is not boolean: {selection.sql}",
                "a row is kept or not",
                "a comparison, for example x > 0",
            )
        wanted = self.types[alias].scalars(expressions(selection.predicate))
        known = {sql: kind.simpleString() for sql, kind in wanted.items()}
        try:
            return Condition(
                typed(selection.predicate, known, lambda sql: (self._safe(alias, sql), None)),
                selection.sql,
            )
        except NoTryForm:
            self.fragile = True
            # Evaluated as it stands, with Spark's own order of evaluation.
            return Condition(opaque(selection.sql), selection.sql)

    def _safe(self, alias: str, sql: str) -> str:
        found, raises = self.make_safe[alias](sql)
        if raises is not None:
            raise NoTryForm
        return found

    def _may_raise(self, alias: str, sql: str) -> bool:
        try:
            self._safe(alias, sql)
        except NoTryForm:
            self.fragile = True
            return True
        return False

    def _type(self, alias: str, sql: str) -> DataType:
        return self.types[alias].scalars([sql])[sql]


def _word(sql: str, kind: DataType) -> tuple[str | None, str]:
    """What keys of a type may be compared with, and their words, NULL for NULL.

    Hashes of different keys are equal with a probability of 2^-64 for each pair.
    """
    hashed = f"IF(({sql}) IS NULL, NULL, xxhash64({sql}))"
    match kind:
        case IntegralType():
            return "whole number", sql
        case BooleanType():
            return "boolean", f"CAST({sql} AS INT)"
        case DecimalType():
            # Spark hashes the digits as one number: of 64 bits, or longer.
            return f"decimal {kind.scale} {kind.precision <= 18}", hashed
        case FractionalType():
            double = f"CAST({sql} AS DOUBLE)"
            return "float", f"IF(({sql}) IS NULL, NULL, xxhash64({double}))"
        case StringType() if kind.simpleString() == "string":
            return "text", hashed
        case BinaryType():
            return "bytes", hashed
        case DateType():
            return "date", f"unix_date({sql})"
        case TimestampType():
            return "timestamp", f"unix_micros({sql})"
        case TimestampNTZType():
            return "timestamp_ntz", hashed
        case _:
            return None, sql
