"""Whole cases, drawn at random: a stream, perhaps a table, and queries that hit their edges.

Left out is what Spark itself does not determine: ties in min_by, sums that overflow half way, and
covariances of infinities.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from tests.oracle.reference import EPOCH, evaluate
from tests.oracle.values import EXACT
from tests.strategies.queries import TABLE, TIME, Data, Window, queries

# What the repr of a case uses.
nan, inf = math.nan, math.inf


def at(text: str) -> datetime:
    """A timestamp in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# The user's functions. Lambdas travel to Spark's workers by value: they cannot import this module.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "odd_length": lambda text: None if text is None else len(text) % 2 == 1,
}


def register_functions(spark: SparkSession) -> None:
    """Make the user's functions known to Spark."""
    for name, function in FUNCTIONS.items():
        spark.udf.register(name, function, "boolean")


@dataclass(frozen=True, repr=False)
class Case:
    """A stream `t` with its time in `ts`, perhaps a table `dim`, and queries over them.

    `types` has the stream's columns by name and the table's as `dim.column`, as `evaluate` wants
    them; `tables` are (rows, key columns).
    """

    types: dict[str, str]
    rows: list[dict[str, Any]]
    queries: tuple[str, ...]
    tables: dict[str, tuple[list[dict[str, Any]], tuple[str, ...]]] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        return _schema({c: t for c, t in self.types.items() if "." not in c})

    def table_schema(self, name: str) -> pa.Schema:
        prefix = f"{name}."
        own = {c: t for c, t in self.types.items() if c.startswith(prefix)}
        return _schema({c.removeprefix(prefix): t for c, t in own.items()})

    def arrow(self) -> pa.Table:
        return pa.Table.from_pylist(self.rows, schema=self.schema)

    def dataframe(self, spark: SparkSession) -> DataFrame:
        return spark.createDataFrame(self.arrow())

    def table_dataframe(self, spark: SparkSession, name: str) -> DataFrame:
        rows, _ = self.tables[name]
        return spark.createDataFrame(pa.Table.from_pylist(rows, schema=self.table_schema(name)))

    def expected(self, query: str) -> list[dict[str, Any]]:
        """What the reference answers."""
        return evaluate(
            query,
            self.rows,
            time=TIME,
            tables=self.tables,
            functions=FUNCTIONS,
            types=self.types,
        )

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # noqa: FBT001 - IPython's protocol
        """What Hypothesis prints."""
        printer.text(repr(self))

    def __repr__(self) -> str:
        tables = ", ".join(
            f"{name!r}: ({_written(rows)}, {key!r})" for name, (rows, key) in self.tables.items()
        )
        queries = "".join(f"\n        {query!r}," for query in self.queries)
        return (
            f"Case(\n    types={self.types!r},\n    rows={_written(self.rows)},\n"
            f"    queries=({queries}\n    ),\n    tables={{{tables}}},\n)"
        )


def cases(**options: Any) -> st.SearchStrategy[Case]:
    """Draw a case; the options are those of `_cases`."""
    # In a list of unique values Hypothesis does not copy one draw over another, which elsewhere it
    # does in five examples out of six: those would be near copies, each as slow as a new one.
    only = st.lists(_cases(**options), min_size=1, max_size=1, unique_by=id)
    return only.map(lambda drawn: drawn[0])


@st.composite
def _cases(
    draw: st.DrawFn,
    forms: tuple[str, ...] = ("window", "range"),
    max_queries: int = 6,
    max_rows: int = 40,
    *,
    far_apart: bool = False,
    functions: bool = True,
) -> Case:
    """Draw a case; `forms` of windows, `far_apart` mixes decades, `functions` calls odd_length."""
    windows = draw(st.lists(_windows(forms), min_size=1, max_size=max_queries))
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=3, max_size=7, unique=True))
    columns = {name: COLUMNS[name] for name in names}
    rows = draw(_rows(columns, _moments(windows, far_apart=far_apart), max_rows))
    types = {TIME: "timestamp"} | {name: kind for name, (kind, _) in columns.items()}
    types["u"] = "int"  # the last one: rows of the same time are ordered by the others first
    tables: dict[str, Any] = {}
    key = ""
    if (keys := [c for c in ("k", "j") if c in columns]) and draw(st.booleans()):
        key = draw(st.sampled_from(keys))
        code = draw(st.sampled_from([key, "code"]))
        tables[TABLE] = draw(_table(key, code, rows)), (code,)
        types |= {f"{TABLE}.{code}": types[key]}
        types |= {f"{TABLE}.{c}": kind for c, (kind, _) in ATTRIBUTES.items()}
    data = Data(types, rows, tables, key, functions)
    return Case(types, rows, draw(queries(data, windows)), tables)


# Values. Tame columns add up exactly in any order and do not overflow; wild ones have every edge.

_TEXT = st.text(alphabet="abAB_%é日👍 '\\", max_size=4)
_DAYS = st.dates(date(1969, 12, 30), date(1970, 1, 3)) | st.dates(
    date(2024, 2, 27), date(2024, 3, 2)
)


def _decimals(digits: int, places: int) -> st.SearchStrategy[Decimal]:
    most = 10**digits - 1
    numbers = st.integers(-500, 500) | st.integers(-most, most) | st.sampled_from([most, -most])
    return numbers.map(lambda n: EXACT.scaleb(Decimal(n), -places))


def _floats(width: int) -> st.SearchStrategy[float]:
    edges = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, -1.5, 1e6]
    edges += [0.1, 0.3, 5e-324, 1e12] if width == 64 else [0.10000000149011612, 16777216.0]
    return st.sampled_from(edges) | st.floats(-1e3, 1e3, width=width)  # type: ignore[arg-type]


