"""A query that raises costs nobody else a single bit, and says itself what Spark says.

`GINGHAM_ISOLATION=all` tries every way to raise (`make isolation`); otherwise a few of them.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import gingham
from tests.oracle.same_rows import canonical_row, rows_differ
from tests.replay import replayed

WINDOW = "window(ts, '10 seconds')"
AVAILABLE = {"availableNow": True}
POISON = 37  # the row that makes queries raise; it stands in the second micro-batch
ROWS, BATCHES = 90, 3

# Columns of every type in which one row is unlike all others.
ROW = f"""
SELECT
    id, timestamp'2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id * 0.5) AS ts,
    id = {POISON} AS p,
    concat('k', id % 3) AS k,
    CAST(id % 7 AS INT) AS i,
    (id % 9 - 2) / 4D AS d,
    CAST(if(id = {POISON}, 0, id % 5 + 1) AS INT) AS z,
    if(id = {POISON}, 'oops', CAST(id % 9 AS STRING)) AS txt,
    if(id = {POISON}, '[', '^a') AS pat,
    CAST(if(id = {POISON}, 127, id % 3) AS TINYINT) AS e8,
    CAST(if(id = {POISON}, 32767, id % 3) AS SMALLINT) AS e16,
    CAST(if(id = {POISON}, 2147483647, id % 3) AS INT) AS e32,
    if(id = {POISON}, 9223372036854775807, id % 3) AS e64,
    CAST(if(id = {POISON}, -9223372036854775807 - 1, id % 3 + 1) AS BIGINT) AS low,
    CAST(if(id = {POISON}, '99999999999999999999999999999999999999', CAST(id % 3 + 1 AS STRING))
        AS DECIMAL(38, 0)) AS big,
    if(id = {POISON}, 1e300D, 0.5D) AS huge,
    if(id = {POISON}, '2024-13-45', '2024-01-02') AS day,
    if(id = {POISON}, 'bbb', 'yyyy') AS fmt,
    CAST(if(id = {POISON}, array(), array(1, 2, 3)) AS ARRAY<INT>) AS arr,
    if(id = {POISON}, map('b', 2), map('a', 1)) AS m,
    if(id = {POISON}, 'http://a b/^', 'http://a.org/x?q=1') AS url,
    if(id = {POISON}, '{{"a": ', '{{"a": 1}}') AS js,
    if(id = {POISON}, '%zz', 'a%20b') AS enc,
    if(id = {POISON}, 'GG', '1F') AS hexa,
    if(id = {POISON}, INTERVAL '106751991' DAY, INTERVAL '1' DAY) AS dti,
    if(id = {POISON}, INTERVAL '178956970' YEAR, INTERVAL '1' YEAR) AS ymi
