"""The rows that the corpus is asked about: every type of column, NULLs, extremes and odd names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

ROWS = 200
TIME = "ts"
_TIME_SQL = "timestamp'2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id * 1.5) AS ts"

# Doubles are multiples of 1/4, so that sums do not depend on the order of rows; what is extreme
# stands in columns of its own, which the corpus compares, groups by and takes the least of.
EVENTS = rf"""
SELECT
    id,
    {_TIME_SQL},
    if(id % 11 = 0, NULL, id % 3 = 0) AS b,
    CAST(if(id % 13 = 0, NULL, id % 7 - 3) AS TINYINT) AS i8,
    CAST(if(id % 17 = 0, NULL, id % 9 - 4) AS SMALLINT) AS i16,
    CAST(if(id % 19 = 0, NULL, id % 10 - 2) AS INT) AS i,
    if(id % 23 = 0, NULL, id % 12 + if(id % 5 = 0, 9007199254740992, 0)) AS l,
    CAST(CASE id WHEN 70 THEN 'NaN' WHEN 75 THEN '-0.0' WHEN 76 THEN NULL
        ELSE (id % 8 - 3) / 4 END AS FLOAT) AS f,
    CAST(CASE WHEN id % 29 = 0 THEN NULL WHEN id % 31 = 0 THEN '-0.0'
        ELSE (id % 16 - 5) / 4 END AS DOUBLE) AS d,
    CAST(elt(CAST(id % 9 + 1 AS INT), 'NaN', 'Infinity', '-Infinity', '-0.0', '0.0', '1e300',
        '4.9e-324', '-1.5', NULL) AS DOUBLE) AS x,
    CAST(CASE id % 40 WHEN 3 THEN 127 WHEN 4 THEN -128 ELSE 1 END AS TINYINT) AS e8,
    CAST(CASE id % 40 WHEN 3 THEN 2147483647 WHEN 4 THEN -2147483648 ELSE 2 END AS INT) AS e32,
    CASE id % 40 WHEN 3 THEN 9223372036854775807 WHEN 4 THEN -9223372036854775808
        ELSE 3 END AS e64,
    CAST(if(id % 14 = 0, NULL, (id % 21 - 7) * 1.25) AS DECIMAL(10, 2)) AS dec,
    CAST(if(id % 15 = 0, NULL, (id % 6 - 2) * 1234567890123456.0123456789BD)
        AS DECIMAL(38, 10)) AS big,
    elt(CAST(id % 19 + 1 AS INT), '', 'a', 'b', 'abc', 'ABC', 'it''s', 'x y', ' pad ', 'ü', '日本',
        'a.b', '12', '7', '-3', '100%', 'a_b', 'a\\b', '"q"', NULL) AS s,
    if(id % 25 = 0, NULL, CAST(id % 20 - 3 AS STRING)) AS num,
    elt(CAST(id % 8 + 1 AS INT), 'k0', 'k1', 'k2', 'k3', 'k4', 'K1', 'zz', NULL) AS k,
    rpad(elt(CAST(id % 4 + 1 AS INT), 'ab', 'abc', 'AB', NULL), 5, ' ') AS ch,
    elt(CAST(id % 5 + 1 AS INT), 'ab', 'ab ', 'abcde', '', NULL) AS vc,
    elt(CAST(id % 6 + 1 AS INT), 'ab', 'AB', 'Ab', 'b', 'C', NULL) COLLATE UTF8_LCASE AS ci,
    elt(CAST(id % 5 + 1 AS INT), 'é', 'É', 'e', 'Z', NULL) COLLATE UNICODE_CI AS un,
    CAST(elt(CAST(id % 5 + 1 AS INT), 'ab', '', 'abc', 'Z', NULL) AS BINARY) AS bin,
    if(id % 12 = 0, NULL, date_add(DATE'2023-12-25', CAST(id % 15 AS INT))) AS dt,
    if(id % 10 = 0, NULL, timestamp'2023-12-31 23:59:59.5'
        + make_dt_interval(0, CAST(id % 5 AS INT), 0, id % 4)) AS tz,
    if(id % 9 = 0, NULL, timestamp_ntz'2024-02-29 12:00:00'
        + make_dt_interval(CAST(id % 3 AS INT), 0, 0, id % 6)) AS ntz,
    if(id % 16 = 0, NULL, make_dt_interval(CAST(id % 3 - 1 AS INT), 0, 0, id % 5)) AS dti,
    if(id % 18 = 0, NULL, make_ym_interval(0, CAST(id % 7 - 3 AS INT))) AS ymi,
    CASE id % 5 WHEN 0 THEN NULL WHEN 1 THEN CAST(array() AS ARRAY<INT>)
        ELSE array(CAST(id % 4 AS INT), NULL, CAST(id % 3 AS INT)) END AS arr,
    CASE id % 4 WHEN 0 THEN NULL ELSE array('a', CAST(id % 3 AS STRING)) END AS sarr,
    array(CAST(id % 4 AS FLOAT), CAST(1 AS FLOAT)) AS farr,
    if(id % 7 = 0, NULL, named_struct('a', CAST(id % 4 AS INT), 'b', concat('t', id % 3),
        'c', named_struct('d', id % 2 = 0))) AS st,
    CASE id % 6 WHEN 0 THEN NULL WHEN 1 THEN map('a', 1) ELSE map('a', CAST(id % 4 AS INT), 'k',
        CAST(id % 3 AS INT)) END AS m,
    CASE id % 8 WHEN 0 THEN NULL ELSE parse_json(concat('{{"a": ', id % 5, ', "b": "w', id % 3,
        '", "c": [', id % 4, ', 2], "n": null}}')) END AS v,
    CASE id % 8 WHEN 0 THEN NULL WHEN 1 THEN 'not json' ELSE concat('{{"a": ', id % 5, ', "b": "w',
        id % 3, '", "c": [', id % 4, ', 2]}}') END AS js,
    concat('http://h', id % 3, '.org/p/', id % 4, '?q=', id % 5, '&r=x%20y#f') AS url,
    concat('<a><b>', id % 5, '</b><b>', id % 3, '</b></a>') AS xml,
    CAST(id % 6 AS INT) AS Mixed,
    CAST(id % 3 AS INT) AS n,
    concat('g', id % 4) AS cnt
