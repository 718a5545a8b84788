"""Join aggregates whose types Spark has checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gingham.estimates.algebra.join_query import Join
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.plan.bound import Condition


@dataclass(frozen=True, slots=True)
class Measure:
    """SQL of numbers that a sketch adds up over the rows of a relation; it is never NULL.

    Its values are whole numbers, or decimals with `scale` digits after the point. `zero` is the
    SQL of a zero of the same type.
    """

    sql: str
    zero: str = "0"
    scale: int = 0

    def where(self, condition: str) -> str:
        """SQL that is this measure for rows that meet a condition, and zero for all others."""
        return f"CASE WHEN {condition} THEN {self.sql} ELSE {self.zero} END"


# The measure of count(*): every row adds one.
ROW = Measure("1")


@dataclass(frozen=True, slots=True)
class BoundJoin:
    """A join aggregate with types: join keys as 64-bit words, measures, conditions of relations.

    `joins` are by alias, with attributes that are SQL of 64-bit words, NULL for NULL.
    """

    query: JoinAggregate
    joins: tuple[Join, ...]
    measures: Mapping[str, Measure]  # by alias
    conditions: Mapping[str, Condition]  # by alias
    # May it raise in the middle of a pass, where it takes all queries down with it?
    fragile: bool = False
    # Of an average: what the count is made of that its sum is divided by.
    divisor: Mapping[str, Measure] | None = None

    @property
    def name(self) -> str:
        """The name of the join query."""
        return self.query.name

    @property
    def parts(self) -> Mapping[str, Mapping[str, Measure]]:
        """What sketches estimate of the join query: its measures by name; two for an average.

        The first has the name of the query. Names of parts are names of queries to a sharing plan.
        """
        if self.divisor is None:
            return {self.name: self.measures}
        return {self.name: self.measures, f"{self.name} / count": self.divisor}

    @property
    def unit(self) -> float:
        """What 1 in a sketch's counter is worth in the answer: 0.01 with two decimal digits."""
        return 10.0 ** -sum(measure.scale for measure in self.measures.values())
