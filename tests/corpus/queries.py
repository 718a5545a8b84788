"""The corpus: some 3,500 queries over the rows of `rows.py`, the same ones every time."""

# ruff: noqa: E501  (a query is a line)

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.corpus import functions, refused, shapes
from tests.corpus.rows import ODD_NAMES, OUR_NAMES, quoted

WINDOWS = (
    "window(ts, '1 minute')",
    "window(ts, '2 minutes', '1 minute')",
    "window(ts, '1 minute')",
    "window(ts, '90 seconds', '30 seconds', '10 seconds')",
    "window(ts, '1 minute')",
)


class Asked(NamedTuple):
    """A query of the corpus: what it is an example of, the stream that it reads, and its text."""

    kind: str
    text: str
    stream: str = "events"


def corpus(keywords: tuple[str, ...]) -> list[Asked]:
    """All queries, without repetitions; `keywords` are those that Spark lists."""
    everything = [
        *_functions(),
        *_aggregates(),
        *_other_functions(),
        *_operators(),
        *_literals(),
        *_columns(),
        *(Asked(f"shape: {kind}", text) for kind, text in shapes.shapes()),
        *_names(keywords),
        *(Asked(f"refused: {kind}", text) for kind, text in refused.refused()),
    ]
    return list(dict.fromkeys(everything))