FROM range(0, {ROWS}, 1, 2)
"""

# Ways to raise, by the place of the expression.
WHERE = """
txt > 5
txt RLIKE '^[a-z]+$' AND txt > 5
NOT txt RLIKE '^[0-9]+$' AND txt + 1 > 2
txt RLIKE '^[0-9]+$' AND txt > 5
z <> 0 AND 6 / z > 2
txt = 3 OR i = 2
CAST(txt AS INT) > 2
txt::bigint IN (1, 2)
CAST(txt AS DOUBLE) > 0.5
CAST(txt AS DECIMAL(5, 2)) > 1
CAST(day AS DATE) > DATE'2024-01-01'
CAST(day AS TIMESTAMP) IS NOT NULL
CAST(txt AS BOOLEAN) OR true
CAST(e32 AS TINYINT) > 0
CAST(e64 AS INT) > 0
CAST(huge AS BIGINT) >= 0
CAST(big AS INT) > 0
CAST(huge AS DECIMAL(5, 2)) > 0
1 / z > 0.1
i % z = 0
i DIV z = 1
mod(i, z) = 0
pmod(i, z) = 0
d / z > 0
split_part(url, '/', z) = ''
'abc' RLIKE pat
regexp_extract('abc', pat, 0) = 'a'
regexp_replace('abc', pat, 'x') = 'x'
regexp_count('abc', pat) > 0
regexp_extract('abc', '^a', z - 1) IS NOT NULL
parse_url(url, 'HOST') = 'a.org'
round(e32, -1) >= 0
bround(e64, -1) >= 0
format_string(if(p, '%d', '%s'), txt) IS NOT NULL
date_format(ts, fmt) = '2024'
to_date(day) IS NOT NULL
to_date(day, 'yyyy-MM-dd') IS NOT NULL
to_timestamp(day) IS NOT NULL
to_timestamp(day, 'yyyy-MM-dd') IS NOT NULL
unix_timestamp(day, 'yyyy-MM-dd') > 0
to_number(txt, '9') > 1
to_binary(hexa, 'hex') IS NOT NULL
make_date(2024, if(p, 13, 1), 1) IS NOT NULL
make_timestamp(2024, if(p, 13, 1), 1, 0, 0, 0) IS NOT NULL
make_interval(e32, e32) IS NOT NULL
make_dt_interval(e32, e32) IS NOT NULL
make_ym_interval(e32, 2) IS NOT NULL
next_day('2024-01-01', if(p, 'XX', 'MO')) IS NOT NULL
element_at(arr, 2) = 2
element_at(arr, z) = 1
arr[1] = 2
element_at(array(1, 2), z) > 0
e8 + 1Y > 0
e8 * 2Y > 0
e16 + 1S > 0
e32 + 1 > 0
e32 * 2 > 0
-low > 0
low - 1 < 0
e64 + 1 > 0
e64 * 2 > 0
abs(low) > 0
low DIV -1 > 0
big + big > 0
big * 10 > 0
CAST(big * 100 AS DECIMAL(38, 0)) > 0
dti * 3 > INTERVAL '1' DAY
dti + dti > INTERVAL '1' DAY
ymi * 2 > INTERVAL '1' YEAR
ts + ymi > ts
date_add(DATE'2024-01-01', e32) IS NOT NULL
add_months(DATE'2024-01-01', e32) IS NOT NULL
timestamp_seconds(e64) IS NOT NULL
timestamp_millis(e64) IS NOT NULL
timestamp_micros(e64) IS NOT NULL
factorial(i) > 0 AND shiftleft(e32, 1) + e32 > 0
unhex(hexa) IS NOT NULL
aes_decrypt(CAST(txt AS BINARY), '0000111122223333') IS NOT NULL
url_decode(enc) = 'a b'
from_json(js, 'a INT', map('mode', 'FAILFAST')).a = 1
from_csv(txt, 'a INT', map('mode', 'FAILFAST')).a > 1
from_xml(if(p, '<a>', '<a><b>1</b></a>'), 'b INT', map('mode', 'FAILFAST')).b = 1
parse_json(js) IS NOT NULL
variant_get(parse_json(concat('"', txt, '"')), '$', 'int') > 1
parse_json(concat('"', txt, '"'))::int > 1
decode(X'FF', if(p, 'nosuch', 'utf-8')) IS NOT NULL
encode('a', if(p, 'nosuch', 'utf-8')) IS NOT NULL
elt(z, 'a', 'b', 'c', 'd', 'e') = 'a'
conv(if(p, 'zzzzzzzzzzzzzzzzzzzz', '1'), 36, 10) > '0'
size(sequence(1, if(p, -5, 5), 1)) > 0
size(sequence(1, if(p, 9223372036854775806L, 5L))) > 0
size(array_repeat(1, if(p, 2147483647, 1))) > 0
length(repeat('abcdefgh', if(p, 2147483647, 1))) > 0
length(space(if(p, -1, 1))) >= 0
assert_true(NOT p) IS NULL
raise_error('no ' || txt) IS NULL
if(p, raise_error('boom'), 1) = 1
CASE WHEN p THEN 1 / (z - z) ELSE 0 END = 0
exists(arr, e -> 1 / (e - 1) > 0)
exists(array(z), e -> 1 / e > 5)
aggregate(array(z), 1, (a, e) -> a DIV e) > 0
map_from_arrays(array(txt, if(p, txt, 'x')), array(1, 2)) IS NOT NULL
to_char(big, '999') IS NOT NULL
width_bucket(d, 0, 1, z - 1) IS NOT NULL
validate_utf8(CAST(if(p, X'80', X'61') AS STRING)) = 'a'
bitmap_count(hll_union(CAST(txt AS BINARY), CAST(txt AS BINARY))) > 0
raises(z) > 0
exits(z) > 0
dies(z) > 0
pandas_raises(z) > 0
pandas_short(z) > 0
"""
QUERIES = f"""
SELECT sum(6 / z) AS n FROM rows GROUP BY {WINDOW}
SELECT avg(CAST(txt AS INT)) AS n FROM rows GROUP BY {WINDOW}
SELECT sum(txt) AS n FROM rows GROUP BY {WINDOW}
SELECT max(arr[1]) AS n, min(element_at(arr, 2)) AS z FROM rows GROUP BY k, {WINDOW}
SELECT sum(e64) AS n FROM rows GROUP BY {WINDOW}
SELECT sum(e64 * 2) AS n FROM rows GROUP BY {WINDOW}
SELECT sum(big) AS n FROM rows GROUP BY {WINDOW}
SELECT sum(dti) AS n FROM rows GROUP BY {WINDOW}
SELECT sum(ymi) AS n FROM rows GROUP BY {WINDOW}
SELECT avg(ymi) AS n FROM rows GROUP BY {WINDOW}
SELECT max_by(1 / z, id) AS n FROM rows GROUP BY {WINDOW}
SELECT approx_percentile(6 / z, 0.5) AS n FROM rows GROUP BY {WINDOW}
SELECT count_if(6 / z > 2) AS n FROM rows GROUP BY {WINDOW}
SELECT count(raises(z)) AS n FROM rows GROUP BY {WINDOW}
SELECT stddev(1 / z) AS n FROM rows GROUP BY {WINDOW}
SELECT approx_count_distinct(1 / z) AS n FROM rows GROUP BY {WINDOW}
SELECT 6 DIV z AS g, count(*) AS n FROM rows GROUP BY 6 DIV z, {WINDOW}
SELECT CAST(txt AS INT) AS g, count(*) AS n FROM rows GROUP BY 1, {WINDOW}
SELECT arr[0] AS g, count(*) AS n FROM rows GROUP BY arr[0], {WINDOW}
SELECT raises(z) AS g, count(*) AS n FROM rows GROUP BY raises(z), {WINDOW}
SELECT to_date(day) AS g, count(*) AS n FROM rows GROUP BY to_date(day), {WINDOW}
SELECT count(*) FILTER (WHERE 6 / z > 2) AS n FROM rows GROUP BY {WINDOW}
SELECT sum(i) FILTER (WHERE CAST(txt AS INT) > 2) AS n, count(*) AS c FROM rows GROUP BY {WINDOW}
SELECT sum(1 / z) FILTER (WHERE z <> 0) AS n FROM rows GROUP BY {WINDOW}
SELECT sum(1 / z) AS n FROM rows WHERE z <> 0 GROUP BY {WINDOW}
SELECT 6 / z AS g, count(*) AS n FROM rows WHERE z <> 0 GROUP BY 6 / z, {WINDOW}
SELECT 1 / min(z) AS n FROM rows GROUP BY {WINDOW}
SELECT CAST(max(txt) AS INT) AS n FROM rows GROUP BY {WINDOW}
SELECT max(e32) + 1 AS n FROM rows GROUP BY {WINDOW}
SELECT CAST(sum(i) / (min(z) - 0) AS INT) AS n, k FROM rows GROUP BY k, {WINDOW}
SELECT raise_error('no') AS n FROM rows GROUP BY {WINDOW}
SELECT count(*) AS n FROM rows GROUP BY {WINDOW} HAVING 1 / min(z) > 0
SELECT count(*) AS n FROM rows GROUP BY {WINDOW} HAVING CAST(max(txt) AS INT) > 3
SELECT k, count(*) AS n FROM rows GROUP BY k, {WINDOW} HAVING max(e64) + 1 > 0
SELECT raises(min(z)) AS n FROM rows GROUP BY {WINDOW}
SELECT element_at(array(count(*), 1), min(z)) AS n FROM rows GROUP BY {WINDOW}
"""


def batched(names: Mapping[str, str], size: int) -> Iterator[tuple[str, ...]]:
    """Names in groups of some size."""
    every = tuple(names)
    yield from (every[i : i + size] for i in range(0, len(every), size))


def ways() -> dict[str, str]:
    """The queries that raise, or look as if they did, by name."""
    conditions = [
        f"SELECT count(*) AS n FROM rows WHERE {text} GROUP BY {WINDOW}"
        for text in WHERE.strip().splitlines()
    ]
    everything = [*conditions, *QUERIES.strip().splitlines()]
    return {f"bad{number}": text for number, text in enumerate(everything)}


def healthy() -> dict[str, str]:
    """Fifty queries that never raise; sums of their doubles are exact in any order."""
    filters = (
        "true", "i > 2", "k = 'k1' AND d > 0", "txt LIKE '1%' OR i < 3", "NOT p",
        "z > 0 AND i BETWEEN 1 AND 4", "length(url) > 3", "d IS NOT NULL AND upper(k) <> 'K0'",
        "e32 < 100", "exists(arr, e -> e > 2)",
    )  # fmt: skip
    forms = (
        "SELECT count(*) AS n FROM rows WHERE {} GROUP BY window(ts, '10 seconds')",
        ("SELECT k, sum(i) AS n, avg(d) AS a FROM rows WHERE {} "
        "GROUP BY k, window(ts, '10 seconds')"),
        ("SELECT i % 2 AS g, max(d) - min(d) AS n FROM rows WHERE {} "
        "GROUP BY i % 2, window(ts, '20 seconds', '10 seconds')"),
        ("SELECT max_by(txt, id) AS n, sum(d * d) AS v FROM rows WHERE {} "
        "GROUP BY window(ts, '10 seconds') HAVING count(*) > 1"),
        ("SELECT sum(d) / count(*) AS n, count(*) FILTER (WHERE i = 3) AS f FROM rows WHERE {} "
        "GROUP BY window(ts, '15 seconds')"),
    )  # fmt: skip
    return {
        f"good{i}_{j}": form.format(text)
        for i, form in enumerate(forms)
        for j, text in enumerate(filters)
    }


ALL = os.environ.get("GINGHAM_ISOLATION") == "all"
WAYS = ways()
_SPREAD = len(WAYS) // 10
SAMPLE = list(WAYS)[_SPREAD // 2 :: _SPREAD][:10]
IN_A_STREAM = 12  # queries that raise, beside all healthy ones


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    kept = spark.sql(ROW).localCheckpoint()
    kept.createOrReplaceTempView("rows")
    _register_functions(spark)
    return kept


@pytest.fixture(scope="module")
def loom(rows: DataFrame, spark: SparkSession) -> gingham.Loom:
    """The healthy queries, beside which each test puts others."""
    loom = gingham.Loom(spark).stream("rows", rows, time="ts")
    for name, sql in healthy().items():
        loom.add(sql, name=name)
    return loom


@pytest.fixture(scope="module")
def undisturbed(loom: gingham.Loom) -> Mapping[str, list[str]]:
    """The answers of the healthy queries when nothing else runs."""
    answers = loom.run()
    return {name: _bits(answers.arrow(name)) for name in healthy()}


def test_there_are_a_hundred_ways_to_raise_and_fifty_healthy_queries():
    assert len(set(WAYS.values())) >= 100
    assert len(set(healthy().values())) == 50


@pytest.mark.parametrize("name", list(WAYS) if ALL else SAMPLE[::3])
def test_a_query_that_raises_fails_under_its_own_name(
    name: str, spark: SparkSession, loom: gingham.Loom, undisturbed: Mapping[str, list[str]]
):
    _assert_isolated(spark, loom, [name], undisturbed)


def test_many_queries_that_raise_at_once_fail_each_under_its_own_name(
    spark: SparkSession, loom: gingham.Loom, undisturbed: Mapping[str, list[str]]
):
    _assert_isolated(spark, loom, list(WAYS) if ALL else SAMPLE, undisturbed)


@pytest.mark.parametrize("names", list(batched(WAYS, IN_A_STREAM)) if ALL else [(SAMPLE[1],)])
def test_queries_that_raise_in_one_stream_fail_each_under_its_own_name(
    names: tuple[str, ...], spark: SparkSession, rows: DataFrame, tmp_path: Path
):
    _assert_isolated_in_stream(spark, rows, tmp_path, names)


def _assert_isolated(
    spark: SparkSession,
    loom: gingham.Loom,
    names: list[str],
    undisturbed: Mapping[str, list[str]],
) -> None:
    """Run these queries beside the healthy ones, which answer what they did without them."""
    added = [name for name in names if _added(loom, name)]
    try:
        answers = loom.run()
    finally:
        for name in added:
            loom.remove(name)
    for name in added:
        _assert_fails_as_alone(spark, name, functools.partial(_read, answers, name))
    for good in healthy():
        assert _bits(answers.arrow(good)) == undisturbed[good], f"{good} beside {added}"
    answers.release()


def _assert_isolated_in_stream(
    spark: SparkSession, rows: DataFrame, folder: Path, names: Sequence[str]
) -> None:
    """Run a stream with and without these queries: the healthy ones answer the same."""
    size = ROWS // BATCHES
    for number in range(BATCHES):
        part = rows.where(F.col("id").between(number * size, (number + 1) * size - 1))
        part.coalesce(1).write.parquet(str(folder / f"part{number}"))
    (folder / "rows").mkdir()
    for number in range(BATCHES):
        file = next((folder / f"part{number}").glob("*.parquet"))
        target = folder / "rows" / f"{number:06d}.parquet"
        target.write_bytes(file.read_bytes())
        os.utime(target, (1_600_000_000 + number, 1_600_000_000 + number))
    quiet, _ = _streamed(spark, rows, folder, "quiet", [])
    loud, added = _streamed(spark, rows, folder, "loud", names)
    for good in healthy():
        assert _bits(loud.arrow(good)) == _bits(quiet.arrow(good)), good
    failed = loud.failed()
    assert set(failed) <= set(added)
    # Whatever is read from files may be NULL, and what may not be, Spark does not always evaluate.
    spark.read.schema(_ddl(rows)).parquet(str(folder / "rows")).createOrReplaceTempView("files")
    for name in added:
        message = _message_alone(spark, re.sub(r"\bFROM rows\b", "FROM files", WAYS[name]))
        if message is not None:
            assert name in failed, f"{WAYS[name]} raises alone: {message}"
            assert _says(str(failed[name]), message), (WAYS[name], message, str(failed[name]))
        else:
            assert name not in failed, f"{WAYS[name]}: {failed.get(name)}"


def _streamed(
    spark: SparkSession, rows: DataFrame, folder: Path, run: str, names: Sequence[str]
) -> tuple[gingham.Running, list[str]]:
    """Run a stream to its end; also gives the names that were not refused."""
    stream = replayed(spark, folder / "rows", schema=_ddl(rows))
    loom = gingham.Loom(spark).stream("rows", stream, time="ts", watermark="0 seconds")
    for name, sql in healthy().items():
        loom.add(sql, name=name)
    added = [name for name in names if _added(loom, name)]
    running = loom.start(checkpoint=str(folder / run), sink="memory", trigger=AVAILABLE)
    running.await_termination()
    return running, added


def _ddl(rows: DataFrame) -> str:
    return ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in rows.schema.fields)


def _added(loom: gingham.Loom, name: str) -> bool:
    """Add a query that raises; refusing it with a reason is as good as failing later."""
    try:
        loom.add(WAYS[name], name=name)
    except gingham.GinghamError:
        return False
    return True


def _assert_fails_as_alone(spark: SparkSession, name: str, read: Callable[[], list[Any]]) -> None:
    """What Spark says to the query alone, `read` raises; or it gives what Spark answers."""
    sql = WAYS[name]
    message = _message_alone(spark, sql)
    if message is None:
        # Its own sums, unlike those of the healthy queries, may depend on the order of the rows.
        assert not (differ := rows_differ(_alone(spark, sql), read(), summed=True)), (sql, differ)
        return
    with pytest.raises(Exception) as raised:  # noqa: PT011  (the message is what counts)
        read()
    assert _says(str(raised.value), message), (sql, message, str(raised.value))


def _read(answers: gingham.Answers, name: str) -> list[Any]:
    failed = answers.failed().get(name)
    if failed is not None:
        raise failed
    selected = [c for c in answers[name].columns if c not in ("window_start", "window_end")]
    return _canonical_rows(answers[name].select(*selected))


def _alone(spark: SparkSession, sql: str) -> list[Any]:
    return _canonical_rows(spark.sql(sql))


def _canonical_rows(found: DataFrame) -> list[Any]:
    return [canonical_row(tuple(row), found.dtypes) for row in found.collect()]


@functools.cache
def _message_alone(spark: SparkSession, sql: str) -> str | None:
    """What Spark says when it runs only this query; None if it has an answer."""
    try:
        _alone(spark, sql)
    except Exception as error:  # noqa: BLE001  (whatever it is, the query must fail with it)
        return str(error)
    return None


def _says(ours: str, sparks: str) -> bool:
    """Whether a message tells what Spark told: its error class, its sentence or the exception."""
    for line in sparks.splitlines():
        for error_class, sentence in re.findall(r"\[([A-Z][A-Z0-9_.]+)\] (.{0,25})", line):
            if error_class in ours or (sentence and sentence in ours):
                return True
        # A line may begin with who failed where, and end with the exception.
        for sentence in re.findall(r"[\w.$]+(?:Error|Exception|Exit): (.{1,25})", line):
            if sentence in ours:
                return True
    # Sums of integers are added up outside of Spark, and their overflow is told in other words.
    if "overflow" in sparks and " overflows" in ours:
        return True
    return sparks.splitlines()[0][:40] in ours


def _bits(table: pa.Table) -> list[str]:
    """The rows of an answer, so that NaN is itself and -0.0 is not 0.0."""
    return sorted(repr(tuple(row.items())) for row in table.to_pylist())


def _register_functions(spark: SparkSession) -> None:
    # Workers get these by value: they cannot import the module of a test.
    def raises(z: int) -> float:
        return 1 / z

    def exits(z: int) -> int:
        if z == 0:
            sys.exit(3)
        return z

    def dies(z: int) -> int:
        if z == 0:
            os._exit(3)
        return z

    def pandas_raises(z: pd.Series) -> pd.Series:
        if (z == 0).any():
            raise ValueError("a zero")
        return z

    def pandas_short(z: pd.Series) -> pd.Series:
        found: Any = z[z != 0]
        return found

    for name, function in (("raises", raises), ("exits", exits), ("dies", dies)):
        spark.udf.register(name, function, "double" if name == "raises" else "int")
    pandas_udf: Any = F.pandas_udf
    for name, function in (("pandas_raises", pandas_raises), ("pandas_short", pandas_short)):
        spark.udf.register(name, pandas_udf(function, "int"))
