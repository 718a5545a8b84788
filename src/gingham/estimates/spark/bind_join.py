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
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.logical.predicate import expressions
from gingham.logical.risk import RiskOf
from gingham.plan.bound import Condition
from gingham.plan.row_binder import RowBinder
from gingham.spark.expression_types import ExpressionTypes
from gingham.spark.spark_errors import refused_by_spark


def bind_join(
    query: JoinAggregate, types: Mapping[str, ExpressionTypes], risks: Mapping[str, RiskOf]
) -> BoundJoin:
    """Check a join query and add Spark types; `types` and `risks` are by alias of the relation.

    Risks tell how likely expressions raise.
    """
    try:
        return _Binder(query, types, risks).bind()
    except (AnalysisException, ParseException) as error:
        raise refused_by_spark(error) from None


class _Binder:
    """Binds the types of one join query."""

    def __init__(
        self,
        query: JoinAggregate,
        types: Mapping[str, ExpressionTypes],
        risks: Mapping[str, RiskOf],
    ) -> None:
        self.query = query
        self.types = types
        self.rows = {alias: self._row_binder(alias, risk) for alias, risk in risks.items()}
        self.conditions: dict[str, Condition] = {}

    def bind(self) -> BoundJoin:
        """Bind conditions, join keys and measures of the query."""
        query = self.query
        self.conditions = {
            alias: self.rows[alias].condition(selection.predicate, selection.sql)
            for alias, selection in query.selections.items()
        }
        joins: list[Join] = []
        for left, left_sql, right, right_sql in query.joins:
            left_word, right_word = self._words(left, left_sql, right, right_sql)
            joins.append((left, left_word, right, right_word))
        measures = {alias: self._measure(alias, sql) for alias, sql in query.measures.items()}
        divisor = None
        if query.divisor is not None:
            divisor = {alias: self._measure(alias, sql) for alias, sql in query.divisor.items()}
        return BoundJoin(
            query=query,
            joins=tuple(joins),
            measures=measures,
            conditions=self.conditions,
            fragile=any(rows.fragile for rows in self.rows.values()),
            divisor=divisor,
        )

    def _row_binder(self, alias: str, risk: RiskOf) -> RowBinder:
        """The binder of what is evaluated for rows of one relation."""
        selection = self.query.selections.get(alias)
        wanted = expressions(selection.predicate) if selection is not None else ()
        return RowBinder(self.types[alias].names(wanted), risk)

    def _words(self, left: str, a: str, right: str, b: str) -> tuple[str, str]:
        """Encode both sides of a join equality as SQL of 64-bit words, equal where keys are."""
        types = [self._type(left, a), self._type(right, b)]
        left_key, right_key = (
            _encode_key(self._protected(alias, sql), kind)
            for alias, sql, kind in zip((left, right), (a, b), types, strict=True)
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
        return left_key.word, right_key.word

    def _measure(self, alias: str, sql: str) -> Measure:
        """Bind what a join query sums."""
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
        protected = self._protected(alias, sql)
        if not isinstance(kind, DecimalType):
            return Measure(f"coalesce({protected}, 0)")
        # A zero of another type would change how many digits there are.
        zero = f"CAST(0 AS {kind.simpleString()})"
        return Measure(f"coalesce({protected}, {zero})", zero, kind.scale)

    def _protected(self, alias: str, sql: str) -> str:
        """A join key or measure, for the query's own rows only if it is likely to raise."""
        return self.rows[alias].protected(sql, self.conditions.get(alias))

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
