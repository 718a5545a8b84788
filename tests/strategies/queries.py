"""Query texts, drawn at random over the columns of a case, with constants from its data."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st
from sqlglot import exp, parse_one

from tests.oracle import reference
from tests.oracle.expressions import Scalar, bind
from tests.oracle.values import EXACT, INTEGERS, Type, parse_type

STREAM, TABLE, TIME = "t", "dim", "ts"
Texts = st.SearchStrategy[str]


@dataclass(frozen=True)
class Window:
    """A window of a query, in microseconds or in rows; `form` is "window", "range" or "rows"."""

    form: str
    range: int
    slide: int
    offset: int

    @property
    def clause(self) -> str:
        """What stands behind the stream's name."""
        if self.form == "window":
            return ""
        if self.form in ("rows", "per"):
            return f" [ROWS {self.range} SLIDE {self.slide}]"
        return f" [RANGE '{_length(self.range)}' SLIDE '{_length(self.slide)}']"

    @property
    def key(self) -> list[str]:
        """What stands in GROUP BY."""
        if self.form != "window":
            return []
        lengths = [self.range]
        if self.slide != self.range or self.offset:
            lengths.append(self.slide)
        if self.offset:
            lengths.append(self.offset)
        return [f"window({TIME}, {', '.join(repr(_length(n)) for n in lengths)})"]


@dataclass(frozen=True, repr=False)
class Attribute:
    """An expression that predicates compare, and the values it takes in the data."""

    text: str
    type: Type
    values: tuple[Any, ...]

    @property
    def family(self) -> str:
        """Attributes of one family can be compared with each other."""
        if self.type.name in {*INTEGERS, "decimal", "float", "double"}:
            return "number"
        return {"date": "time", "timestamp": "time"}.get(self.type.name, self.type.name)


@dataclass(frozen=True, repr=False)
class Data:
    """What queries are drawn over; `key` is the stream's column that finds a row of the table."""

    types: dict[str, str]
    rows: list[dict[str, Any]]
    tables: dict[str, tuple[list[dict[str, Any]], tuple[str, ...]]]
    key: str
    functions: bool


@dataclass(frozen=True, repr=False)
class Query:
    """The parts of a query, as texts."""

    window: Window
    alias: str
    join: str
    renamed: dict[str, str]  # columns that the join makes ambiguous, and how to write them
    keys: tuple["Key", ...]
    items: tuple[str, ...]
    where: str
    having: str
    window_first: bool

    @property
    def clause(self) -> str:
        """The clause of the window; rows are counted per key if the query has one to count by."""
        columns = [key.column for key in self.keys if key.column]
        per = f" PER {', '.join(columns)}" if self.window.form == "per" and columns else ""
        return self.window.clause.replace("]", f"{per}]")

    @property
    def text(self) -> str:
        named = [f"{item} AS a{n}" for n, item in enumerate(self.items)]
        keys = [key.group for key in self.keys]
        groups = [*self.window.key, *keys] if self.window_first else [*keys, *self.window.key]
        return (
            f"SELECT {', '.join([*(key.item for key in self.keys if key.item), *named])}"
            f" FROM {STREAM}{self.clause}{self.alias}{self.join}{self.where}"
            f"{' GROUP BY ' if groups else ''}{', '.join(groups)}{self.having}"
        )


@dataclass(frozen=True)
class Key:
    """What to group by, and how to select it; empty if it is not selected.

    `column` is the column of the stream that it is; empty if it is none.
    """

    group: str
    item: str
    column: str


@st.composite
def queries(draw: st.DrawFn, data: Data, windows: Sequence[Window]) -> tuple[str, ...]:
    """A query over each window; some are like an earlier one, but for a part or two."""
    drawn: list[Query] = []
    for window in windows:
        models = [q for q in drawn if window.form == "window" or not q.alias]
        if models and draw(st.booleans()):
            drawn.append(replace(draw(_varied(data, draw(st.sampled_from(models)))), window=window))
        else:
            drawn.append(draw(_query(data, window)))
    return tuple(query.text for query in drawn)


@st.composite
def _query(draw: st.DrawFn, data: Data, window: Window) -> Query:
    alias = draw(st.sampled_from(["", "", " AS r"])) if window.form == "window" else ""
    join, renamed = draw(_joins(data, alias[-1:] or STREAM)) if data.tables else ("", {})
    parts = _parts(data, renamed, joined=bool(join))
    chosen = {name: draw(part) for name, part in parts.items()}
    return Query(window=window, alias=alias, join=join, renamed=renamed, **chosen)


