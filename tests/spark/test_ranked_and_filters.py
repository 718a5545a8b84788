"""Top-k, Bloom filters and count-min sketches: the same as Spark's, shared or not."""

from datetime import UTC, datetime, timedelta

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
    "counters": "count_min_sketch(name, 0.5D, 0.9D, 7)",
}
# No parts of two queries are the same, and none of them is all there is.
WHERE = ("part < 3", "part IN (1, 3)", "part <> 2", "part > 0", "part IN (0, 2)")


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


@pytest.mark.parametrize("fragments", [False, True])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_it_is_what_spark_answers_alone(loom: Loom, call: str, fragments: bool):  # noqa: FBT001
    for place, predicate in enumerate(WHERE):
        loom.add(
            f"SELECT {call} AS found, {call} FILTER (WHERE x > 9) AS some FROM s "
            f"WHERE {predicate} GROUP BY window(ts, '1 minute', '20 seconds')",
            name=f"q{place}",
        )
    answers = loom.run(fragments=fragments)
    for name in loom.queries:
        shared, alone = (df.orderBy("window_start") for df in (answers[name], loom.alone(name)))
        assert shared.dtypes == alone.dtypes
        # As text, since NaN is not equal to itself.
        assert str(shared.collect()) == str(alone.collect())


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("max_by(x, x, part)", "not a number|NON_FOLDABLE|foldable"),
        ("count_min_sketch(name, 0.5D, 0.9D)", "without a seed"),
        ("bitmap_construct_agg(part)", "beyond the bitmap"),
    ],
)
def test_what_cannot_be_shared_is_refused(loom: Loom, call: str, why: str):
    with pytest.raises(QueryError, match=why):
        loom.add(f"SELECT {call} AS found FROM s GROUP BY window(ts, '1 minute')")
