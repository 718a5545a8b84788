"""Random mixes of queries over one stream: many attributes, keys, aggregates and windows.

A mix is the opposite of the trades workload, where queries have one aggregate, no key and two
attributes. Here nine attributes have nine types, a predicate combines up to four conditions, and
two queries rarely have a window, a key set or a condition in common.

Rows are hashes of their row numbers, computed in the JVM: equal seeds give equal data on any number
of partitions, and no row passes through Python.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from gingham.datasets.uniform import uniform

START = datetime(2024, 3, 1, tzinfo=UTC)
HOURS = 6.0
DEVICES = 40
REGIONS = ("east", "north", "south", "west")
LEVELS = ("debug", "info", "notice", "warning", "error", "fatal")
SECTIONS = ("cart", "help", "home", "item", "list", "login", "pay", "search")
PAGES = 50_000  # of each section
FIRST_DAY = date(2024, 1, 1)
DAYS = 366

KEY_SETS = ((), ("device",), ("region",), ("device", "region"))
AGGREGATES = (
    "count(*)",
    "count(*) FILTER (WHERE ok)",
    "sum(status)",
    "sum(bytes)",
    "sum(price)",
    "avg(latency)",
    "avg(price)",
    "min(latency)",
    "max(bytes)",
    "min(day)",
    "max(seen)",
    "stddev(latency)",
)
MOST_AGGREGATES = 4  # of one query
MOST_CONDITIONS = 4
MINUTES = 15  # the longest window
STEP = 10  # seconds: windows are moved by multiples of this


def mix_rows(spark: SparkSession, rows: int = 300_000, seed: int = 0) -> DataFrame:
    """Make the rows of a mix, spread evenly over six hours: ts, two keys and nine attributes.

    device and region are the keys; status INT, bytes BIGINT, latency DOUBLE, price DECIMAL, level
    STRING of six values, url STRING of 400,000, ok BOOLEAN, day DATE, seen TIMESTAMP. Some values
    of status, latency, level and ok are NULL.
    """
    u = [uniform("id", seed, draw) for draw in range(16)]
    span = HOURS * 3600e6
    # A second of jitter: neighbours swap places, minutes do not.
    moment = sf.lit(START.timestamp() * 1e6) + sf.col("id") * (span / rows) + u[0] * 1e6
    url = sf.concat(
        sf.lit("/"), _one_of(SECTIONS, u[1]), sf.lit("/"), sf.floor(u[2] * PAGES).cast("string")
    )
    return spark.range(rows).select(
        sf.timestamp_micros(moment.cast("long")).alias("ts"),
        sf.format_string("d%02d", sf.floor(u[3] * DEVICES)).alias("device"),
        _one_of(REGIONS, u[4]).alias("region"),
        _or_null(sf.floor(u[5] * 100).cast("int"), u[6], 0.02).alias("status"),
        sf.floor(64 * sf.pow(sf.lit(2.0), 20 * u[7])).cast("long").alias("bytes"),
        _or_null(sf.round(-50 * sf.log1p(-u[8]), 3), u[9], 0.05).alias("latency"),
        (u[10] * 500).cast("decimal(12,2)").alias("price"),
        # Squared: low levels are frequent.
        _or_null(_one_of(LEVELS, u[11] * u[11]), u[12], 0.01).alias("level"),
        url.alias("url"),
        _or_null(u[13] < 0.9, u[13] * 1000 % 1, 0.03).alias("ok"),
        sf.date_add(sf.lit(FIRST_DAY), sf.floor(u[14] * DAYS).cast("int")).alias("day"),
        sf.timestamp_seconds(
            sf.floor(moment / 1e6 - u[15] * timedelta(days=30).total_seconds())
        ).alias("seen"),
    )


@dataclass(frozen=True, slots=True)
class MixQuery:
    """One query of a mix: aggregates, keys, a predicate in SQL, and a window in seconds."""

    name: str
    aggregates: tuple[str, ...]
    keys: tuple[str, ...]
    predicate: str | None
    window: tuple[int, int, int]  # length, slide and offset

    @property
    def sql(self) -> str:
        """The query in Spark's SQL, which Gingham reads, too."""
        named = [f"{call} AS a{i}" for i, call in enumerate(self.aggregates)]
        where = f" WHERE {self.predicate}" if self.predicate else ""
        length, slide, offset = self.window
        spans = [length, slide, offset] if offset else [length, slide] if slide < length else []
        window = ", ".join(["ts", *(f"'{seconds} seconds'" for seconds in spans or [length])])
        keys = ", ".join([*self.keys, f"window({window})"])
        return f"SELECT {', '.join([*self.keys, *named])} FROM events{where} GROUP BY {keys}"


def mix_queries(n: int, seed: int = 0) -> tuple[MixQuery, ...]:
    """Draw the n different queries of a random mix; a larger mix begins with the smaller one.

    >>> [query] = mix_queries(1)
    >>> query.aggregates, query.keys, query.window
    (('stddev(latency)',), ('region',), (240, 240, 20))
    >>> query.predicate
    'status IN (46, 48, 73, 76, 86)'
    """
    rng = random.Random(f"mix {seed}")
    drawn: dict[str, MixQuery] = {}
    while len(drawn) < n:
        query = MixQuery(
            name=f"mix_{len(drawn):04d}",
            aggregates=tuple(rng.sample(AGGREGATES, rng.randint(1, MOST_AGGREGATES))),
            keys=rng.choice(KEY_SETS),
            predicate=_draw_predicate(rng, _draw_conditions(rng)),
            window=_draw_window(rng),
        )
        drawn.setdefault(query.sql, query)
    return tuple(drawn.values())