FROM range(0, {ROWS}, 1, 1)
"""

INFO = """
SELECT * FROM VALUES
    ('k0', 'zero', 0, 10.5D, 'a', 100), ('k1', 'one', 1, -0.0D, 'b', 101),
    ('k2', 'two', NULL, CAST('NaN' AS DOUBLE), NULL, 102), ('k3', '', 3, 3.5D, 'abc', 103),
    ('K1', 'ONE', -1, NULL, 'ü', 104), (NULL, 'none', 9, 9.0D, 'n', 105)
    AS t(k, label, w, d, s, code)
"""

# Names that SQL makes hard, and names that the engine uses for its own columns.
ODD_NAMES = (
    "a.b", "c d", "ünï", "ti`ck", "1st", "x-y", "日本", "tab\tname", "Select", 'quo"te', "it's",
    "$d", "a,b", "(p)", "[q]", "--c", "/*c*/", "%s", "{x}", "\\", "?", ":p", "@v", "a b.c d", "é",
)  # fmt: skip
OUR_NAMES = (
    "__code", "__key_0", "__aggregate_0", "window", "window_start", "window_end", "__slice",
    "__cell_0", "__instant", "__partial_sum_0", "__rows", "__tree", "__grid", "__query", "_1",
    "start", "end", "value", "key", "count", "col", "__group", "__window", "__output_0", "__time",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of a stream, or those of a table and its unique key."""

    rows: Callable[[SparkSession], DataFrame]
    key: str | None = None


def quoted(name: str) -> str:
    """A name in backticks.

    >>> quoted("ti`ck")
    '`ti``ck`'
    """
    return "`" + name.replace("`", "``") + "`"


def keywords_of(spark: SparkSession) -> tuple[str, ...]:
    """The keywords that Spark lists."""
    return tuple(row[0] for row in spark.sql("SELECT keyword FROM sql_keywords()").collect())


def sources(keywords: tuple[str, ...]) -> dict[str, Source]:
    """The streams and tables by name; `words` has a column for every keyword of SQL."""
    return {
        "events": Source(_events),
        "words": Source(lambda spark: _numbered(spark, [w.lower() for w in keywords])),
        "odd": Source(lambda spark: _numbered(spark, ODD_NAMES)),
        **{
            f"ours{i}": Source(lambda spark, name=name: _numbered(spark, (name, "plain")))
            for i, name in enumerate(OUR_NAMES)
        },
        "info": Source(lambda spark: spark.sql(INFO), key="k"),
    }


def _events(spark: SparkSession) -> DataFrame:
    rows = spark.sql(EVENTS)
    for name, kind in (("ch", "char(5)"), ("vc", "varchar(5)")):
        # What a column of a catalog table has: Spark pads the constants that it is compared with.
        metadata = {"__CHAR_VARCHAR_TYPE_STRING": kind}
        rows = rows.withColumn(name, F.col(name).alias(name, metadata=metadata))
    return rows


def _numbered(spark: SparkSession, names: tuple[str, ...] | list[str]) -> DataFrame:
    values = [
        f"CAST(if(id % {11 + i % 5} = 0, NULL, (id + {i}) % {3 + i % 4}) AS INT) AS {quoted(name)}"
        for i, name in enumerate(names)
    ]
    return spark.sql(f"SELECT {_TIME_SQL}, {', '.join(values)} FROM range(0, {ROWS}, 1, 1)")
