"""Random trades of an hour on the stock market, two small tables, and many queries over them.

The shape follows the performance study of Krishnamurthy, Wu and Franklin, "On-the-Fly
Sharing for Streamed Aggregation" (SIGMOD 2006): a few volumes make up most trades,
some symbols trade far more than others, and queries sum price * vol over different
windows, under different predicates, or both.

Rows are hashes of their row numbers, computed in the JVM: equal seeds give equal data on
any number of partitions, and no row passes through Python.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from gingham.datasets.uniform import uniform

KINDS = ("A", "B", "C", "C-low")
FLAGS = ("r3000", "r2000", "r1000")
VOLUME = "vol"
WORTH = "price * vol"
CHANGE = "abs(price - cp) / cp"


def trades(
    spark: SparkSession,
    rows: int = 1_180_000,
    seed: int = 0,
    *,
    start: str = "2004-12-01 12:00:00",
    rate: float = 328.0,
    symbols: int = 6000,
) -> DataFrame:
    """Make the trades data set (ts, symbol, price, vol): `rate` a second from `start` (UTC) on."""
    return trades_of(spark.range(rows), seed, start=start, rate=rate, symbols=symbols)


def trades_of(
    numbers: DataFrame,
    seed: int = 0,
    *,
    start: str = "2004-12-01 12:00:00",
    rate: float = 328.0,
    symbols: int = 6000,
) -> DataFrame:
    """Make the trades of the row numbers in the column `id` of a DataFrame, which may stream."""
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp()
    u = [uniform("id", seed, draw) for draw in range(6)]
    # A quarter of a second of jitter: neighbours swap places, minutes do not.
    micros = sf.lit(begin) * 1e6 + sf.col("id") * (1e6 / rate) + u[0] * 250_000
    # rank = N^u has density 1/rank: Zipf's law with exponent one.
    rank = sf.least(sf.pow(sf.lit(symbols + 1.0), u[1]).cast("int"), sf.lit(symbols))
    wobble = (u[2] + u[3] - 1) * WOBBLE
    return numbers.select(
        sf.timestamp_micros(micros.cast("long")).alias("ts"),
        rank.alias("rank"),
        wobble.alias("wobble"),
        _volume(u[4], u[5]).alias("vol"),
    ).select(
        "ts",
        _symbol(sf.col("rank")).alias("symbol"),
        sf.round(_closing_price(seed) * (1 + _drift(seed) + sf.col("wobble")), 2).alias("price"),
        "vol",
    )


def close(spark: SparkSession, seed: int = 0, symbols: int = 6000) -> DataFrame:
    """Make the table of yesterday's closing price (symbol, cp) beside the trades data set."""
    return _ranks(spark, symbols).select(
        _symbol(sf.col("rank")).alias("symbol"), _closing_price(seed).alias("cp")
    )