@st.composite
def _varied(draw: st.DrawFn, data: Data, model: Query) -> Query:
    parts = _parts(data, model.renamed, joined=bool(model.join))
    changed = draw(st.lists(st.sampled_from(list(parts)), max_size=2, unique=True))
    return replace(model, **{name: draw(parts[name]) for name in changed})


def _parts(data: Data, renamed: dict[str, str], *, joined: bool) -> dict[str, st.SearchStrategy]:
    attributes = _attributes(data, renamed, joined=joined)
    predicate = predicates(attributes, functions=data.functions)
    item = _items(attributes, predicate)
    where, having = predicate.map(" WHERE {}".format), _having(attributes).map(" HAVING {}".format)
    return {
        "where": st.just("") | where,
        "items": st.lists(item, min_size=1, max_size=3).map(tuple),
        "keys": _keys(attributes, {*data.types} - {*renamed}).map(tuple),
        "having": st.just("") | st.just("") | st.just("") | having,
        "window_first": st.booleans(),
    }


@st.composite
def predicates(
    draw: st.DrawFn, attributes: Sequence[Attribute], *, functions: bool, depth: int = 3
) -> str:
    """Conditions, nested; everything nested stands in parentheses."""
    shapes = ["{}", "{}", "{}", "({}) AND ({})", "({}) OR ({})", "NOT ({})"]
    # Only at the top, or all that stands in it would come to nothing.
    shapes += ["({}) IS NULL"] if depth == 3 else []
    shape = draw(st.sampled_from(shapes)) if depth else "{}"
    if shape == "{}":
        return draw(draw(st.sampled_from(_leaves(attributes, functions=functions))))
    smaller = predicates(attributes, functions=functions, depth=depth - 1)
    return shape.format(*(draw(smaller) for _ in range(shape.count("{}"))))


def as_spark(query: str) -> str | None:
    """The same in plain Spark, window and all keys in the answer; None if it has no such window.

    before: SELECT count(*) AS n FROM t [RANGE '3 s' SLIDE '2 s'] GROUP BY k
    after:  SELECT window.start AS window_start, window.end AS window_end, k, count(*) AS n FROM t
            GROUP BY window(ts, '3 seconds', '2 seconds', '1 seconds'), k
    """
    text, clause = reference._cut_range_clause(query)
    select = reference._parse(text)
    if clause:
        length, slide = clause
        if length < slide:
            return None
        key = Window("window", length, slide, -length % slide).key[0]
        head, tail = re.fullmatch(r"(.*?)( HAVING .*)?", text, re.DOTALL).groups()  # type: ignore[union-attr]
        head = (
            head.replace(" GROUP BY ", f" GROUP BY {key}, ")
            if select.args.get("group")
            else f"{head} GROUP BY {key}"
        )
        text = head + (tail or "")
    shown = {item.alias_or_name for item in select.expressions} | {
        item.this.sql() for item in select.expressions if isinstance(item, exp.Alias)
    }
    groups = select.args["group"].expressions if select.args.get("group") else []
    hidden = [
        g.sql() for g in groups if isinstance(g, exp.Column) and not {g.name, g.sql()} & shown
    ]
    front = ["window.start AS window_start", "window.end AS window_end", *hidden]
    text = text.replace("SELECT ", f"SELECT {', '.join(front)}, ", 1)
    # Beside a NaN, Spark's approx_percentile depends on how the rows were partitioned; this not.
    exact = r"percentile_disc(\2) WITHIN GROUP (ORDER BY \1)"
    return re.sub(r"approx_percentile\(([df]), ([\d.]+)\)", exact, text)


# Attributes.

_EXPRESSIONS = (
    "d * j",
    "x * j",
    "j + n",
    "i % 7",
    "b % 10",
    "abs(j)",
    "-x",
    "j - 3",
    "m * j",
    "m + 0.125",
    "m / 4",
    "x / 4",
    "i / 4",
    "w - m",
    "f * 2",
    "f * f",
    "length(s)",
    "upper(s)",
    "lower(k)",
    "coalesce(j, 0)",
    "coalesce(m, 0.5)",
    "if(ok, j, n)",
    "CASE WHEN ok THEN x ELSE d END",
    "size + j",
    "coalesce(label, s)",
)


