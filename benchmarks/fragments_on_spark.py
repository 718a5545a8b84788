"""Fragments on Spark: what is shuffled for many queries, without sharing and with it.

Rows lie in memory, in partitions that all see rows of all windows, as the nodes of a network would.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial, reduce
from operator import add
from random import Random

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import gingham
from benchmarks.sections import Cell, Section
from benchmarks.shuffle import Shuffled, shuffled
from benchmarks.targets import Target
from gingham.loom import Loom
from gingham.optimizer.cost import Cost
from gingham.plan.condition_cache import ConditionCache
from gingham.session.choose_records import choose_records

PARTITIONS = 8
QUERIES, FEW_QUERIES, BASES = 200, 40, 24
TIME = "ts"
ALONE = "one Spark query each"
SYMBOLS = 240
FLAGS = ("nodns", "suspicious", "nodns OR suspicious", "spam", "spam AND suspicious")
# Part of the reduction that there would be if only records, one per query or k, were shuffled.
WANTED = 0.8

Answers = Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Measured:
    """One way to answer a workload."""

    workload: str
    way: str
    shuffled: Shuffled
    right: bool


def on_spark(spark: SparkSession, rows: int, *, quick: bool) -> Section:
    """Answer every workload in every way, from no sharing to the fewest records."""
    table: list[list[Cell]] = []
    targets: list[Target] = []
    numbers: list[Mapping[str, object]] = []
    for make in (flags, in_lists, overlapping):
        source, loom = make(spark, rows, FEW_QUERIES if quick else QUERIES)
        for name in loom.queries[:5]:
            loom.alone(name).toArrow()  # to warm up
        found = _measure(spark, make.__name__, _ways(loom))
        reduced, seeing = shuffled(
            spark,
            partial(
                choose_records, loom.plan(), source, Cost(), ConditionCache(), send_records=True
            ),
        )
        assert reduced is not None
        source.unpersist()
        queries, records = len(loom.queries), sum(grid.size for grid in reduced.grids)
        targets += _targets(make.__name__, found, (queries - records) / queries)
        table += [_row(one, found[0].shuffled) for one in found]
        table.append([f"q = {queries}, k = {records}", *_seeing(seeing)])
        common = {"queries": queries, "k": records, "seeing": asdict(seeing)}
        numbers += [{**asdict(one), **common} for one in found]
    return Section(
        f"on Spark: {rows:,} rows in {PARTITIONS} partitions",
        ("", "way", "records shuffled", "saved", "bytes", "seconds", "right"),
        table,
        "records and bytes: what all stages of all jobs wrote for a shuffle, as Spark counts them",
        targets,
        numbers,
    )


def _measure(
    spark: SparkSession, name: str, ways: Mapping[str, Sequence[Callable[[], Answers]]]
) -> list[Measured]:
    expected: Answers = {}
    found: list[Measured] = []
    for way, steps in ways.items():
        if way != ALONE:
            steps[0]()  # to warm up
        # Step by step: Spark remembers the last thousand stages only.
        parts = [shuffled(spark, step) for step in steps]
        answers = {query: table for part, _ in parts for query, table in part.items()}
        what = reduce(add, (each for _, each in parts))
        expected = expected or answers
        right = all(_same(answers[query], table) for query, table in expected.items())
        found.append(Measured(name, way, what, right))
    return found


def _row(one: Measured, alone: Shuffled) -> list[Cell]:
    saved = 1 - one.shuffled.records / alone.records
    return [
        one.workload if one.way == ALONE else "",
        one.way,
        f"{one.shuffled.records:,}",
        f"{saved:.1%}",
        f"{one.shuffled.bytes:,}",
        f"{one.shuffled.seconds:.2f}",
        "yes" if one.right else "no",
    ]


def _seeing(what: Shuffled) -> list[Cell]:
    """The part of the way above that goes into seeing which fragments there are."""
    numbers = (f"{what.records:,}", None, f"{what.bytes:,}", f"{what.seconds:.2f}", None)
    return ["of that, to see fragments", *numbers]


def _targets(name: str, found: Sequence[Measured], ideal: float) -> list[Target]:
    saved = 1 - found[-1].shuffled.records / found[0].shuffled.records
    right = [one.right for one in found]
    return [
        Target(
            f"{name}: shuffled records saved",
            f">= {WANTED:g} x {ideal:.1%}",
            f"{saved:.1%}",
            saved >= WANTED * ideal,
        ),
        Target(f"{name}: answers as Spark's", "all", f"{sum(right)} of {len(right)}", all(right)),
    ]


def _same(one: pa.Table, other: pa.Table) -> bool:
    """Whether both have the same rows; everything here is exact."""
    order = [(name, "ascending") for name in other.column_names]
    return one.cast(other.schema).sort_by(order).equals(other.sort_by(order))


def _ways(loom: Loom) -> dict[str, Sequence[Callable[[], Answers]]]:
    """By name, the steps of each way."""

    def alone(name: str) -> Answers:
        return {name: loom.alone(name).toArrow()}

    def named(answers: gingham.Answers) -> Answers:
        return {name: answers.arrow(name) for name in loom.queries}

    return {
        ALONE: [partial(alone, name) for name in loom.queries],
        "fragments": [lambda: named(loom.run())],
        "records": [lambda: named(loom.run(send_records=True))],
    }


def flags(spark: SparkSession, rows: int, _: int) -> tuple[DataFrame, Loom]:
    """Section 2.1 of the paper: five counts, and the five kinds of packets that there are."""
    kinds = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1))
    picked = [
        f"element_at(array({', '.join(str(k[i]) for k in kinds)}), kind) = 1" for i in range(3)
    ]
    source = _rows(
        spark,
        rows,
        [f"CAST(1 + pmod(xxhash64(id), {len(kinds)}) AS INT) AS kind"],
        [f"{picked[0]} AS nodns", f"{picked[1]} AS suspicious", f"{picked[2]} AS spam"],
    )
    loom = Loom(spark).stream("packets", source, time=TIME)
    for place, predicate in enumerate(FLAGS, 1):
        loom.add(_sql("count(*) AS n", "packets", predicate), name=f"q{place}")
    return source, loom


def in_lists(spark: SparkSession, rows: int, count: int) -> tuple[DataFrame, Loom]:
    """Lists of symbols, each a union of some of 24 lists that are disjoint."""
    source = _rows(
        spark,
        rows,
        [f"concat('S', CAST(pmod(xxhash64(id), {SYMBOLS}) AS STRING)) AS symbol"],
        ["CAST(pmod(xxhash64(id, 1), 1000) AS INT) AS vol"],
    )
    loom = Loom(spark).stream("trades", source, time=TIME)
    bases = [range(base, SYMBOLS, BASES) for base in range(BASES)]
    for place, chosen in enumerate(_unions(count, 2, 6)):
        listed = ", ".join(f"'S{number}'" for base in chosen for number in bases[base])
        sql = _sql("count(*) AS n, sum(vol) AS total", "trades", f"symbol IN ({listed})")
        loom.add(sql, name=f"q{place}")
    return source, loom


def overlapping(spark: SparkSession, rows: int, count: int) -> tuple[DataFrame, Loom]:
    """Maxima over unions of some of 24 ranges, of three attributes, that overlap."""
    random = Random(1)
    source = _rows(
        spark,
        rows,
        [f"CAST(pmod(xxhash64(id, {n}), 1000) AS INT) AS a{n}" for n in range(3)],
        ["CAST(pmod(xxhash64(id, 9), 1000000) AS INT) AS price"],
    )
    loom = Loom(spark).stream("offers", source, time=TIME)
    bases = [
        f"a{base % 3} BETWEEN {low} AND {low + 80}"
        for base in range(BASES)
        for low in [random.randrange(0, 900, 20)]
    ]
    for place, chosen in enumerate(_unions(count, 2, 4)):
        predicate = " OR ".join(bases[base] for base in chosen)
        loom.add(_sql("max(price) AS high", "offers", predicate), name=f"q{place}")
    return source, loom


def _unions(count: int, least: int, most: int) -> list[list[int]]:
    random = Random(0)
    return [random.sample(range(BASES), random.randint(least, most)) for _ in range(count)]


def _rows(spark: SparkSession, rows: int, first: list[str], then: list[str]) -> DataFrame:
    """An hour of rows, all partitions alike, in memory."""
    numbered = spark.range(0, rows, 1, PARTITIONS)
    ts = "timestamp_micros(1704103200000000L + pmod(xxhash64(id, 42), 3600000000L)) AS ts"
    source = numbered.selectExpr("id", ts, *first).selectExpr("*", *then).drop("id").persist()
    source.count()
    return source


def _sql(selected: str, stream: str, predicate: str) -> str:
    return f"SELECT {selected} FROM {stream} WHERE {predicate} GROUP BY window(ts, '1 minute')"
