"""Text that means harm: it reaches no Java method, and `add` neither hangs nor breaks."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gingham import GinghamError, Loom
from tests.deadline import deadline

WINDOW = "GROUP BY window(ts, '10 seconds')"
PATIENCE = 30  # seconds after which adding a query counts as hanging
CALL = "'java.lang.System', 'setProperty', 'gingham.hostile', 'reached'"

# Where a function call can stand, and still be read as one.
PLACES = (
    "SELECT count(*) AS n FROM trades WHERE {} IS NOT NULL GROUP BY window(ts, '10 seconds')",
    "SELECT count(*) AS n FROM trades GROUP BY window(ts, '10 seconds') HAVING {} IS NOT NULL",
    "SELECT {} AS x, count(*) AS n FROM trades GROUP BY window(ts, '10 seconds')",
    "SELECT max({}) AS n FROM trades GROUP BY window(ts, '10 seconds')",
    "SELECT count(*) AS n FROM trades GROUP BY {}, window(ts, '10 seconds')",
    "SELECT count(*) FILTER (WHERE {} = 'x') AS n FROM trades GROUP BY window(ts, '10 seconds')",
    (
        "SELECT count(*) AS n FROM trades WHERE exists(array(vol), v -> {} = 'x') "
        "GROUP BY window(ts, '10 seconds')"
    ),
    "SELECT transform(array(max(vol)), v -> {}) AS n FROM trades GROUP BY window(ts, '10 seconds')",
    (
        "SELECT count(*) AS n FROM trades WHERE vol > 5 OR (price < 1 AND NOT {} LIKE 'a%') "
        "GROUP BY window(ts, '10 seconds')"
    ),
    (
        "SELECT count(*) AS n FROM trades WHERE CASE WHEN vol > 1 THEN {} END = 'x' "
        "GROUP BY window(ts, '10 seconds')"
    ),
    (
        "SELECT count(*) AS n FROM trades JOIN listing ON trades.symbol = listing.symbol "
        "AND {} = 'x' GROUP BY window(ts, '10 seconds')"
    ),
    "SELECT count(*) AS n FROM trades [RANGE '5 s' SLIDE '5 s'] WHERE {} IS NOT NULL",
)
SPELLINGS = (
    "reflect({})", "java_method({})", "try_reflect({})", "REFLECT({})", "Java_Method({})",
    "tRy_ReFlEcT({})", "reflect ({})", "reflect/* */({})", "reflect -- (\n ({})",
    "reflect\n\t({})", "`reflect`({})", "`java_method`({})", "`REFLECT` ({})",
    "system.builtin.reflect({})", "`system`.`builtin`.`reflect`({})",
    "system.builtin . java_method({})", "SYSTEM.BUILTIN.TRY_REFLECT({})", "builtin.reflect({})",
    "upper(reflect({}))", "coalesce(NULL, java_method({}))", "(reflect({}))",
    "reflect({}) || 'x'", "r\u0065flect({})", "IDENTIFIER('reflect')({})",
    "IDENTIFIER('java_' || 'method')({})",
)  # fmt: skip


@pytest.fixture
def loom(spark: SparkSession) -> Loom:
    rows = spark.sql(
        "SELECT timestamp_seconds(id) AS ts, concat('S', id % 3) AS symbol, "
        "CAST(id % 7 AS DOUBLE) AS price, CAST(id % 5 AS INT) AS vol FROM range(0, 60)"
    )
    listing = spark.createDataFrame([("S1", True)], "symbol string, r1000 boolean")
    return Loom(spark).stream("trades", rows, time="ts").table("listing", listing, key="symbol")


@pytest.mark.parametrize("place", PLACES)
def test_no_query_calls_a_java_method(loom: Loom, spark: SparkSession, place: str):
    accepted: list[str] = []
    for spelling in SPELLINGS:
        call = spelling.replace("({})", f"({CALL})")
        refusal = _refusal(loom, place.replace("{}", call))
        if refusal is None:
            accepted.append(call)
            loom.remove("large")
        else:
            assert refusal.what, call
            assert refusal.why, call
            assert refusal.instead, call
    assert not accepted
    assert loom.queries == ()
    jvm: Any = spark.sparkContext._jvm
    assert jvm.System.getProperty("gingham.hostile") is None


def test_the_name_of_a_java_method_is_no_call(loom: Loom):
    for number, text in enumerate(("'reflect('", "'java_method(1)' -- reflect(1)\n")):
        loom.add(
            f"SELECT count(*) AS n FROM trades WHERE symbol <> {text} {WINDOW}", name=f"{number}"
        )
    loom.add(f"SELECT max(vol) AS reflect FROM trades /* reflect(1) */ {WINDOW}", name="alias")
    assert [row["n"] for row in loom.run()["0"].collect()] == [10] * 6


def _count(where: str) -> str:
    return f"SELECT count(*) AS n FROM trades WHERE {where} {WINDOW}"


def _nested_case(depth: int) -> str:
    return "CASE WHEN vol > 1 THEN " * depth + "1" + " ELSE 0 END" * depth + " = 1"


LARGE = {
    "1,000 ANDs": lambda: _count(" AND ".join(f"vol > -{i}" for i in range(1_000))),
    "3,000 ANDs": lambda: _count(" AND ".join(f"vol > -{i}" for i in range(3_000))),
    "100,000 ANDs": lambda: _count(" AND ".join(["vol > 1"] * 100_000)),
    "3,000 ORs of two columns": lambda: _count(
        " OR ".join(f"(vol = {i} AND price > {i})" for i in range(3_000))
    ),
    "[RANGE and 2,000 blanks": lambda: "SELECT count(*) AS n FROM trades [RANGE" + " " * 2_000,
    "[RANGE and 200,000 blanks": lambda: "SELECT count(*) AS n FROM trades [RANGE" + " " * 200_000,
    "[RANGE and 1,000,000 blanks": lambda: (
        "SELECT count(*) AS n FROM trades [RANGE" + " " * 1_000_000 + "x"
    ),
    "1,000 [RANGE": lambda: "SELECT count(*) AS n FROM trades " + "[RANGE '1 s' " * 1_000,
    "1,000,000 blanks": lambda: "SELECT count(*) AS n" + " " * 1_000_000 + f"FROM trades {WINDOW}",
    "50 parentheses": lambda: _count("(" * 50 + "vol > 1" + ")" * 50),
    "5,000 parentheses": lambda: _count("(" * 5_000 + "vol > 1" + ")" * 5_000),
    "100,000 open parentheses": lambda: _count("(" * 100_000),
    "5,000 NOTs": lambda: _count("NOT " * 5_000 + "vol > 1"),
    "5,000 minus signs": lambda: _count("- " * 5_000 + "vol > 1"),
    "500 nested CASEs": lambda: _count(_nested_case(500)),
    "500 nested calls": lambda: _count("abs(" * 500 + "vol" + ")" * 500 + " > 1"),
    "3,000 nested comments": lambda: _count("vol > 1 " + "/* " * 3_000 + "*/ " * 3_000),
    "a comment of 1 MB": lambda: _count("vol > 1 /* " + "x" * 1_000_000 + " */"),
    "a string of 1 MB": lambda: _count("symbol = '" + "x" * 1_000_000 + "'"),
    "a name of 1 MB": lambda: _count("`" + "x" * 1_000_000 + "` = 1"),
    "a number of 100,000 digits": lambda: _count("vol = " + "1" * 100_000),
    "10,000 items in a list": lambda: _count(f"vol IN ({', '.join(map(str, range(10_000)))})"),
    "1,000,000 quotes": lambda: _count("symbol = " + "'" * 1_000_001),
    "an open string": lambda: _count("symbol = 'x"),
    "an open string in double quotes": lambda: _count('symbol = "x'),
    "an open comment": lambda: _count("vol > 1 /* x"),
    "an open backtick": lambda: _count("`vol > 1"),
    "an open raw string": lambda: _count("symbol = r'x"),
    "a backslash at the end": lambda: _count("symbol = 'x\\"),
    "a NUL byte": lambda: _count("vol > 1 \0"),
    "a NUL byte in a string": lambda: _count("symbol = 'a\0b'"),
    "a NUL byte in a name": lambda: _count("`a\0b` = 1"),
    "a lone surrogate": lambda: _count("symbol = '\ud800'"),
    "a lone surrogate in a name": lambda: _count("`\udfff` = 1"),
    "a lone surrogate outside": lambda: _count("vol > 1 \ud800"),
    "signs that turn the direction": lambda: _count("symbol = '\u202e' AND vol \u202e > 1"),
    "10,000 SELECT items": lambda: (
        f"SELECT {', '.join(f'sum(vol + {i}) AS a{i}' for i in range(10_000))} FROM trades {WINDOW}"
    ),
    "1,000 keys": lambda: (
        f"SELECT count(*) AS n FROM trades GROUP BY {', '.join(f'vol + {i}' for i in range(1_000))}"
        ", window(ts, '10 seconds')"
    ),
    "500 tables": lambda: (
        "SELECT count(*) AS n FROM trades " + "JOIN listing USING (symbol) " * 500 + WINDOW
    ),
    "nothing": lambda: "",
    "blanks only": lambda: " \n\t ",
    "a semicolon": lambda: ";",
    "a comment only": lambda: "-- nothing",
    "two statements": lambda: _count("vol > 1") + "; DROP VIEW trades",
}


@pytest.mark.parametrize("what", LARGE)
def test_a_text_is_accepted_or_refused_in_three_parts(loom: Loom, what: str):
    sql, started = LARGE[what](), time.monotonic()
    refusal = _refusal(loom, sql)
    verdict = "accepted" if refusal is None else f"refused: {refusal.what[:60]}"
    print(f"{what}: {time.monotonic() - started:.1f} s, {verdict}")  # noqa: T201  (with pytest -s)
    if refusal is not None:
        assert refusal.what
        assert refusal.why
        assert refusal.instead
        assert len(str(refusal)) < 5_000, "nobody reads a megabyte"
    # Whatever it was, the loom goes on.
    loom.add(f"SELECT sum(vol) AS n FROM trades {WINDOW}", name="next")


def _refusal(loom: Loom, sql: str) -> GinghamError | None:
    try:
        with deadline(PATIENCE):
            loom.add(sql, name="large")
    except GinghamError as error:
        return error
    return None