def _attributes(data: Data, renamed: dict[str, str], *, joined: bool) -> list[Attribute]:
    """All columns that a query can name, and all expressions over them; columns count twice."""
    hidden = {*renamed, "u"}
    types = {c: t for c, t in data.types.items() if "." not in c and c not in hidden}
    rows = data.rows
    if joined:
        prefix = f"{TABLE}."
        others = {c.removeprefix(prefix): t for c, t in data.types.items() if c.startswith(prefix)}
        types = {**{c: t for c, t in others.items() if c not in renamed}, **types}
        rows = [*rows, *data.tables[TABLE][0]]
    found = [
        Attribute(new, parse_type(data.types[old]), _values([row.get(old) for row in data.rows]))
        for old, new in renamed.items()
    ]
    for text in (*types, *types, *_EXPRESSIONS):
        tree = _tree(text)
        names = {column.name for column in tree.find_all(exp.Column)}
        if names <= types.keys():
            scalar = bind(tree, lambda node: _column(node, types), {})
            complete = [row for row in rows if names <= row.keys()]
            found.append(Attribute(text, scalar.type, _values(scalar.of(row) for row in complete)))
    return found


@cache
def _tree(text: str) -> Any:
    return parse_one(text, read="spark")


def _column(node: exp.Expression, types: dict[str, str]) -> Scalar | None:
    if not isinstance(node, exp.Column):
        return None
    return Scalar(parse_type(types[node.name]), lambda row: row[node.name])


