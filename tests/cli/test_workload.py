from importlib.resources import files
from pathlib import Path

import pytest

from gingham.cli.read_workload import read_workload
from gingham.cli.values import is_local
from gingham.cli.workload import NamedQuery, Sink, Source
from gingham.core.errors import WorkloadError

SELECT = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '5 minutes')"

YAML = f"""\
stream:
  name: trades
  path: data/trades
  time: ts
  watermark: 10 seconds
tables:
  - {{name: listing, path: s3://bucket/listing, key: [symbol, day]}}
queries:
  one: {SELECT}
  two: |
    SELECT count(*) AS n
    FROM trades
    GROUP BY window(ts, '5 minutes')
sink: {{path: answers, format: csv}}
"""

SQL = f"""\
-- Two queries.
-- stream: trades path=data/trades time=ts watermark="10 seconds"
-- table: listing path=s3://bucket/listing key=symbol,day
-- sink: path=answers format=csv

-- name: one
-- counts
{SELECT};

-- name: two

SELECT count(*) AS n
FROM trades -- all of them
GROUP BY window(ts, '5 minutes')
"""


def written(folder: Path, text: str, name: str = "w.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def complaints(folder: Path, text: str, name: str = "w.yaml") -> list[str]:
    """What is wrong, without the folder: line and first part of each error."""
    _, problems = read_workload(written(folder, text, name))
    return [error.what.removeprefix(f"{folder / name}:") for error in problems.errors]


@pytest.mark.parametrize(("text", "name"), [(YAML, "w.yaml"), (YAML, "w.yml"), (SQL, "w.sql")])
def test_yaml_and_sql_say_the_same(tmp_path, text, name):
    workload, problems = read_workload(written(tmp_path, text, name))
    assert problems.errors == []
    path = str(tmp_path / "data/trades")
    arguments = {"time": "ts", "watermark": "10 seconds"}
    stream = Source("stream", "trades", path, "parquet", None, {}, arguments, line=0)
    path = "s3://bucket/listing"
    key = {"key": ("symbol", "day")}
    table = Source("table", "listing", path, "parquet", None, {}, key, line=0)
    assert workload.sources == (stream, table)
    assert [query.name for query in workload.queries] == ["one", "two"]
    assert workload.queries[0].sql == SELECT
    assert workload.sink == Sink(str(tmp_path / "answers"), "csv")


@pytest.mark.parametrize(("text", "name"), [(YAML, "w.yaml"), (SQL, "w.sql")])
def test_a_query_knows_the_line_on_which_its_sql_starts(tmp_path, text, name):
    workload, _ = read_workload(written(tmp_path, text, name))
    lines = text.splitlines()
    for query in workload.queries:
        assert query.sql.splitlines()[0].strip() in lines[query.line - 1]


def test_queries_may_be_a_list(tmp_path):
    text = f"""\
stream: {{name: trades, path: data, time: ts}}
queries:
  - name: one
    sql: {SELECT}
  - {{name: two, sql: SELECT 2}}
"""
    workload, problems = read_workload(written(tmp_path, text))
    assert problems.errors == []
    assert workload.queries == (NamedQuery("one", SELECT, 4), NamedQuery("two", "SELECT 2", 5))


def test_the_example_in_the_repository_is_the_one_that_is_installed(tmp_path):
    examples = Path(__file__).parents[2] / "examples"
    for name in ("trades.yaml", "trades.sql"):
        text = (examples / name).read_text(encoding="utf-8")
        assert text == (files("gingham.cli") / "example" / name).read_text(encoding="utf-8")
        assert complaints(tmp_path, text, name) == []


def test_everything_that_is_wrong_is_said_at_once_in_the_order_of_the_file(tmp_path):
    text = """\
stream: {name: trades, pth: data, watermark: soon}
tables:
  - {name: a, path: a, key: k, format: avro}
  - {name: b, path: b, key: k, format: csv}
  - text
queries:
  one: SELECT 1
  one: SELECT 2
  two:
  a/b: SELECT 3
sinks: {path: here}
sink: {format: xml, path: here}
"""
    assert complaints(tmp_path, text) == [
        "1: a stream has no field 'pth'",
        "1: stream 'trades': watermark: 'soon' is not a length of time",
        "1: a stream without path, time",
        "3: table 'a': format 'avro'",
        "4: table 'b' without a schema",
        "5: a table without fields",
        "8: two queries named 'one'",
        "9: query 'two' has no SQL",
        "10: 'a/b' as the name of a query",
        "11: there is no part 'sinks'",
        "12: sink: format 'xml'",
    ]


def test_so_it_is_in_sql(tmp_path):
    text = """\
SELECT 0;
-- stream: trades path=data time ts
-- stream: trades path=data time=ts
-- stream: Trades path=data time=ts
-- table: listing path='data key=symbol
-- name: one
-- name: two
SELECT 1;
-- name: two
SELECT 2;
-- sink: answers
"""
    assert complaints(tmp_path, text, "w.sql") == [
        "1: SQL without a name: SELECT 0;",
        "2: 'time' in a stream",
        "2: 'ts' in a stream",
        "2: a stream without time",
        "4: stream 'Trades' has a name that is taken",
        "5: table: listing path='data key=symbol",
        "6: query 'one' has no SQL",
        "10: two queries named 'two'",
        "11: 'answers' in a sink",
        "11: a sink without path",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            (
                "streams:\n- {name: a, path: a, time: t, watermark: 1 s, checkpoint: state}\n"
                "- {name: b, path: b, time: t, watermark: 1 s}\nqueries: {q: SELECT 1}"
            ),
            ["2: a checkpoint beside one of several streams"],
        ),
        (
            (
                "stream: {name: a, path: a, time: t, watermark: 1 s, trigger: 1 s}\n"
                "queries: {q: SELECT 1}\nrun: {checkpoint: s, trigger: 2 s}"
            ),
            ["1: a second trigger"],
        ),
        (
            (
                "streams:\n- {name: a, path: a, time: t}\n"
                "- {name: b, path: b, time: t, watermark: 1 s}\n"
                "queries: {q: SELECT 1}\nrun: {checkpoint: s}"
            ),
            ["2: a checkpoint without a watermark"],
        ),
        (
            (
                "stream: {name: a, path: a, time: t}\ntables: [{name: A, path: b, key: k}]\n"
                "queries: {q: SELECT 1}\nrelations: {name: r, path: r}"
            ),
            ["2: table 'A' has a name that is taken", "4: relations without sketches"],
        ),
        (
            (
                "stream: {name: a, path: a, time: t}\nsketches: {queries: {q: SELECT 1}}\n"
                "queries: {q: SELECT 1}"
            ),
            ["2: the sketches without budget", "3: two queries named 'q'"],
        ),
        (
            "stream: {name: a, path: a, time: t}\nsketches:\n  budget: 9\nqueries: {q: SELECT 1}",
            ["3: sketches without queries"],
        ),
        (
            (
                "stream: {name: a, path: a, time: t}\nrun: {way: cells}\n"
                "sketches:\n  budget: 9\n  queries: {q: SELECT 1}\n  queries: {r: SELECT 1}"
            ),
            ["2: way of the run without queries", "6: 'queries' of the sketches stands twice"],
        ),
        (
            (
                "stream: {name: a, path: a, time: t}\nqueries:\n  a: {sql: SELECT 1, tree: 0}\n"
                "  b: SELECT 1\n  c: {name: d, sql: SELECT 1, tree: 1}"
            ),
            ["4: query 'b' without a tree", "5: 'name' of a query stands twice"],
        ),
        (
            (
                "stream: {name: a, path: [a, b], time: t, options: x, options.y: {z: 1}}\n"
                "queries: {q: SELECT 1}\nrun: [way]\ncost: {path: a, path: b}"
            ),
            [
                "1: 'options.y' of a stream has fields of its own",
                "1: stream 'a': path is a list of 2",
                "1: options of a stream without names",
                "3: the run without fields",
                "4: 'path' of the cost stands twice",
                "4: no costs in ",
            ],
        ),
    ],
)
def test_what_does_not_go_together_is_said_with_its_line(
    tmp_path: Path, text: str, found: list[str]
):
    said = complaints(tmp_path, text)
    assert [what.partition(str(tmp_path))[0] for what in said] == found