def listing(spark: SparkSession, seed: int = 0, symbols: int = 6000) -> DataFrame:
    """Make the table of stock indexes that list a symbol (symbol, r3000, r2000, r1000).

    The largest sixth of all symbols is R1000, the next third R2000, both together
    R3000. Large companies trade much, with exceptions.
    """
    size = sf.log("rank") + uniform("rank", seed, 9)
    ordered = sf.sort_array(sf.collect_list(sf.struct(size.alias("size"), "rank")))
    position = sf.col("position")
    return (
        _ranks(spark, symbols)
        .agg(ordered.alias("all"))
        .select(sf.posexplode("all").alias("position", "sized"))
        .select(
            _symbol(sf.col("sized.rank")).alias("symbol"),
            (position < symbols // 2).alias("r3000"),
            position.between(symbols // 6, symbols // 2 - 1).alias("r2000"),
            (position < symbols // 6).alias("r1000"),
        )
    )


@dataclass(frozen=True, slots=True)
class TradeQuery:
    """One query over the trades data set: a window in seconds, and up to two conditions in SQL.

    `member` is about the listing of a symbol, `value` compares a quantity with a constant.
    """

    name: str
    range_s: int
    slide_s: int
    member: str | None = None
    value: str | None = None

    @property
    def window(self) -> tuple[int, int]:
        """Range and slide of the trades query's window, in seconds."""
        return self.range_s, self.slide_s

    @property
    def predicate(self) -> str | None:
        """Both conditions of the trades query in one, or None where every row counts."""
        return " AND ".join(filter(None, (self.member, self.value))) or None

    @property
    def sql(self) -> str:
        """The trades query in the SQL that Gingham reads."""
        where = f" WHERE {self.predicate}" if self.predicate else ""
        return (
            "SELECT sum(price * vol) AS value FROM trades "
            f"[RANGE '{self.range_s} seconds' SLIDE '{self.slide_s} seconds'] "
            f"JOIN close USING (symbol) JOIN listing USING (symbol){where}"
        )


def queries(kind: str, n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Make a workload of n queries over trades: their names and SQL. See `trade_queries`."""
    return [(query.name, query.sql) for query in trade_queries(kind, n, seed)]


def trade_queries(kind: str, n: int, seed: int = 0) -> tuple[TradeQuery, ...]:
    """Make a workload of n queries over trades; its kind says what differs between them.

    - A: the window, and there is no predicate;
    - B: the predicate, over ten minutes tumbling;
    - C: both, every one of sqrt(n) predicates over every one of sqrt(n) windows;
    - C-low: both, and neither occurs twice.

    Except for C, the queries of a small n are the first ones of a larger n.
    """
    if kind not in KINDS:
        raise ValueError(f"no workload {kind!r}: the kinds are {', '.join(KINDS)}")
    side = math.isqrt(n)
    if kind == "C" and side * side != n:
        raise ValueError(
            f"workload C with {n} queries: it crosses sqrt(n) predicates with "
            f"sqrt(n) windows; take a square such as {side * side}"
        )

    windows, predicates = _draw_windows(seed), _draw_predicates(seed)
    if kind == "A":
        parts = [(next(windows), (None, None)) for _ in range(n)]
    elif kind == "B":
        parts = [((600, 600), next(predicates)) for _ in range(n)]
    elif kind == "C":
        crossed = [next(windows) for _ in range(side)]
        # Along diagonals: every k-th query is a fair sample of windows and of predicates.
        parts = [
            (crossed[(row + column) % side], predicate)
            for row, predicate in enumerate(islice(predicates, side))
            for column in range(side)
        ]
    else:
        parts = [(next(windows), next(predicates)) for _ in range(n)]
    prefix = kind.lower().replace("-", "_")
    return tuple(
        TradeQuery(f"{prefix}_{i:04d}", *window, *predicate)
        for i, (window, predicate) in enumerate(parts)
    )


def _draw_windows(seed: int) -> Iterator[tuple[int, int]]:
    """Draw different windows for trades queries: 600 to 900 seconds that slide by 300 to 600."""
    rng = random.Random(f"windows {seed}")
    seen: set[tuple[int, int]] = set()
    while True:
        window = rng.randint(600, 900), rng.randint(300, 600)
        if window not in seen:
            seen.add(window)
            yield window


def _draw_predicates(seed: int) -> Iterator[tuple[str, str]]:
    """Draw different trades predicates without end: an index membership and a comparison."""
    rng = random.Random(f"predicates {seed}")
    seen: set[tuple[str, str]] = set()
    while True:
        member = rng.choice(("", "NOT ")) + "listing." + rng.choice(FLAGS)
        quantity = rng.choice((VOLUME, WORTH, CHANGE))
        comparison = rng.choice("<>")
        # Only the constant is drawn again: volumes repeat so often that drawing
        # everything again would leave few comparisons of volumes.
        while True:
            value = f"{quantity} {comparison} {_draw_quantity(rng, quantity)}"
            if (member, value) not in seen:
                break
        seen.add((member, value))
        yield member, value


def _draw_quantity(rng: random.Random, quantity: str) -> int | float:
    """Draw the quantity of a random trade to compare with, so that selectivities spread."""
    change = abs(rng.uniform(-DRIFT, DRIFT) + (rng.random() + rng.random() - 1) * WOBBLE)
    if quantity == CHANGE:
        return max(round(change, 4), 0.0001)
    volume = _volume_of(rng.random(), rng.random())
    # No trade is smaller: comparisons with less would all be the same.
    volume = max(volume, SMALLEST + 1)
    if quantity == VOLUME:
        return volume
    return round(volume * CHEAPEST * PRICES ** rng.random())


# How prices spread: closing prices evenly by their logarithms, then a day's drift of
# the symbol and a wobble of the single trade, both relative to the closing price.
CHEAPEST, PRICES = 5.0, 40.0
DRIFT = 0.02
WOBBLE = 0.02

# How volumes spread: fifteen values make up 92% of all trades, a volume of 100 half of them.
COMMON = (
    (100, 0.5),
    (200, 0.11),
    (300, 0.06),
    (500, 0.055),
    (400, 0.04),
    (1000, 0.04),
    (600, 0.025),
    (800, 0.018),
    (700, 0.016),
    (2000, 0.015),
    (900, 0.012),
    (1500, 0.01),
    (1200, 0.008),
    (3000, 0.007),
    (5000, 0.006),
)
# The rest takes at most STEPS values from 10 to 1.6 million, large ones rarely: together
# with the common values fewer than two thousand different volumes.
SMALLEST, VOLUMES, STEPS = 10, 160_000.0, 1800


def _volume(u: Column, v: Column) -> Column:
    """The volume of a random trade as a Spark column, from two uniform numbers."""
    step = sf.floor((1 - sf.pow(1 - v, sf.lit(1 / 3))) * STEPS)
    rare = sf.floor(SMALLEST * sf.pow(sf.lit(VOLUMES), step / STEPS)).cast("int")
    volume, upto = sf.when(sf.lit(False), 0), 0.0
    for common, part in COMMON:
        upto += part
        volume = volume.when(u < upto, common)
    return volume.otherwise(rare)


def _volume_of(u: float, v: float) -> int:
    """The volume of a random trade in Python, the same as `_volume` in Spark."""
    upto = 0.0
    for common, part in COMMON:
        upto += part
        if u < upto:
            return common
    step = math.floor((1 - (1 - v) ** (1 / 3)) * STEPS)
    return math.floor(SMALLEST * VOLUMES ** (step / STEPS))


def _closing_price(seed: int) -> Column:
    """The random closing price of the symbol of each rank."""
    return sf.round(CHEAPEST * sf.pow(sf.lit(PRICES), uniform("rank", seed, 7)), 2)


def _drift(seed: int) -> Column:
    """How much the price of the symbol of each rank rises or falls over the trades."""
    return (2 * uniform("rank", seed, 8) - 1) * DRIFT


def _ranks(spark: SparkSession, symbols: int) -> DataFrame:
    """A DataFrame of the ranks of all symbols, from 1 on."""
    return spark.range(1, symbols + 1).select(sf.col("id").cast("int").alias("rank"))


def _symbol(rank: Column) -> Column:
    """A stock symbol of four letters for each rank; neighbouring ranks have unlike symbols."""
    # 7919 has no factor in common with 26^4, so different ranks have different symbols.
    number = rank.cast("long") * 7919
    letters = [sf.floor(number / 26**digit).cast("long") % 26 for digit in range(4)]
    return sf.concat(*[sf.char(65 + letter) for letter in letters])