def _values(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(v for v in values if v is not None)


# Joins and keys.


@st.composite
def _joins(draw: st.DrawFn, data: Data, stream: str) -> tuple[str, dict[str, str]]:
    """A join, or none; and how the query has to write columns that both sides have."""
    code = data.tables[TABLE][1][0]
    side = draw(st.sampled_from(["", " JOIN", " LEFT JOIN", " INNER JOIN"]))
    if not side:
        return "", {}
    if code == data.key and draw(st.booleans()):
        return f"{side} {TABLE} USING ({code})", {}
    if code == data.key:
        left, right = f"{stream}.{code}", f"{TABLE}.{code}"
        both = draw(st.sampled_from([f"{left} = {right}", f"{right} = {left}"]))
        return f"{side} {TABLE} ON {both}", {code: left}
    on = draw(st.sampled_from([f"{data.key} = {code}", f"{TABLE}.{code} = {stream}.{data.key}"]))
    return f"{side} {TABLE} ON {on}", {}


@st.composite
def _keys(draw: st.DrawFn, attributes: list[Attribute], own: set[str]) -> list[Key]:
    texts = [a.text for a in attributes if a.text != TIME]
    chosen = draw(st.lists(st.sampled_from(texts), max_size=2, unique=True))
    keys: list[Key] = []
    for number, text in enumerate(chosen):
        column = text if text in own else ""
        named = f"{text} AS g{number}"
        forms = [Key(text, named, column), Key(f"g{number}", named, column)]
        if re.fullmatch(r"[\w.]+", text):
            forms = [Key(text, text, column), Key(text, "", column), *forms]
        keys.append(draw(st.sampled_from(forms)))
    return keys


# Predicates.


def _leaves(attributes: Sequence[Attribute], *, functions: bool) -> list[Texts]:
    leaves = [_comparisons(attributes), _comparisons(attributes), _ranges(attributes)]
    leaves += [_memberships(attributes), _between_attributes(attributes)]
    some = st.sampled_from([a.text for a in attributes])
    leaves.append(st.builds("{} IS {}NULL".format, some, st.sampled_from(["", "NOT "])))
    if booleans := [a.text for a in attributes if a.family == "boolean"]:
        leaves.append(st.sampled_from(booleans))
    if texts := [a for a in attributes if a.family == "string"]:
        leaves.append(_likes(texts))
        if functions:
            leaves.append(st.sampled_from([f"odd_length({a.text})" for a in texts]))
    return leaves


@st.composite
def _comparisons(draw: st.DrawFn, attributes: Sequence[Attribute]) -> str:
    attribute = draw(st.sampled_from(attributes))
    sign = draw(st.sampled_from(["=", "<", "<=", ">", ">=", "<>", "!=", "==", "<=>"]))
    constant = draw(constants(attribute) if draw(st.integers(0, 15)) else st.just("NULL"))
    if draw(st.integers(0, 4)):
        return f"{attribute.text} {sign} {constant}"
    return f"{constant} {sign} {attribute.text}"


@st.composite
def _ranges(draw: st.DrawFn, attributes: Sequence[Attribute]) -> str:
    attribute = draw(st.sampled_from(attributes))
    low, high = draw(constants(attribute)), draw(constants(attribute))
    return f"{attribute.text} {draw(st.sampled_from(['', 'NOT ']))}BETWEEN {low} AND {high}"


@st.composite
def _memberships(draw: st.DrawFn, attributes: Sequence[Attribute]) -> str:
    attribute = draw(st.sampled_from(attributes))
    members = draw(st.lists(constants(attribute), min_size=1, max_size=4))
    if not draw(st.integers(0, 3)):
        members.insert(draw(st.integers(0, len(members))), "NULL")
    return f"{attribute.text} {draw(st.sampled_from(['', 'NOT ']))}IN ({', '.join(members)})"


@st.composite
def _between_attributes(draw: st.DrawFn, attributes: Sequence[Attribute]) -> str:
    one = draw(st.sampled_from(attributes))
    other = draw(st.sampled_from([a for a in attributes if a.family == one.family]))
    return f"{one.text} {draw(st.sampled_from(['<', '=', '>=', '<>', '<=>']))} {other.text}"


@st.composite
def _likes(draw: st.DrawFn, attributes: Sequence[Attribute]) -> str:
    attribute = draw(st.sampled_from(attributes))
    known = st.sampled_from([v[:1] + "%" for v in attribute.values] or ["%"])
    pattern = draw(st.text(alphabet="ab%_é", max_size=3) | known)
    return f"{attribute.text} {draw(st.sampled_from(['', 'NOT ']))}LIKE {_quoted(pattern)}"


# Constants.

_DEFAULTS: dict[str, tuple[Any, ...]] = {
    "number": (0, 1, -1, 10),
    "string": ("", "a"),
    "time": (date(1970, 1, 1), date(2024, 3, 1)),
    "boolean": (True, False),
}


def constants(attribute: Attribute) -> Texts:
    """Mostly values that the attribute takes, or their neighbours, in all the types it meets."""
    values = st.sampled_from([*attribute.values, *_DEFAULTS[attribute.family]])
    write = {"number": _numbers, "time": _times}.get(attribute.family)
    if write is None:
        return values.map(lambda v: _quoted(v) if isinstance(v, str) else str(v).upper())
    return values.flatmap(lambda v: st.sampled_from(write(v, attribute.type)))


def _numbers(value: Any, kind: Type) -> list[str]:
    if isinstance(value, float):
        double = "F" if kind.name == "float" else "D"
        texts = [_float(value, double), _float(math.nextafter(value, math.inf), "D")]
        if math.isfinite(value) and 1e-9 < abs(value) < 1e15:
            texts += [_decimal(Decimal(repr(value))), str(int(value))]
        return texts
    exact = Decimal(value)
    smallest = Decimal(1).scaleb(-kind.scale)
    half, eighth = smallest / 2, smallest / 8
    texts = [_decimal(exact), _decimal(EXACT.add(exact, half)), _float(float(value), "D")]
    if exact == int(exact):
        # Twice, because this is what people write.
        texts = [str(int(exact)), str(int(exact)), *texts]
    if kind.name == "decimal":
        texts += [_decimal(EXACT.add(exact, smallest)), _decimal(EXACT.subtract(exact, eighth))]
    return texts


def _times(value: date, kind: Type) -> list[str]:
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    micro = timedelta(microseconds=1)
    stamps = [
        f"TIMESTAMP '{v:%Y-%m-%d %H:%M:%S.%f}'" for v in (value, value + micro, value - micro)
    ]
    day = f"'{value:%Y-%m-%d}'"
    return [f"DATE {day}", *([f"DATE {day}", day] if kind.name == "date" else stamps), stamps[0]]


def _float(value: float, suffix: str) -> str:
    kind = {"D": "DOUBLE", "F": "FLOAT"}[suffix]
    if math.isnan(value):
        return f"CAST('NaN' AS {kind})"
    if math.isinf(value):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS {kind})"
    return f"{value!r}{suffix}".replace("e+", "e")


def _decimal(value: Decimal) -> str:
    text = f"{value:f}"
    return text if "." in text else f"{text}.0"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _length(micros: int) -> str:
    for name, unit in (("hours", 3_600_000_000), ("minutes", 60_000_000), ("seconds", 1_000_000)):
        if micros % unit == 0:
            return f"{micros // unit} {name}"
    return f"{micros} microseconds"


# Aggregates. Sums of these cannot overflow; sums of the exact ones do not depend on their order.