def test_comments_in_prose_are_no_headings(tmp_path):
    prose = "-- run: it once a day\n-- cost: about an hour\n-- host: db1\n-- sketch: of an idea\n"
    assert complaints(tmp_path, prose + SQL, "w.sql") == []
    [what] = complaints(tmp_path, "-- cots: row=1e-7\n" + SQL, "w.sql")
    assert what == "1: a heading 'cots'"
    said = complaints(tmp_path, "-- run: daily\n" + SQL, "w.sql")
    assert said == ["1: 'daily' in the run"]


def test_costs_in_a_file_that_are_no_numbers_are_refused(tmp_path):
    text = "stream: {name: a, path: a, time: t}\nqueries: {q: SELECT 1}\ncost: costs.json\n"
    for content in (
        '{"row": "1"}',
        '{"row": NaN}',
        '{"row": -1}',
        '{"row": true}',
        "{",
        '{"x": 1}',
    ):
        (tmp_path / "costs.json").write_text(content)
        [what] = complaints(tmp_path, text)
        assert what.startswith(("3: row in ", "3: no costs in "))
    (tmp_path / "costs.json").write_text('{"row": 3}')
    workload, problems = read_workload(written(tmp_path, text))
    assert problems.errors == []
    assert workload.arguments("loom")["cost"].row == 3


