"""Predicates whose answers surprise, and rows that tell them apart; drawn cases seldom hit them."""

from datetime import date
from decimal import Decimal
from typing import Any

from tests.strategies.cases import Case, at, inf, nan


def pinned(*queries: str) -> Case:
    """A case of these queries over the rows below."""
    return Case(TYPES, [dict.fromkeys(TYPES) | row for row in ROWS], queries)


def surprises() -> Case:
    """Each predicate as one query, and its opposite as another: NULL belongs to neither."""
    select, group_by = "SELECT count(*) AS n FROM t WHERE", "GROUP BY window(ts, '1 minute')"
    forms = ("{}", "NOT ({})", "({}) IS NULL")
    return pinned(*(f"{select} {form.format(p)} {group_by}" for p in SURPRISES for form in forms))


TYPES = {
    "ts": "timestamp",
    "i": "int",
    "b": "bigint",
    "d": "double",
    "f": "float",
    "m": "decimal(10,2)",
    "w": "decimal(38,4)",
    "s": "string",
    "day": "date",
}
NOW = at("2024-03-01 12:00:00")
ROWS: list[dict[str, Any]] = [
    {
        "ts": NOW,
        "i": 10,
        "b": 2**53 + 1,
        "d": -0.0,
        "f": 0.10000000149011612,
        "m": Decimal("10.25"),
        "w": Decimal("0.1235"),
        "s": "a%",
        "day": date(2024, 3, 1),
    },
    {"ts": NOW, "i": -(2**31), "b": -(2**63), "d": nan, "f": inf, "m": Decimal("-0.01"), "s": "é"},
    {"ts": NOW, "w": Decimal("-99999999999999999999999999.9999")},
    {"ts": NOW, "w": Decimal("1234567890123456789012345678901234.5678")},
    {"ts": NOW},
]
SURPRISES = (
    # Out of every bigint's reach: decided for NULL too. Equality is not.
    "b < 9223372036854775808",
    "i >= 9223372036854775807.5",
    "b <> 9223372036854775808",
    # 38 digits hold no fifth place behind the point: the constant is rounded to 0.1235.
    "w = 0.12345",
    "w < 0.12349",
    "w IN (0.12354)",
    "w BETWEEN 0.12351 AND 0.12352",
    # More than the 28 digits to which Python rounds.
    "w = -99999999999999999999999999.9999125",
    "w <= -99999999999999999999999999.9999",
    "w = 1234567890123456789012345678901234.5678",
    "w < CAST('1234567890123456789012345678901234.5678' AS DECIMAL(38, 4))",
    # Compared as doubles: 2^53 + 1 is not one. In a list, one double makes all of them doubles.
    "b = 9007199254740992D",
    "b = 9007199254740992",
    "b IN (9007199254740992, 0.5D)",
    "b IN (9007199254740992, 0.5)",
    # A float is no decimal.
    "f = 0.1",
    "f = 0.1F",
    # NaN is equal to itself and above everything; zeros are equal.
    "d > CAST('Infinity' AS DOUBLE)",
    "d = CAST('NaN' AS DOUBLE)",
    "d >= 0",
    "NOT (d <> 0.0D)",
    "day = TIMESTAMP '2024-03-01 00:00:00'",
    "day < TIMESTAMP '2024-03-01 00:00:00.000001'",
    "s LIKE 'a\\\\%'",
    "s NOT LIKE '_%'",
    "i NOT IN (1, NULL)",
    "(i > 5) <=> NULL",
    "NOT (i > 5 AND d > 0)",
    "m * 0.5 = 5.125",
    "m / 3 > 3.416666",
    "i % 3 = -2",
)