_EXACT_SUMS = ("i", "j", "n", "x", "m", "w", "size", "x * j", "m * j", "if(ok, j, n)", "j - 3")
_SUMS = (*_EXACT_SUMS, "d", "f", "d * j", "f * 2", "i / 4", "m / 4")
_DIFFERENCES = ("j", "n", "x", "m", "day")
_PAIRS = ("i", "j", "x", "m", "size")
_PERCENTILES = ("i", "j", "x", "d", "f", "m", "day", "at")
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def _calls(attributes: list[Attribute], predicate: Texts) -> list[Texts]:
    """One strategy for each family of aggregates that the columns allow."""
    texts = [a.text for a in attributes]
    numbers = [a.text for a in attributes if a.family == "number"]
    whole = [a.text for a in attributes if a.type.name in _WHOLE]
    paired = [a for a in texts if a in _PAIRS]
    families = [
        st.just("count(*)"),
        _call(["count", "min", "max", "min", "max"], texts),
        _call(["sum"], [a for a in texts if a in _SUMS]),
        _call(["avg", "var_pop", "var_samp", "variance"], numbers),
        _call(["stddev_pop", "stddev_samp", "stddev", "std"], numbers),
        st.builds(
            "{}({}, {})".format,
            st.sampled_from(["covar_pop", "covar_samp", "corr"]),
            *(st.sampled_from(paired or [""]) for _ in range(2)),
        ),
        st.builds(
            "{}({})".format,
            st.sampled_from(["bool_and", "every", "bool_or", "some", "any", "count_if"]),
            predicate,
        ),
        _call(["bit_and", "bit_or", "bit_xor"], whole),
        st.builds(
            "{}({}, u)".format, st.sampled_from(["min_by", "max_by"]), st.sampled_from(texts)
        ),
        _call(["approx_count_distinct"], texts),
        st.builds(
            "approx_percentile({}, {})".format,
            st.sampled_from([a for a in texts if a in _PERCENTILES] or ["u"]),
            st.sampled_from(["0.5", "0.25", "0.9", "0.0", "1.0"]),
        ),
    ]
    return [f for n, f in enumerate(families) if paired or n != 5]


def _call(names: list[str], arguments: list[str]) -> Texts:
    return st.builds("{}({})".format, st.sampled_from(names), st.sampled_from(arguments or ["u"]))


@st.composite
def _items(draw: st.DrawFn, attributes: list[Attribute], predicate: Texts) -> str:
    if not draw(st.integers(0, 4)):
        return draw(_arithmetic(attributes))
    call = draw(draw(st.sampled_from(_calls(attributes, predicate))))
    return call if draw(st.integers(0, 2)) else f"{call} FILTER (WHERE {draw(predicate)})"


def _arithmetic(attributes: list[Attribute]) -> Texts:
    summed = [a.text for a in attributes if a.text in _SUMS] or ["u"]
    spans = [a.text for a in attributes if a.text in _DIFFERENCES and a.text != "day"] or ["u"]
    over_sums = st.builds(
        str.format,
        st.sampled_from(
            [
                "sum({0}) / count(*)",
                "2 * sum({0}) + 1",
                "coalesce(sum({0}), 0)",
                "-sum({0})",
                "abs(sum({0}))",
                "avg({0}) - 1.5",
                "sum({0}) / (1 + count({0}))",
                "sum({0}) - sum({0}) FILTER (WHERE u > 3)",
            ]
        ),
        st.sampled_from(summed),
    )
    over_extremes = st.builds(
        str.format,
        st.sampled_from(
            [
                "max({0}) - min({0})",
                "if(count(*) > 2, max({0}), NULL)",
                "CASE WHEN min({0}) < 0 THEN 'low' WHEN max({0}) > 10 THEN 'high' END",
            ]
        ),
        st.sampled_from(spans),
    )
    return (
        over_sums
        | over_extremes
        | st.sampled_from(["count(*) * 2.5", "count(*) % 2", "1.0 / count(*)"])
    )


@st.composite
def _having(draw: st.DrawFn, attributes: list[Attribute]) -> str:
    """Only over what is exact: a rounded sum could fall on either side."""
    terms: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        exact = [a for a in attributes if a.text in _EXACT_SUMS]
        extreme = draw(st.sampled_from(attributes))
        choices = [
            f"count(*) {draw(st.sampled_from(['>', '<=', '=']))} {draw(st.integers(1, 4))}",
            f"max({extreme.text}) IS {draw(st.sampled_from(['', 'NOT ']))}NULL",
            f"min({extreme.text}) < {draw(constants(extreme))}",
        ]
        if exact:
            summed = draw(st.sampled_from(exact))
            choices.append(f"sum({summed.text}) > {draw(constants(summed))}")
        terms.append(draw(st.sampled_from(choices)))
    return draw(st.sampled_from([" AND ", " OR "])).join(terms)