def _around(*edges: int) -> st.SearchStrategy[int]:
    return st.sampled_from(edges) | st.integers(-20, 20)


COLUMNS: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "i": ("int", _around(-(2**31), 2**31 - 1, 2**24 + 1)),
    "j": ("int", st.integers(-20, 20)),
    "b": ("bigint", _around(-(2**63), 2**63 - 1, 2**53, 2**53 + 1, -(2**53) - 1)),
    "n": ("bigint", _around(2**53 + 1, -(2**53) - 1, 2**56)),
    "d": ("double", _floats(64)),
    "x": ("double", st.integers(-200, 200).map(lambda n: n / 4)),
    "f": ("float", _floats(32)),
    "m": ("decimal(10,2)", _decimals(10, 2)),
    "w": ("decimal(38,4)", _decimals(30, 4)),
    "s": ("string", _TEXT),
    "k": ("string", st.sampled_from(["a", "b", "c", "", "é"])),
    "day": ("date", _DAYS),
    "at": ("timestamp", st.builds(lambda d, us: _moment(d) + us * _US, _DAYS, st.integers(-1, 1))),
    "ok": ("boolean", st.booleans()),
}
ATTRIBUTES: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "size": ("int", st.integers(-5, 5)),
    "label": ("string", _TEXT),
    "listed": ("boolean", st.booleans()),
}
_US = timedelta(microseconds=1)


def _moment(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _or_null(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    # One in six or so.
    return st.integers(0, 5).flatmap(lambda n: values if n else st.none())


@st.composite
def _rows(
    draw: st.DrawFn,
    columns: Mapping[str, tuple[str, st.SearchStrategy[Any]]],
    moments: st.SearchStrategy[datetime],
    most: int,
) -> list[dict[str, Any]]:
    values = {name: _or_null(strategy) for name, (_, strategy) in columns.items()}
    row = st.fixed_dictionaries({TIME: _or_null(moments), **values})
    least = draw(st.sampled_from([0, most // 8, most // 4, most // 2]))
    rows = draw(st.lists(row, min_size=least, max_size=most - 3))
    if rows:
        rows += draw(st.lists(st.sampled_from(rows), max_size=3))  # twice the same, out of order
    stride = draw(st.integers(1, 40))
    # Unique and in no order, because 41 is a prime: for min_by and max_by.
    names = (TIME, *columns)
    return [
        {"u": number * stride % 41, **{name: row[name] for name in names}}
        for number, row in enumerate(rows)
    ]


@st.composite
def _table(
    draw: st.DrawFn, key: str, code: str, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    known = [row[key] for row in rows]
    keys = COLUMNS[key][1] | (st.sampled_from(known) if known else st.none())
    values = {name: _or_null(strategy) for name, (_, strategy) in ATTRIBUTES.items()}
    row = st.fixed_dictionaries({code: keys, **values})
    return draw(st.lists(row, max_size=6, unique_by=lambda r: r[code]))


# Windows.


@st.composite
def _windows(draw: st.DrawFn, forms: tuple[str, ...]) -> Window:
    form = draw(st.sampled_from(forms))
    unit = draw(st.sampled_from([1_000_000, 60_000_000, 250_000, 3_600_000_000]))
    slide = draw(st.integers(1, 12))
    range_ = draw(st.just(slide) | st.integers(slide, 5 * slide))
    if form in ("rows", "per"):
        return Window(form, draw(st.just(range_) | st.integers(1, 5 * slide)), slide, 0)
    if form == "range":
        # Every window ends at a multiple of the slide; a short one leaves gaps.
        range_ = draw(st.just(range_) | st.integers(1, 5 * slide))
        return Window(form, range_ * unit, slide * unit, -range_ * unit)
    shift = draw(st.just(0) | st.integers(1 - slide, slide - 1))
    return Window(form, range_ * unit, slide * unit, shift * unit)


def _moments(windows: list[Window], *, far_apart: bool) -> st.SearchStrategy[datetime]:
    """On an edge of some window, next to it, or anywhere between two."""

    def around(anchor: int) -> st.SearchStrategy[datetime]:
        edges = [
            anchor - (anchor - w.offset) % w.slide + n * w.slide + end
            for w in windows
            for n in range(-2, 3)
            for end in (0, w.range)
        ]
        steps = st.sampled_from([0, -1, 1]) | st.integers(0, max(w.slide for w in windows))
        return st.builds(lambda e, s: EPOCH + (e + s) * _US, st.sampled_from(edges), steps)

    anchors = st.sampled_from([0, 1_709_294_400_000_000, -(10**12)])
    if far_apart:
        return anchors.flatmap(around)
    return st.shared(anchors, key="anchor").flatmap(around)


# To Arrow, and to paper.

_ARROW = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(38,4)": pa.decimal128(38, 4),
}


def _schema(types: Mapping[str, str]) -> pa.Schema:
    return pa.schema([(name, _ARROW[kind]) for name, kind in types.items()])


def _written(rows: list[dict[str, Any]]) -> str:
    """Rows as a person would type them, with `at`, `nan` and `inf` of this module."""
    lines = [", ".join(f"{c!r}: {_cell(v)}" for c, v in row.items()) for row in rows]
    return "[" + "".join(f"\n        {{{line}}}," for line in lines) + ("\n    ]" if lines else "]")


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        return f'at("{value:%Y-%m-%d %H:%M:%S.%f}")'
    if isinstance(value, date):
        return f"date({value.year}, {value.month}, {value.day})"
    return repr(value)
