"""The interval of a value is the number of cuts that are <= it, whichever way it is looked up."""

import math
from bisect import bisect_right
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from gingham.logical.domain import DATE, DOUBLE, INTEGER, STRING, Domain
from gingham.spark.interval_search import MOST_BRANCHES, IntervalSearch, with_positions
from gingham.spark.select_chain import SelectChain

_NAN, _INF = math.nan, math.inf
_DECIMAL = Domain("decimal", scale=2, precision=20)
_CASES = [
    (INTEGER, pa.int64(), [-5, 0, 7], [-6, -5, -4, 0, 7, 8, 2**53, None]),
    (INTEGER, pa.int64(), [-(2**63), 2**53, 2**53 + 1], [-(2**63), 2**53, 2**53 + 1, None]),
    (DOUBLE, pa.float64(), [-1.5, 0.0, 2.5], [-_INF, -1.5, 0.0, 2.4, 2.5, _INF, _NAN, None]),
    (DOUBLE, pa.float64(), [-_INF, 0.5, _INF, _NAN], [-_INF, 0.0, 0.5, _INF, _NAN, None]),
    (DOUBLE, pa.float64(), [1.0, _NAN], [0.0, 1.0, _INF, _NAN, None]),
    (STRING, pa.string(), ["", "a'b", "z\\"], ["", " ", "a", "a'b", "zz", "é", None]),
    (_DECIMAL, pa.decimal128(20, 2), [-150, 3], [Decimal("-1.51"), Decimal("-1.50"), None]),
    (DATE, pa.float64(), [-1, 18_000], [-2.0, -1.0, 17_999.0, 18_000.0, None]),
]


@pytest.mark.parametrize("branches", [MOST_BRANCHES, 0])
@pytest.mark.parametrize(("domain", "kind", "cuts", "values"), _CASES)
def test_places(
    spark: SparkSession,
    branches: int,
    domain: Domain,
    kind: pa.DataType,
    cuts: list[Any],
    values: list[Any],
):
    looked_for = IntervalSearch("value", "found", domain, tuple(cuts))
    number = pa.float64() if looked_for.in_doubles and kind == pa.int64() else kind
    df = spark.createDataFrame(pa.table({"value": pa.array(values, kind).cast(number)}))
    found = with_positions(SelectChain(df), [looked_for], branches).to_dataframe().toArrow()
    ordered = [_order(domain, c / 100 if domain is _DECIMAL else c) for c in cuts]
    for value, interval in zip(found["value"].to_pylist(), found["found"].to_pylist(), strict=True):
        expected = None if value is None else bisect_right(ordered, _order(domain, value))
        assert interval == expected, (value, cuts)


def _order(domain: Domain, value: Any) -> Any:
    if domain is STRING:
        return value.encode()
    nan = isinstance(value, float) and math.isnan(value)
    return (nan, 0.0 if nan else float(value) if domain is _DECIMAL else value)
