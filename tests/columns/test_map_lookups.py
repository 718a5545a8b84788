"""What is looked up in a map by columns is what Spark finds there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from gingham import Loom
from gingham.columns.compile import compile_program
from gingham.columns.program import MapLookup
from tests.oracle.same_rows import canonical_row, rows_differ

START = datetime(2024, 1, 1, tzinfo=UTC)
MAPS = [
    None, {}, {"job": "a"}, {"job": "b", "zone": "x"}, {"zone": "y"}, {"job": None, "zone": "x"},
    {"job": "", "Job": "B"}, {"zone": "x", "job": "é", "it's": "q"}, {"": "empty"},
]  # fmt: skip
KEYS = [
    "labels['job']", "LABELS['job']", "`labels`['zone']", "labels['']", "labels['none']",
    "coalesce(labels['job'], '')", "COALESCE( labels[ 'job' ] , 'a')", "labels['Job']",
    "labels['it''s']", "coalesce(labels['job'], labels['zone'])", "element_at(labels, 'job')",
]  # fmt: skip
QUERIES = [
    *(f"SELECT {k} AS k, count(*) AS n FROM s GROUP BY {k}, window(ts, '7 seconds')" for k in KEYS),
    *(
        f"SELECT count(*) AS n, count({k}) AS m, max({k}) AS most FROM s WHERE {k} {test} "
        "GROUP BY window(ts, '7 seconds')"
        for k in KEYS
        for test in ("= 'a'", "<> 'b'", "IS NULL", "LIKE '%x%'", ">= 'a'")
    ),
    "SELECT more['job'] AS k, count(*) AS n FROM s GROUP BY more['job'], window(ts, '7 seconds')",
    """SELECT labels['job'] AS j, labels['zone'] AS z, sum(i) AS n FROM s
       WHERE coalesce(labels['zone'], '') IN ('', 'x') AND NOT labels['job'] = 'é'
       GROUP BY labels['job'], labels['zone'], window(ts, '7 seconds')""",
]


@pytest.mark.parametrize("rows", [40, 0])
def test_lookups_are_those_of_spark(spark: SparkSession, rows: int):
    made = [
        (START + timedelta(seconds=i), i, MAPS[i % len(MAPS)], {"job": i % 3}) for i in range(rows)
    ]
    kinds = "ts timestamp, i int, labels map<string,string>, more map<string,int>"
    stream = spark.createDataFrame(made, kinds)
    stream.createOrReplaceTempView("s")
    loom = Loom(spark).stream("s", stream, time="ts")
    for number, sql in enumerate(QUERIES):
        loom.add(sql, name=f"q{number}")
    answers = loom.run(way="columns")
    assert not answers.statistics.apart
    for number, sql in enumerate(QUERIES):
        expected = spark.sql(sql)
        wanted = [canonical_row(tuple(r), expected.dtypes) for r in expected.collect()]
        found = answers.arrow(f"q{number}").select(expected.columns).to_pylist()
        own = [canonical_row(tuple(r.values()), expected.dtypes) for r in found]
        assert not (differ := rows_differ(wanted, own, summed=False)), (sql, differ)


def test_a_map_is_sent_once(spark: SparkSession):
    stream = spark.createDataFrame([], "ts timestamp, labels map<string,string>")
    loom = Loom(spark).stream("s", stream, time="ts")
    for label in ("a", "b", "c"):
        loom.add(
            f"SELECT labels['{label}'] AS k, count(*) AS n FROM s "
            f"WHERE coalesce(labels['{label}'], '') <> 'x' "
            f"GROUP BY labels['{label}'], window(ts, '7 seconds')"
        )
    plan = loom._batch.plan("s", loom._queries_of("s"), None, "columns")
    program = compile_program(plan.forest, "unix_micros(ts)", ("labels",))
    assert list(program.sent.values()) == ["unix_micros(ts)", "`labels`"]
    assert sum(isinstance(i, MapLookup) for i in program.inputs) == 6
