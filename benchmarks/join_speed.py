"""Seconds for a million rows: sketches on Spark, a bare groupBy, exact joins in Spark and DuckDB.

Two sets of data. Dense: regions like those of the experiments with errors, but wider, which makes
more groups to sketch; its exact joins have up to 10^20 pairs, too many to wait for. Sparse: about
four rows for each key, as in joins on foreign keys, so there are nearly as many groups as rows.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import connect
from pyspark.sql import DataFrame, SparkSession

from benchmarks.sections import Section
from benchmarks.targets import Target
from benchmarks.timing import repeat
from gingham.datasets.regions import SCHEMA, Regions, workload
from gingham.estimates.algebra import Join
from gingham.estimates.estimator import Estimator
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.loom import Loom
from gingham.spark.spark_session import without_adaptive_planning

BUDGET = 20_000
FILES = 4  # of each relation, so that every core has some
ROWS_PER_KEY = 4


def speed(spark: SparkSession, rows: int, repetitions: int) -> Iterator[Section]:
    """Two tables, of dense and of sparse keys; every relation has so many rows."""
    for kind, make in (("dense", _dense), ("sparse", _sparse)):
        with tempfile.TemporaryDirectory(prefix="gingham-joins-") as folder:
            _write(make(rows), Path(folder))
            data = _Data(spark, Path(folder), rows)
            exact = _exact(data) if kind == "sparse" else {}
            yield _section(kind, data, _shared(data, repetitions), exact)


def _dense(rows: int) -> Iterator[tuple[str, pa.Table]]:
    random = np.random.default_rng(1)
    for name, table in Regions(rows=rows, widths="by relation").tables().items():
        order = random.permutation(np.repeat(np.arange(len(table.counts)), table.counts))
        yield name, pa.table({key: values[order] for key, values in table.keys.items()})


def _sparse(rows: int) -> Iterator[tuple[str, pa.Table]]:
    random = np.random.default_rng(2)
    domain = max(1, rows // ROWS_PER_KEY)
    for name, attributes in SCHEMA.items():
        yield name, pa.table({key: random.integers(0, domain, rows) for key in attributes})


def _write(tables: Iterator[tuple[str, pa.Table]], folder: Path) -> None:
    for name, table in tables:
        (folder / name).mkdir()
        step = -(-table.num_rows // FILES)
        for number in range(FILES):
            part = table.slice(number * step, step)
            pq.write_table(part, folder / name / f"{number}.parquet")


@dataclass(frozen=True, slots=True)
class _Data:
    """Relations as files that Spark and DuckDB read alike."""

    spark: SparkSession
    folder: Path
    rows: int

    def relations(self) -> dict[str, DataFrame]:
        return {name: self.spark.read.parquet(str(self.folder / name)) for name in SCHEMA}

    def estimator(self) -> Estimator:
        sketches = Loom(self.spark).sketch(budget=BUDGET)
        for name, frame in self.relations().items():
            sketches.relation(name, frame)
        for name, joins in workload(1).items():
            sketches.add(sql(joins), name=name)
        return sketches


def sql(joins: Sequence[Join]) -> str:
    """The query that counts a join; the second side of a self-join gets a name of its own.

    >>> sql([("L", "orderkey", "L", "orderkey")])
    'SELECT count(*) FROM L, L AS L2 WHERE L.orderkey = L2.orderkey'
    """
    relations: dict[str, str] = {}
    conditions: list[str] = []
    for left, a, right, b in joins:
        other = f"{right}2" if left == right else right
        relations |= {left: left, other: f"{right} AS {other}" if left == right else right}
        conditions.append(f"{left}.{a} = {other}.{b}")
    return f"SELECT count(*) FROM {', '.join(relations.values())} WHERE {' AND '.join(conditions)}"


def _shared(data: _Data, repetitions: int) -> dict[str, float]:
    """The sketches of all queries and the bare groupBy, in turns; the quickest of each."""
    sketches, frames = data.estimator(), data.relations()
    plan = sketches.plan()
    ways: dict[str, Callable[[], object]] = {
        "bare groupBy of the join attributes": lambda: bare_group_by(data.spark, plan, frames),
        "sketches of all queries": sketches.run,
    }
    for way in ways.values():
        way()  # warms the JVM and the Python workers
    seconds: dict[str, float] = {}
    for _ in range(repetitions):
        for name, way in ways.items():
            took = repeat(way, 1)[0][0]
            seconds[name] = min(took, seconds.get(name, took))
    return seconds


def bare_group_by(spark: SparkSession, plan: SketchPlan, frames: Mapping[str, DataFrame]) -> None:
    """Group every relation by the attributes that sketches need, and drop the groups."""
    parts = [
        frames[one.relation].groupBy(*one.attributes).count().select("count") for one in plan.passes
    ]
    with without_adaptive_planning(spark):
        reduce(DataFrame.unionAll, parts).write.format("noop").mode("overwrite").save()


def _exact(data: _Data) -> dict[str, float]:
    """Every query counted exactly, one after the other."""
    queries = [sql(joins) for joins in workload(1).values()]
    for name, frame in data.relations().items():
        frame.createOrReplaceTempView(name)
    duck = connect()
    duck.execute(f"SET threads = {data.spark.sparkContext.defaultParallelism}")
    for name in SCHEMA:
        files = f"read_parquet('{data.folder / name}/*.parquet')"
        duck.execute(f"CREATE VIEW {name} AS SELECT * FROM {files}")
    ways: dict[str, Callable[[], object]] = {
        "exact joins in Spark": lambda: [data.spark.sql(text).collect() for text in queries],
        "exact joins in DuckDB": lambda: [duck.sql(text).fetchall() for text in queries],
    }
    return {name: repeat(way, 1)[0][0] for name, way in ways.items()}


def _section(
    kind: str, data: _Data, shared: Mapping[str, float], exact: Mapping[str, float]
) -> Section:
    millions = len(SCHEMA) * data.rows / 1e6
    seconds = {**shared, **exact}
    bare, sketched = shared.values()
    return Section(
        f"{kind} keys: {len(workload(1))} queries over {len(SCHEMA)} relations of "
        f"{data.rows:,} rows, {BUDGET:,} words",
        ("", "seconds", "per million rows", "/ groupBy"),
        tuple(
            (name, f"{took:.2f}", f"{took / millions:.3f}", round(took / bare, 2))
            for name, took in seconds.items()
        ),
        targets=[
            Target(
                f"{kind} keys: sketches of all queries / groupBy",
                "<= 3",
                f"{sketched / bare:.2f}",
                sketched <= 3 * bare,
            )
        ],
    )