def sample(queries: list[Asked], size: int) -> list[Asked]:
    """About so many queries, some of every kind."""
    kinds: dict[str, list[Asked]] = {}
    for query in queries:
        kinds.setdefault(query.kind, []).append(query)
    share = size / len(queries)
    chosen: list[Asked] = []
    for some in kinds.values():
        count = max(1, round(len(some) * share))
        chosen += some[len(some) // (2 * count) :: len(some) // count][:count]
    return chosen


def _window(number: int) -> str:
    return WINDOWS[number % len(WINDOWS)]


def _functions() -> Iterator[Asked]:
    seen: set[str] = set()
    for number, (result, template) in enumerate(functions.scalars()):
        call, over = functions.of_columns(template), functions.of_aggregates(template)
        atom, having = _atom(result, call, number), _atom(result, over, number)
        window = _window(number)
        yield Asked(
            "function in WHERE", f"SELECT count(*) AS n FROM events WHERE {atom} GROUP BY {window}"
        )
        function = template.split("(")[0] if _is_call(template) else template
        if function in seen or "_sketch_" in function or function.startswith(("theta", "tuple")):
            continue
        seen.add(function)
        yield Asked(
            "function in an aggregate",
            f"SELECT {_aggregate(result, call, number)} AS a, count(*) AS n FROM events "
            f"GROUP BY {window}",
        )
        yield Asked(
            "function as a key",
            f"SELECT {call} AS g, count(*) AS c FROM events GROUP BY {call}, {window}"
            if number % 2
            else f"SELECT count(id) AS c, {call} FROM events GROUP BY {window}, {call}",
        )
        yield Asked(
            "function over aggregates",
            f"SELECT {over} AS r, count(*) AS c FROM events GROUP BY {window}"
            if number % 3
            else f"SELECT {over}, k FROM events GROUP BY k, {window} HAVING {having}",
        )


def _atom(result: str, call: str, number: int) -> str:
    numbers = (
        "{} > 1", "{} <= 2", "{} = 0", "{} BETWEEN -1 AND 2", "1 < {}", "{} IN (0, 1, 3)",
        "NOT {} >= 2.5", "{} <> 1 OR b", "{} + 1 > 2 AND i > 0",
    )  # fmt: skip
    strings = (
        "{} > 'b'", "{} = 'a'", "{} LIKE '%a%'", "length({}) > 2", "{} <= 'abc'",
        "{} IN ('a', 'b', '12')", "'k' < {}", "{} IS NULL OR {} <> 'x'",
    )  # fmt: skip
    times = ("{} IS NOT NULL", "{} >= DATE'2024-01-02'", "{} < TIMESTAMP'2024-01-03 10:00:00'")
    booleans = ("{}", "NOT ({})", "({}) = true", "({}) IS NULL OR i > 4", "({}) <=> b")
    rest = ("{} IS NOT NULL", "CAST({} AS STRING) LIKE '%1%'", "{} IS NULL OR i = 3")
    forms = {"N": numbers, "S": strings, "D": times, "B": booleans, "R": rest[:1]}.get(result, rest)
    inner = call if _is_call(call) else f"({call})"
    form = forms[number % len(forms)]
    if "({})" in form or form == "{}":
        inner = call
    return form.replace("{}", inner)


def _is_call(text: str) -> bool:
    return text.endswith(")") and text.split("(", maxsplit=1)[0].isidentifier()


def _aggregate(result: str, call: str, number: int) -> str:
    forms = {
        "N": ("sum({})", "max({})", "min({})", "count({})", "avg({})"),
        "S": ("max({})", "min({})", "count({})", "approx_count_distinct({})"),
        "D": ("max({})", "min({})", "count({})"),
        "B": ("count_if({})", "bool_or({})", "bool_and({})", "max({})"),
    }.get(result, ("count({})", "max_by({}, id)", "max({})"))
    return forms[number % len(forms)].replace("{}", call)


def _aggregates() -> Iterator[Asked]:
    filters = ("i > 2", "b", "s LIKE 'a%' OR k = 'k1'", "d IS NULL", "x > 0", "NOT b AND i < 5")
    for number, template in enumerate(functions.aggregates()):
        call, window = functions.of_columns(template), _window(number)
        where = filters[number % len(filters)]
        yield Asked(
            "aggregate without an alias", f"SELECT k, {call} FROM events GROUP BY k, {window}"
        )
        yield Asked(
            "aggregate with FILTER",
            f"SELECT {call} FILTER (WHERE {where}) AS a, count(*) AS n FROM events "
            f"GROUP BY {window}",
        )
        if number % 3 == 0 and not any(sign in call for sign in ("DISTINCT", "(*)", "WITHIN")):
            name, _, rest = call.partition("(")
            yield Asked(
                "aggregate with DISTINCT",
                f"SELECT {name}(DISTINCT {rest} AS a FROM events WHERE i >= 0 GROUP BY {window}",
            )
        if number % 2:
            yield Asked(
                "aggregate in HAVING",
                f"SELECT count(*) AS n FROM events WHERE i IS NOT NULL GROUP BY Mixed, {window} "
                f"HAVING {call} IS NOT NULL AND count(*) > 3",
            )
        if number % 3 == 1:
            yield Asked(
                "aggregate twice",
                f"SELECT {call} AS a, {call.upper() if number % 2 else call} AS z, "
                f"named_struct('p', {call}) AS st FROM events GROUP BY n, {window}",
            )


def _other_functions() -> Iterator[Asked]:
    for number, template in enumerate(functions.others()):
        call, window = functions.of_columns(template), _window(number)
        yield Asked(
            "generator or window function",
            f"SELECT count(*) AS n FROM events WHERE {call} IS NOT NULL GROUP BY {window}",
        )
        yield Asked(
            "generator or window function", f"SELECT {call}, count(*) FROM events GROUP BY {window}"
        )
        yield Asked(
            "generator or window function", f"SELECT max({call}) FROM events GROUP BY {window}"
        )
        yield Asked(
            "generator or window function",
            f"SELECT count(*) AS n FROM events GROUP BY {window}, {call}",
        )


OPERATORS = r"""
i & 3 = 1 | i & 3 == 2 | i | 1 = 3 | i ^ 2 > 1 | i & 6 | 1 = 3 | 1 | i & 6 = 5 | i << 1 + 1 = 8
i + 1 << 2 > 10 | l >> 1 = 2 | l >>> 1 < 3 | -i >>> 28 = 15 | -i >> 1 = -1 | ~i = -3 | ~i & 7 = 4
-i8 = 2 | - i8 = 2 | +i8 = 2 | - -i = 3 | -(-i) = 3 | !b | ! b AND i > 2 | NOT b AND i > 2
NOT i = 2 | NOT i = 2 AND b | NOT (i = 2 AND b) | ! i > 3 | !(i > 3) | NOT NOT b | !!b
i = 2 IS NULL | (i = 2) IS NULL | i = i8 IS NOT NULL | b = true IS NULL | i IS NULL = b
i > 2 = b | (i > 2) = b | b = i > 2 | b = (i > 2) | i > 2 <=> b | i < 3 = (i8 < 3) | b = b = b
i + 2 * i8 > 3 | (i + 2) * i8 > 3 | i - i8 - 1 = 0 | i - (i8 - 1) = 0 | i / 2 / 2 > 0.5
i % 4 * 2 = 2 | i * 2 % 4 = 2 | i DIV 2 * 2 = i | i div 2 = 1 | i / 2 = 1.5 | 7 % i8 = 1 | -7 % 3 = i
i BETWEEN 1 AND 3 | i NOT BETWEEN 1 AND 3 | NOT i BETWEEN 1 AND 3 | i BETWEEN 1 AND 3 AND b
i BETWEEN 1 AND 3 OR b | i BETWEEN i8 AND i16 | i BETWEEN NULL AND 3 | i + 1 BETWEEN 2 AND 2 + 2
b = i BETWEEN 1 AND 3 | i BETWEEN 3 AND 1 | s BETWEEN 'a' AND 'b' | d BETWEEN -0.5 AND 0.5
i BETWEEN SYMMETRIC 3 AND 1 | x BETWEEN -1 AND 1e308
i IN (1) | i IN (1, NULL) | i NOT IN (1, 2) | i NOT IN (1, NULL) | NOT i IN (1, 2) | s IN ('a', 'b')
(i, i8) IN ((1, 2), (3, 3)) | i IN (i8, i16) | i IN (1L, 2.0, '3') | i IN (1 + 1, 5 - 2) | s IN ('')
x IN (0) | x IN (double('NaN'), 1) | d IN (-0.0, 0.25) | dt IN (DATE'2024-01-01') | i IN (1, 'a')
s LIKE 'a%' | s LIKE '_' | s LIKE '%.%' | s NOT LIKE '%b%' | s LIKE '' | s LIKE '%' | s LIKE 'a\\_b'
s LIKE 'a!_b' ESCAPE '!' | s LIKE '100\\%' | s LIKE k | s LIKE NULL | s LIKE 'a' || '%' | s LIKE '日_'
s LIKE ANY ('a%', '1%') | s LIKE ALL ('a%', '%c') | s NOT LIKE ANY ('a%', 'b%') | s LIKE SOME ('x%')
s NOT LIKE ALL ('a%', 'b%') | s ILIKE 'A%' | s ILIKE ANY ('A%', 'X%') | s NOT ILIKE 'ab%'
s ILIKE ALL ('A%', '%C') | s RLIKE '^a' | s NOT RLIKE '^a' | s REGEXP 'b$' | s RLIKE r'^\d+$'
s RLIKE '^[a-z]{1,2}$' | s RLIKE '\\\\' | s RLIKE '' | s RLIKE 'A|b' | s LIKE 'a\\\\b' | s LIKE r'a\\b'
i IS DISTINCT FROM 2 | i IS NOT DISTINCT FROM 2 | i IS DISTINCT FROM NULL | i <=> NULL | NOT i <=> 2
i IS DISTINCT FROM i8 | s <=> k | x <=> double('NaN') | NULL <=> i | b IS TRUE | b IS NOT TRUE
b IS FALSE | b IS NOT FALSE | b IS UNKNOWN | b IS NOT UNKNOWN | (i > 2) IS TRUE | i > 2 IS TRUE
i IS NULL | i IS NOT NULL | NOT i IS NULL | i + i8 IS NULL | (i IS NULL) = false | b IS NULL IS FALSE
CASE WHEN i > 2 THEN b ELSE i8 > 0 END | CASE i WHEN 1 THEN true WHEN 2 THEN false END
CASE WHEN i > 2 THEN 1 ELSE 0 END = 1 | CASE s WHEN 'a' THEN 1 WHEN NULL THEN 2 ELSE 3 END > 1
CASE WHEN NULL THEN false ELSE b END | CASE i % 2 WHEN 0 THEN 'even' ELSE 'odd' END = 'odd'
CASE WHEN i = 1 THEN 1 WHEN i = 2 THEN 2.5 WHEN i = 3 THEN 3L END >= 2 | CASE NULL WHEN NULL THEN b END
num::int > 3 | (num::int + 1)::string = '5' | -num::int > 1 | i::double / 2 > 1 | i8::boolean | '3'::int = i
1::boolean = b | i::string || 'x' = '3x' | dt::timestamp > tz | tz::date = dt | dec::int = 2 | d::int = 0
v:a::int > 2 | v:a = 2 | v:b::string = 'w1' | v:c[0]::int > 1 | v:c[1]::int = 2 | v:n IS NULL | v:z IS NULL
v:`a`::int = 1 | v:['a']::int = 1 | v:a::string > '1' | cast(v:a AS double) > 1.5 | v:B IS NULL | v:b = 'w1'
exists(arr, x -> x > 1) | exists(arr, x -> x IS NULL) | exists(arr, d -> d > 1) | exists(arr, x -> x > i)
forall(arr, e -> e < 3) | size(filter(arr, e -> e > 0)) = 1 | transform(arr, e -> e * 2)[0] = 4
aggregate(arr, 0, (a, e) -> a + nvl(e, 0)) > 2 | exists(transform(arr, y -> y + i), z -> z > 4)
exists(sarr, s -> s = 'a') | array_max(transform(arr, (e, j) -> e + j)) > 2 | exists(arr, i -> i = 2)
size(transform(filter(arr, e -> e > 0), e -> array(e, i))) > 0 | any_match(arr, e -> e > 1)
st.a > 1 | st.b = 't1' | st.c.d | NOT st.c.d | st['a'] = 2 | events.st.a = 1 | st.A = 1 | st.c IS NULL
st = named_struct('a', 1, 'b', 't1', 'c', named_struct('d', false)) | (st).a = 2 | st.z = 1
arr[0] = 1 | arr[i8] = 1 | m['a'] > 1 | m.a = 2 | m['k'] IS NULL | m[k] = 1 | arr[0] + arr[2] > 3
arr = array(1, NULL, 1) | arr > array(1) | sarr[1] = '2' | map_keys(m)[0] = 'a' | arr IS NULL
s || k = 'ak1' | s || NULL IS NULL | 'a' || 'b' || s = 'aba' | i || i8 = '32' | concat(s, i) LIKE 'a%'
i = 1 OR i = 2 AND b | (i = 1 OR i = 2) AND b | i = 1 AND b OR i = 2 | NOT b OR i = 1 | NOT (b OR i = 1)
true | false | NULL | true AND NULL | 1 = 1 | 1 = 2 OR b | b AND b | b OR NOT b | b AND NULL | i = i
i <> 2 | i != 2 | i == 2 | 2 = i | 2 < i | 2 >= i | i > i8 | i * i8 > i16 | i > '2' | i > 2.5 | i = 2.0
i > 2.5BD | i > 2.5D | i > 1e0 | s > 5 | num > 5 | num = 5 | num = 5.0 | num = '5' | dt > '2024-01-01'
tz > '2024-01-01' | tz > '2024-01-01 02' | dt = TIMESTAMP'2024-01-01' | ntz > tz | dt = ntz | dec = '2.5'
d = dec | f = d | f = 0.25 | f > 0.1 | d > 0.1BD | l = 9007199254740993 | l > 9007199254740992D | l = 5.0
l > 9007199254740992 | l = '9007199254740997' | big > 1234567890123456 | big = 0 | big > 1e15 | i = true
e64 > 9223372036854775806 | e64 >= 9223372036854775807 | e64 <= -9223372036854775808 | e64 = 3.5
e32 > 2147483648 | e32 = -2147483648 | e8 > 127 | e8 >= 127Y | e8 = 300 | e32 < 2147483647L | e8 < 126.5
x > 0 | x = 0 | x < 0 | x >= -0.0 | x = -0.0 | x > 1e308 | x = double('NaN') | x > double('Infinity')
x >= double('NaN') | x < double('-Infinity') | x <> 0 | NOT x > 0 | x IS NULL | isnan(x) | x = x | x <> x
x < 4.9e-324 | x > 0 AND x < 1e-300 | x = 1e300 | x <= double('-Infinity') | abs(x) = 1.5 | -x = 1.5
ch = 'ab' | ch = 'ab   ' | ch = 'ab  ' | 'ab' = ch | ch IN ('ab', 'abc') | ch LIKE 'ab' | ch LIKE 'ab%'
ch > 'ab' | ch <> 'AB' | length(ch) = 5 | ch = vc | vc = 'ab' | vc = 'ab ' | vc || '|' = 'ab |' | ch || '|' = 'ab   |'
ci = 'AB' | ci = 'ab' | ci > 'B' | ci IN ('AB', 'c') | ci LIKE 'A%' | ci <> 'ab' | upper(ci) = 'AB' | ci = s
un = 'e' | un = 'É' | un < 'z' | s COLLATE UTF8_LCASE = 'ABC' | s COLLATE UNICODE_CI = 'Abc' | ci COLLATE UTF8_BINARY = 'ab'
contains(ci, 'A') | s = 'ABC' COLLATE UTF8_LCASE | startswith(un, 'e') | ci BETWEEN 'A' AND 'AC'
bin = X'6162' | bin > X'61' | bin = 'ab' | bin <> X'' | bin IN (X'5A') | length(bin) = 0 | bin LIKE 'a%'
dti > INTERVAL '1' SECOND | dti = INTERVAL '1 00:00:02' DAY TO SECOND | dti < INTERVAL 0 DAYS | -dti > INTERVAL '0' DAY
dti * 2 > INTERVAL '5' SECOND | ymi > INTERVAL '1' MONTH | ymi = INTERVAL '0-2' YEAR TO MONTH | ymi < INTERVAL 0 YEARS
ymi * 2 >= INTERVAL '4' MONTH | dt + ymi > DATE'2024-01-01' | tz + dti > TIMESTAMP'2024-01-02' | dt - DATE'2024-01-01' > INTERVAL '2' DAY
dt + 1 = DATE'2024-01-02' | dt - 1 > '2023-12-30' | tz - INTERVAL 1 HOUR > TIMESTAMP'2024-01-01 00:00:00' | ntz - INTERVAL '1' DAY < NTZ
tz - dt > INTERVAL '0' SECOND | dt - dt = INTERVAL '0' DAY | 1 + dt = DATE'2024-01-03' | INTERVAL 1 DAY + dt > '2024-01-01'
i > 2 AND i < 5 AND NOT b | i > 2 AND (s = 'a' OR (k = 'k1' AND (d > 0 OR b))) | i > 2 OR s > 'b' OR d < 0
nvl(b, i > 2) | coalesce(i, 0) = 0 | if(b, i > 2, i < 2) | nullif(i, 2) IS NULL AND i IS NOT NULL
"""


def _operators() -> Iterator[Asked]:
    # `|` alone separates expressions; the operator stands inside them with no blank line end.
    for number, text in enumerate(_separated(OPERATORS)):
        window = _window(number)
        yield Asked(
            "operator in WHERE", f"SELECT count(*) AS n FROM events WHERE {text} GROUP BY {window}"
        )
        if number % 2:
            continue
        forms = (
            (
                f"SELECT count(*) FILTER (WHERE {text}) AS a, count(*) AS c FROM events "
                f"GROUP BY {window}"
            ),
            f"SELECT count_if({text}) AS a FROM events GROUP BY {window}",
            f"SELECT {text} AS g, count(*) AS c FROM events GROUP BY {text}, {window}",
            f"SELECT max({text}) FROM events GROUP BY {window}",
            f"SELECT count(*) AS a FROM events WHERE {text} AND id > 20 OR {text} GROUP BY {window}",
            f"SELECT sum(if({text}, 1, 0)) AS a FROM events WHERE NOT ({text}) GROUP BY {window}",
        )
        yield Asked("operator elsewhere", forms[number // 2 % len(forms)])


def _separated(text: str) -> list[str]:
    """The expressions of a text; an operator `|` has a digit or column on both sides of it.

    >>> _separated("i > 1 | b | i | 1 = 3 | i & 6 | 1 = 3")
    ['i > 1', 'b', 'i | 1 = 3', 'i & 6 | 1 = 3']
    """
    glued = text.replace("i | 1 = 3", "i\0 1 = 3").replace("i & 6 | 1", "i & 6\0 1")
    glued = glued.replace("1 | i & 6", "1\0 i & 6")
    parts = [part.strip() for line in glued.splitlines() for part in line.split(" | ")]
    return [part.replace("\0", " |") for part in parts if part]


LITERALS = r"""
i = 1Y ; i > -128Y ; i8 = -3Y ; i = 2S ; i16 >= -4S ; l = 5L ; l > -9223372036854775808L ; e64 = -9223372036854775808L
e64 = -9223372036854775808 ; e64 < 9223372036854775807L ; i = 1.5BD ; dec = 2.50BD ; dec > 1.25 ; dec = 3.750 ; d > 1e3 ; d < 1E-1
d > .5 ; d = .25 ; d >= 1. ; d > -1.25e0 ; d = 0.5D ; f = 0.5F ; f > -.5f ; d = 1e400 ; i > 128Y ; l > 9223372036854775808L ; i = 00012 ; i > -0 ; i = - 2
bin = X'6162' ; bin = x'5a' ; bin = X'' ; bin = X'1F' ; bin > X'6' ; bin = 'ab' ; s RLIKE r'\d+' ; s RLIKE R"^[a-z]+$" ; s = 'it''s' ; s = 'it\'s' ; s = "it's"
s = "abc" ; s = "a" "b" ; s = 'a' 'bc' ; s = 'ab' "c" ; s = '' ; s = "" ; s = '\u0061' ; s = '\141' ; s = 'a\\b' ; s = r'a\b' ; s = 'a\tb' ; s = '\U000065E5\u672C' ; s = '\x61' ; s = 'a\.b' ; s LIKE 'a\%' ; s LIKE '100\%'
s = 'ü' ; s = '日本' ; s = '😀' ; s > 'ü' ; s = '"q"' ; s = "\"q\"" ; s = ' pad ' ; s = 'a;b' ; s = 'a--b' ; s = '/* a */' ; s = 'FROM' ; s = '$x' ; s = '{i}' ; s = '%s' ; s = '\0' ; s = '[RANGE' ; s = '@i' ; s = ':a' ; s = '?'
dt = DATE'2024-01-01' ; dt = DATE '2024-1-1' ; dt > date "2023-12-31" ; dt > DATE'2024' ; dt > DATE'2024-01' ; dt = DATE'2024-02-30' ; dt < DATE'9999-12-31' ; dt > DATE'-0001-01-01' ; dt > DATE'epoch' ; dt = DATE'today'
tz > TIMESTAMP'2024-01-01 01:00:00' ; tz > TIMESTAMP '2024-01-01 01:00:00.5' ; tz > TIMESTAMP'2024-01-01T01:00:00Z' ; tz > TIMESTAMP'2024-01-01 01:00:00+01:00' ; tz > TIMESTAMP'2024-01-01 01:00:00 Europe/Berlin' ; tz > TIMESTAMP'2024-01-01' ; tz > TIMESTAMP'epoch' ; tz > TIMESTAMP'not' ; tz > TIMESTAMP_LTZ'2024-01-01 02:00:00'
ntz > TIMESTAMP_NTZ'2024-03-01 12:00:00' ; ntz = TIMESTAMP_NTZ '2024-03-01 12:00:04' ; ntz > TIMESTAMP'2024-03-01 12:00:00' ; ts >= TIMESTAMP'2024-01-01 00:02:00' ; ts < '2024-01-01 00:02:00' ; ts BETWEEN '2024-01-01' AND TIMESTAMP'2024-01-01 00:01:30'
tz > TIMESTAMP'2024-01-01' + INTERVAL 1 HOUR 30 MINUTES ; tz > TIMESTAMP'2024-01-01' + INTERVAL '1' HOUR ; tz > TIMESTAMP'2024-01-01' + INTERVAL '0 01:30:00' DAY TO SECOND ; tz > TIMESTAMP'2024-01-01' + INTERVAL '01:30' HOUR TO MINUTE ; tz > TIMESTAMP'2024-01-01' + INTERVAL '1 hour 30 minutes' ; tz > TIMESTAMP'2024-01-01' + INTERVAL -'1' HOUR ; tz > TIMESTAMP'2024-01-01' + INTERVAL '-1' HOUR ; tz > TIMESTAMP'2024-01-01' - INTERVAL 90 SECONDS ; tz > TIMESTAMP'2023-12-01' + INTERVAL 1 MONTH ; tz > TIMESTAMP'2023-12-01' + INTERVAL 1 MONTH 2 HOURS
dti > INTERVAL 1 SECOND ; dti > INTERVAL '1.5' SECOND ; dti > INTERVAL '1 2:03:04.5' DAY TO SECOND ; dti < INTERVAL 2 DAYS 3 HOURS ; dti > interval 1 day ; dti = INTERVAL '1 00' DAY TO HOUR ; dti > INTERVAL 1500 MILLISECONDS ; dti >= INTERVAL 1 WEEK ; dti > INTERVAL '61' MINUTE ; dti > INTERVAL '00:00:02' HOUR TO SECOND ; dti < INTERVAL '10:30' MINUTE TO SECOND ; dti > INTERVAL 5 MICROSECONDS ; dti > INTERVAL '2' MONTH
ymi > INTERVAL '1-2' YEAR TO MONTH ; ymi > INTERVAL '-1-2' YEAR TO MONTH ; ymi >= INTERVAL 2 MONTHS ; ymi < INTERVAL 1 YEAR ; ymi < INTERVAL '1' YEAR ; ymi > INTERVAL -1 MONTH ; ymi > INTERVAL -'1' MONTH ; ymi = INTERVAL '0' MONTH ; ymi < INTERVAL 1 YEAR 2 MONTHS ; ymi < INTERVAL '1 year 2 months'
b = TRUE ; b = true ; b <=> NULL ; b = False ; i = NULL ; NULL = NULL ; i IN (NULL) ; i + NULL IS NULL ; s = NULL ; b = 'true' ; b = 1 ; b = 't' ; i = CAST(NULL AS INT) ; d = CAST('Infinity' AS DOUBLE) ; d = 'NaN' ; i = CAST('2' AS BIGINT) ; i = TINYINT('2') ; i = 0x1 ; i = 1_000 ; d = 0.1 + 0.2 ; d = 0.1D + 0.15D ; d = 1 / 4 ; i = 6 / 2 ; i = 7 DIV 2 ; dec = 5 / 2 ; dec = 2.5e0 ; big = 1234567890123456.0123456789 ; big > 99999999999999999999999999999999999999 ; big > 12345678901234567890123456789012345678901
i = ABS(-2) ; i > LENGTH('ab') ; i = CAST(2.9 AS INT) ; i = ROUND(2.5) ; l = 1 << 3 ; s = CONCAT('a', 'bc') ; s = UPPER('abc') ; dt = DATE_ADD('2024-01-01', 2) ; i = ARRAY(1, 2, 3)[1] ; i = MAP('a', 3)['a'] ; i = STRUCT(2).col1 ; i = ELEMENT_AT(ARRAY(4, 5), 1) ; i = -(-2) ; i = +3 ; i = - - 3 ; i = ~1 + 5 ; i > 1 + 1 ; i > 2 - -1
"""


def _literals() -> Iterator[Asked]:
    parts = [part.strip() for line in LITERALS.splitlines() for part in line.split(" ; ")]
    for number, text in enumerate(part for part in parts if part):
        window = _window(number)
        yield Asked(
            "literal in WHERE", f"SELECT count(*) AS n FROM events WHERE {text} GROUP BY {window}"
        )
        left, operator, right = _sides(text)
        if not operator or number % 2:
            continue
        forms = (
            f"SELECT {right} AS lit, count(*) AS n FROM events GROUP BY {window}",
            f"SELECT max({right}) AS a, min({left}) AS z FROM events GROUP BY {window}",
            (
                f"SELECT count(*) AS n FROM events GROUP BY {window} HAVING max({left}) {operator} "
                f"{right}"
            ),
            f"SELECT {right}, count(*) FROM events GROUP BY {window}",
            (
                f"SELECT coalesce({left}, {right}) AS g, count(*) AS n FROM events "
                f"GROUP BY coalesce({left}, {right}), {window}"
            ),
            (
                f"SELECT count(*) FILTER (WHERE {right} {_FLIPPED[operator]} {left}) FROM events "
                f"GROUP BY {window}"
            ),
        )
        yield Asked("literal elsewhere", forms[number // 2 % len(forms)])


_FLIPPED = {"<=>": "<=>", ">=": "<=", "<=": ">=", "=": "=", ">": "<", "<": ">"}


def _sides(text: str) -> tuple[str, str, str]:
    for operator in _FLIPPED:
        left, found, right = text.partition(f" {operator} ")
        if found:
            return left, operator, right
    return text, "", ""


# Two constants of every column's type, the first of which some rows have.
COLUMNS = {
    "b": ("true", "false"), "i8": ("2", "-3Y"), "i16": ("1", "4S"), "i": ("3", "7"),
    "l": ("5", "9007199254740997"), "f": ("0.25", "-0.5F"), "d": ("0.5", "-1.25D"),
    "x": ("0.0", "double('NaN')"), "e8": ("1", "127"), "e32": ("2", "-2147483648"),
    "e64": ("3", "9223372036854775807"), "dec": ("2.50", "-7.5"),
    "big": ("0", "1234567890123456.0123460000"), "s": ("'abc'", "''"), "num": ("'5'", "'11'"),
    "k": ("'k1'", "'K1'"), "ch": ("'ab'", "'abc'"), "vc": ("'ab '", "'ab'"),
    "ci": ("'AB'", "'c'"), "un": ("'e'", "'z'"), "bin": ("X'6162'", "X''"),
    "dt": ("DATE'2024-01-01'", "'2023-12-28'"),
    "tz": ("TIMESTAMP'2024-01-01 01:00:00.5'", "'2024-01-01 03:00:00'"),
    "ntz": ("TIMESTAMP_NTZ'2024-03-01 12:00:01'", "TIMESTAMP_NTZ'2024-02-29 12:00:03'"),
    "dti": ("INTERVAL '1' DAY", "INTERVAL '2' SECOND"),
    "ymi": ("INTERVAL '1' MONTH", "INTERVAL '0-2' YEAR TO MONTH"),
    "arr": ("array(1, NULL, 1)", "array(2)"), "sarr": ("array('a', '1')", "array()"),
    "farr": ("array(1.0F, 1.0F)", "array(0.0F)"), "st.a": ("1", "2"),
    "st": ("named_struct('a', 1, 'b', 't1', 'c', named_struct('d', false))", "NULL"),
    "m": ("map('a', 1)", "NULL"), "v": ("parse_json('1')", "NULL"), "v:a::int": ("2", "4"),
    "m['a']": ("1", "2"), "Mixed": ("2", "5"), "ts": ("TIMESTAMP'2024-01-01 00:01:30'",
    "'2024-01-01 00:03:00'"), "id": ("100", "7"),
}  # fmt: skip


def _columns() -> Iterator[Asked]:
    for number, (column, (first, second)) in enumerate(COLUMNS.items()):
        conditions = (
            f"{column} = {first}", f"{column} >= {second}", f"{column} <> {second}",
            f"{column} < {second} OR {column} <=> {first}", f"{column} IN ({first}, {second})",
            f"{column} IS NULL OR NOT {column} <= {first}",
            f"{column} BETWEEN {first} AND {second}",
        )  # fmt: skip
        for i, condition in enumerate(conditions):
            yield Asked(
                "column compared",
                f"SELECT count(*) AS c FROM events WHERE {condition} "
                f"GROUP BY {_window(number + i)}",
            )
        window = _window(number)
        for text in (
            f"SELECT {column}, count(*) AS c FROM events GROUP BY {column}, {window}",
            f"SELECT {column} AS g, max(id) AS z FROM events WHERE i > 0 GROUP BY 1, {window}",
            (
                f"SELECT count(*) AS c FROM events GROUP BY {window}, {column} HAVING {column} "
                f"= {first}"
            ),
            f"SELECT {column}, k, sum(i) FROM events GROUP BY {column}, k, {window}",
        ):
            yield Asked("column as a key", text)
        for function in ("min", "max", "sum", "approx_count_distinct"):
            yield Asked(
                "column aggregated",
                f"SELECT n, {function}({column}) FROM events GROUP BY n, {window}",
            )


def _names(keywords: tuple[str, ...]) -> Iterator[Asked]:
    together = 6
    for number in range(0, len(keywords), together):
        names = [f"`{word.lower()}`" for word in keywords[number : number + together]]
        window = _window(number)
        yield Asked(
            "keywords in backticks",
            f"SELECT {names[0]}, {', '.join(f'sum({name})' for name in names[1:])} FROM words "
            f"WHERE {names[-1]} > 0 OR words.{names[0]} = 1 GROUP BY {names[0]}, {window}",
            "words",
        )
        yield Asked(
            "keywords in backticks",
            f"SELECT {', '.join(f'max({name}) AS {name}' for name in names)} FROM words "
            f"GROUP BY {window} HAVING {names[0]} IS NOT NULL",
            "words",
        )
    for number, keyword in enumerate(keywords[::4]):
        word, window = keyword.lower(), _window(number)
        bare = (
            f"SELECT {word}, count(*) AS c FROM words GROUP BY {word}, {window}",
            f"SELECT count(*) AS c FROM words WHERE {word} = 1 GROUP BY {window}",
            f"SELECT sum(w.{word}) AS {word} FROM words w GROUP BY {window}",
            f"SELECT count(*) {word} FROM words {word} GROUP BY {window}",
        )
        yield Asked("keyword without backticks", bare[number % 4], "words")
    for stream, names in (("odd", ODD_NAMES), ("ours", OUR_NAMES)):
        for number, plain in enumerate(names):
            name, window = quoted(plain), _window(number)
            source = f"ours{number}" if stream == "ours" else stream
            texts = (
                f"SELECT {name}, count(*) AS c FROM {source} GROUP BY {name}, {window}",
                f"SELECT sum({name}) FROM {source} WHERE {name} > 0 GROUP BY {window}",
                f"SELECT count(*) AS {name} FROM {source} GROUP BY {window} HAVING {name} > 3",
                (
                    f"SELECT {name} + 1 AS p FROM {source} AS t WHERE t.{name} IS NOT NULL "
                    f"GROUP BY {name} + 1, {window}"
                ),
            )
            for text in texts if stream == "odd" else (texts[0], texts[1 + number % 3]):
                yield Asked(f"{stream} name", text, source)
    for number, plain in enumerate(OUR_NAMES):
        name, window = quoted(plain), _window(number)
        yield Asked(
            "our name as an alias", f"SELECT max(i) AS {name} FROM events GROUP BY {window}"
        )
        yield Asked(
            "our name as an alias",
            f"SELECT k AS {name}, count(*) AS c FROM events GROUP BY k, {window}",
        )
        yield Asked(
            "our name as an alias",
            f"SELECT sum({name}.i) AS a FROM events AS {name} GROUP BY {window}",
        )