def test_every_complaint_has_a_reason_and_a_way_out(tmp_path):
    _, problems = read_workload(written(tmp_path, "stream: {name: trades, pth: data, time: ts}"))
    assert all(error.why and error.instead for error in problems.errors)
    assert problems.errors[0].instead == "did you mean 'path'?"


def test_problems_are_raised_together_or_not_at_all(tmp_path):
    _, problems = read_workload(written(tmp_path, YAML))
    problems.raise_any()
    _, problems = read_workload(written(tmp_path, "queries: {one: SELECT 1, 'two 2': SELECT 2}"))
    with pytest.raises(ExceptionGroup) as found:
        problems.raise_any()
    assert len(found.value.exceptions) == 2
    assert all(isinstance(error, WorkloadError) for error in found.value.exceptions)


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("", "w.yaml", ["1: no workload"]),
        ("- a", "w.yaml", ["1: no workload"]),
        ("stream: {name: trades\nqueries: [", "w.yaml", ["2: this is no YAML"]),
        ("stream:\n\tname: t", "w.yaml", ["2: this is no YAML"]),
        ("", "w.sql", ["1: no stream", "1: no queries"]),
    ],
)
def test_what_is_no_workload_says_so(tmp_path, text, name, found):
    assert complaints(tmp_path, text, name) == found


def test_a_file_that_cannot_be_read_is_an_error_at_once(tmp_path):
    with pytest.raises(WorkloadError, match="No such file"):
        read_workload(tmp_path / "none.yaml")
    with pytest.raises(WorkloadError, match=r"no kind of workload file"):
        read_workload(written(tmp_path, YAML, "w.toml"))
    (tmp_path / "w.sql").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WorkloadError, match="not UTF-8"):
        read_workload(tmp_path / "w.sql")


@pytest.mark.parametrize("path", ["data", "./a:b/c", "/data", "C:/data", "*.parquet"])
def test_a_local_path_is_relative_to_the_file(path):
    assert is_local(path)


@pytest.mark.parametrize("path", ["s3://bucket/data", "hdfs:///data", "file:/data"])
def test_a_path_with_a_scheme_stays_as_it_is(path):
    assert not is_local(path)