def _draw_conditions(rng: random.Random) -> int:
    """Draw how many conditions a query of a mix has: every tenth has none."""
    return rng.randint(1, MOST_CONDITIONS) if rng.random() < 0.9 else 0


def _draw_window(rng: random.Random) -> tuple[int, int, int]:
    """Draw a window of a mix: tumbling or sliding by whole minutes, every third one moved."""
    minutes = rng.randint(1, MINUTES)
    slide = rng.choice((minutes, rng.randint(1, minutes)))
    offset = rng.randrange(STEP, 60, STEP) if rng.random() < 1 / 3 else 0
    return 60 * minutes, 60 * slide, offset


def _draw_predicate(rng: random.Random, conditions: int) -> str | None:
    """Draw so many conditions, joined by AND and OR; None for no condition at all."""
    if not conditions:
        return None
    if conditions == 1:
        text = rng.choice(_ATTRIBUTES)(rng)
    else:
        left = rng.randint(1, conditions - 1)
        sides = _draw_predicate(rng, left), _draw_predicate(rng, conditions - left)
        text = f"({sides[0]} {rng.choice(('AND', 'OR'))} {sides[1]})"
    return f"NOT {_in_parentheses(text)}" if rng.random() < 0.15 else text


def _in_parentheses(text: str) -> str:
    return text if text.startswith("(") else f"({text})"


def _on_status(rng: random.Random) -> str:
    few = ", ".join(str(value) for value in sorted(rng.sample(range(100), rng.randint(2, 6))))
    return rng.choice((_compared(rng, "status", rng.randrange(100)), f"status IN ({few})"))


def _on_bytes(rng: random.Random) -> str:
    low, high = sorted(int(64 * 2 ** (20 * rng.random())) for _ in range(2))
    return rng.choice((_compared(rng, "bytes", low), f"bytes BETWEEN {low} AND {high}"))


def _on_latency(rng: random.Random) -> str:
    low, high = sorted(round(rng.expovariate(1 / 50), 1) for _ in range(2))
    compared = _compared(rng, "latency", low)
    return _or_is_null(rng, "latency", rng.choice((compared, f"latency BETWEEN {low} AND {high}")))


def _on_price(rng: random.Random) -> str:
    low, high = sorted(round(rng.uniform(0.01, 500), 2) for _ in range(2))
    compared = _compared(rng, "price", f"{low:.2f}")
    return rng.choice((compared, f"price BETWEEN {low:.2f} AND {high:.2f}"))


def _on_level(rng: random.Random) -> str:
    some = ", ".join(f"'{level}'" for level in rng.sample(LEVELS, rng.randint(2, 4)))
    equal = f"level {rng.choice(('=', '<>'))} '{rng.choice(LEVELS)}'"
    return _or_is_null(rng, "level", rng.choice((equal, f"level IN ({some})")))


def _on_url(rng: random.Random) -> str:
    section, digits = rng.choice(SECTIONS), rng.randrange(10, 100)
    patterns = (f"/{section}/%", f"/{section}/{digits}%", f"%{digits}%", f"/_o%{digits % 10}")
    beyond = f"url {rng.choice(('<', '>='))} '/{section}/{digits}'"
    return rng.choice((f"url LIKE '{rng.choice(patterns)}'", beyond))


def _on_ok(rng: random.Random) -> str:
    return rng.choice(("ok", "NOT ok", "ok IS NULL", "ok IS NOT NULL", "ok = true"))


def _on_day(rng: random.Random) -> str:
    first, last = sorted(FIRST_DAY + timedelta(days=rng.randrange(DAYS)) for _ in range(2))
    compared = _compared(rng, "day", f"DATE '{first}'")
    return rng.choice((compared, f"day BETWEEN DATE '{first}' AND DATE '{last}'"))


def _on_seen(rng: random.Random) -> str:
    moment = START - timedelta(minutes=rng.randrange(30 * 24 * 60))
    # With its zone, so that the text means the same in every session.
    return _compared(rng, "seen", f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}Z'")


# An attribute of each type, with the conditions that are drawn for it.
_ATTRIBUTES: tuple[Callable[[random.Random], str], ...] = (
    _on_status,
    _on_bytes,
    _on_latency,
    _on_price,
    _on_level,
    _on_url,
    _on_ok,
    _on_day,
    _on_seen,
)


def _compared(rng: random.Random, column: str, constant: object) -> str:
    return f"{column} {rng.choice(('<', '<=', '>', '>='))} {constant}"


def _or_is_null(rng: random.Random, column: str, condition: str) -> str:
    """The condition, or now and then whether the column is NULL."""
    if rng.random() < 0.1:
        return f"{column} IS {rng.choice(('', 'NOT '))}NULL"
    return condition


def _one_of(values: tuple[str, ...], u: Column) -> Column:
    """One of some strings, chosen by a uniform number."""
    listed = sf.array(*[sf.lit(value) for value in values])
    return sf.element_at(listed, (sf.floor(u * len(values)) + 1).cast("int"))


def _or_null(value: Column, u: Column, part: float) -> Column:
    """The value of a generated column, which is NULL in this part of the rows."""
    return sf.when(u >= part, value)
