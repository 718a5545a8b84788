"""Top-k, Bloom filters and count-min sketches: the same as Spark's, shared or not."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from gingham import Loom, QueryError

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
CALLS = {
    "top": "max_by(x, x, 3)",
    "bottom": "min_by(name, x, 2)",
    "bloom": "bitmap_construct_agg(bitmap_bit_position(hash(name)))",
    "any_of": "bitmap_or_agg(bits)",
    "all_of": "bitmap_and_agg(bits)",
}
COUNTERS = "count_min_sketch(name, 0.5D, 0.9D, 7)"
# Of four parts; the first two and the next two are the same rows, so one can be subtracted.
WHERE = ("part IN (0, 3)", "part IN (1, 2)", "part IN (0, 2)", "part IN (1, 3)", "part < 4")


@pytest.fixture
def loom(spark: SparkSession) -> Loom:
    nan = float("nan")
    rows = spark.createDataFrame(
        [
            (
                NOON + timedelta(seconds=3 * n),
                n % 4,
                None if n % 7 == 0 else nan if n == 20 else (n * 37 % 50) / 4,
                f"name {n % 5}",
                bytes([n, 255 - n]),
            )
            for n in range(40)
        ],
        "ts timestamp, part int, x double, name string, bits binary",
    )
    return Loom(spark).stream("s", rows.repartition(3), time="ts")


def test_they_are_what_spark_answers_alone(loom: Loom):
    calls = [f"{call} AS {name}" for name, call in CALLS.items()]
    calls += [f"{call} FILTER (WHERE x > 9) AS some_{name}" for name, call in CALLS.items()]
    _add(loom, ", ".join(calls))
    _compare(loom)


def test_counters_are_subtracted(loom: Loom):
    _add(loom, f"{COUNTERS} AS found")
    _compare(loom)
    assert "4 fragments in 3 linear records" in loom.explain()


def test_a_sketch_of_nothing_is_empty(loom: Loom):
    _add(loom, f"{COUNTERS} AS found, {COUNTERS} FILTER (WHERE x > 11) AS some")
    _compare(loom)


def _add(loom: Loom, selected: str) -> None:
    for place, predicate in enumerate(WHERE):
        loom.add(
            f"SELECT {selected} FROM s WHERE {predicate} "
            "GROUP BY window(ts, '1 minute', '20 seconds')",
            name=f"q{place}",
        )


def _compare(loom: Loom) -> None:
    runs = [loom.run(send_records=records) for records in (False, True)]
    for name in loom.queries:
        alone = loom.alone(name)
        expected = _text(alone.toArrow())
        for answers in runs:
            assert answers[name].dtypes == alone.dtypes
            assert _text(answers.arrow(name)) == expected


def _text(answer: pa.Table) -> str:
    # NaN is not equal to itself, but written the same.
    return str(answer.sort_by("window_start").to_pylist())


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("max_by(x, x, part)", "not a number|NON_FOLDABLE|foldable"),
        ("count_min_sketch(name, 0.5D, 0.9D)", "parameter named `seed`"),
        ("bitmap_construct_agg(part)", "beyond the bitmap"),
    ],
)
def test_what_cannot_be_shared_is_refused(loom: Loom, call: str, why: str):
    with pytest.raises(QueryError, match=why):
        loom.add(f"SELECT {call} AS found FROM s GROUP BY window(ts, '1 minute')")
