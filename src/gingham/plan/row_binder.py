"""Conditions and expressions over rows, bound so that they are safe to evaluate for all rows.

A shared job evaluates them for rows that the query itself would not look at. What is likely to
raise there is evaluated as the query wrote it, or for the query's own rows only.
"""

from __future__ import annotations

from collections.abc import Mapping

from gingham.logical.domain import compared
from gingham.logical.predicate import (
    TRUE,
    And,
    Compare,
    IsNull,
    Matches,
    Or,
    Predicate,
    Truth,
    leaves,
    opaque,
    rewrite,
    typed,
)
from gingham.logical.risk import Risk, RiskOf
from gingham.plan.bound import Condition


class RowBinder:
    """Binds what a query evaluates for rows; `fragile` becomes true at what may raise.

    `types` has the Spark types of expressions; `risk` tells how likely an expression raises.
    """

    def __init__(self, types: Mapping[str, str], risk: RiskOf) -> None:
        self._types = types
        self._risk = risk
        self.fragile = False

    def condition(self, predicate: Predicate, sql: str) -> Condition:
        """The condition of a predicate: with types, and as the SQL that Spark evaluates."""
        risks = {self._leaf_risk(leaf) for leaf in leaves(predicate)}
        self.fragile |= bool(risks - {"never"})
        if "likely" in risks and isinstance(predicate, And | Or):
            # Evaluated as it stands: one part may keep rows away from another, which would raise.
            return Condition(opaque(sql), sql)
        return Condition(typed(rewrite(predicate, self._as_written), self._types), sql)

    def _as_written(self, leaf: Predicate) -> Predicate:
        """A test for NULL as Spark is to evaluate it, if what is tested may raise.

        Spark does not evaluate what is never NULL, to find out that it is not.
        """
        match leaf:
            case IsNull(expression) if self._risk(expression) != "never":
                return Truth(f"({expression}) IS NULL")
            case _:
                return leaf

    def protected(self, sql: str, condition: Condition | None) -> str:
        """An expression, evaluated for rows of a condition only if it is likely to raise.

        It is NULL for all other rows, which the query does not count.
        """
        risk = self._risk(sql)
        self.fragile |= risk != "never"
        if risk != "likely" or condition is None or condition.predicate == TRUE:
            return sql
        return f"CASE WHEN {condition.sql} THEN {sql} END"

    def _leaf_risk(self, leaf: Predicate) -> Risk:
        """How likely one comparison of a predicate raises."""
        match leaf:
            case Compare(expression, _, constant, sql):
                if compared(self._types[expression], constant) is not None:
                    return self._risk(expression)
                # Sides of different types: Spark casts one of them.
                return "likely" if self._types[expression] == "string" else self._risk(sql)
            case IsNull(expression) | Truth(expression):
                return self._risk(expression)
            case Matches(_, _, sql):
                return self._risk(sql)
            case _:
                return "never"
