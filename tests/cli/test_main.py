import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from gingham.cli import main

pytestmark = pytest.mark.usefixtures("spark")


def gingham(*arguments: object) -> Result:
    result = CliRunner().invoke(main.cli, [str(argument) for argument in arguments])
    # Whatever the user can mend is printed; anything else is a bug.
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture(scope="module")
def market(spark, tmp_path_factory):  # noqa: ARG001  (the session has to be there)
    folder = tmp_path_factory.mktemp("cli") / "market"
    assert gingham("example", folder).exit_code == 0
    return folder


def workload(folder: Path, queries: dict[str, str], **parts: object) -> Path:
    """A workload over a few trades in CSV, whose answers one can count."""
    trades = folder / "trades.csv"
    trades.write_text(
        "ts,symbol,vol\n"
        "2024-01-01 00:01:00,A,1\n"
        "2024-01-01 00:02:00,B,2\n"
        "2024-01-01 00:07:00,A,4\n",
        encoding="utf-8",
    )
    stream = {
        "name": "trades",
        "path": "trades.csv",
        "format": "csv",
        "schema": "ts TIMESTAMP, symbol STRING, vol INT",
        "time": "ts",
    }
    file = folder / "w.yaml"
    # JSON is YAML.
    whole = {"stream": stream, "queries": queries, **parts}
    file.write_text(json.dumps(whole, indent=2), encoding="utf-8")
    return file


SUMS = "SELECT sum(vol) AS total FROM trades GROUP BY window(ts, '5 minutes')"


@pytest.mark.parametrize(("name", "count"), [("trades.yaml", 5), ("trades.sql", 3)])
def test_the_example_runs_at_once(market, name, count):
    assert gingham("check", market / name).output == f"ok: {count} queries over trades\n"
    plan = gingham("plan", market / name)
    assert plan.exit_code == 0
    assert plan.stdout.startswith(f"trades: {count} queries, one pass over the rows")
    run = gingham("run", market / name, "--show", 2)
    assert run.exit_code == 0
    assert "turnover: 6 rows, the first 2" in run.stdout
    assert f"{count} queries from" in run.stdout


def test_an_example_overwrites_nothing(market):
    result = gingham("example", market)
    assert result.exit_code == 1
    assert "is not empty" in result.stderr


def test_every_bad_query_is_reported_with_its_line(tmp_path):
    file = tmp_path / "w.sql"
    workload(tmp_path, {})
    file.write_text(
        "-- stream: trades path=trades.csv format=csv time=ts"
        " schema='ts TIMESTAMP, symbol STRING, vol INT'\n"
        "-- name: good\n"
        f"{SUMS};\n"
        "-- name: misspelt\n"
        "SELECT sum(vol) AS total\n"
        "FROM trades\n"
        "GRUP BY window(ts, '5 minutes');\n"
        "-- name: endless\n"
        "SELECT sum(vol) AS total FROM trades;\n"
        "-- name: nothing\n"
        "-- name: unknown\n"
        "SELECT sum(volume) AS total FROM trades GROUP BY window(ts, '5 minutes');\n",
        encoding="utf-8",
    )
    for command in ("check", "plan", "run"):
        result = gingham(command, file)
        assert result.exit_code == 1
        assert result.stdout == ""
        found = [line for line in result.stderr.splitlines() if line.startswith(str(file))]
        assert [line.split(": ")[0].removeprefix(f"{file}:") for line in found] == [
            "5",
            "9",
            "10",
            "12",
        ]
        assert "query 'misspelt'" in found[0]
        assert "line 7, column" in found[0]
        assert "query 'endless': no window" in found[1]
        assert "query 'nothing' has no SQL" in found[2]
        assert "query 'unknown'" in found[3]
        assert result.stderr.count("  why:     ") == result.stderr.count("  instead: ") == 4
        assert "Traceback" not in result.stderr


def test_a_source_that_cannot_be_read_is_reported_once_and_hides_nothing_else(tmp_path):
    window = "GROUP BY window(ts, '5 seconds')"
    joined = f"SELECT max(a) AS a FROM trades JOIN names USING (symbol) {window}"
    file = workload(
        tmp_path,
        {"joined": joined, "endless": "SELECT sum(vol) AS total FROM trades"},
        tables=[{"name": "names", "path": "nowhere", "key": "symbol"}],
    )
    result = gingham("check", file)
    assert result.exit_code == 1
    assert "'names' cannot be read as parquet" in result.stderr
    assert "query 'endless': no window" in result.stderr
    assert "joined" not in result.stderr


def test_answers_are_written_and_not_overwritten_unasked(tmp_path):
    by_symbol = "SELECT symbol, sum(vol) AS total FROM trades GROUP BY symbol, window(ts, '1 hour')"
    file = workload(tmp_path, {"sums": SUMS, "by_symbol": by_symbol})
    assert gingham("run", file, "--output", tmp_path / "answers").exit_code == 0
    answer = pyarrow.parquet.read_table(tmp_path / "answers" / "sums")
    assert sorted(answer.column("total").to_pylist()) == [3, 4]
    answer = pyarrow.parquet.read_table(tmp_path / "answers" / "by_symbol")
    assert {row["symbol"]: row["total"] for row in answer.to_pylist()} == {"A": 5, "B": 2}

    again = gingham("run", file, "--output", tmp_path / "answers")
    assert again.exit_code == 1
    assert "has answers already" in again.stderr
    assert gingham("run", file, "--output", tmp_path / "answers", "--overwrite").exit_code == 0


def test_a_sink_of_the_file_is_where_answers_go(tmp_path):
    file = workload(tmp_path, {"sums": SUMS}, sink={"path": "out", "format": "csv"})
    result = gingham("run", file, "--show", 0)
    assert result.exit_code == 0
    assert "sums: 2 rows\n" in result.stdout
    answer = pyarrow.csv.read_csv(tmp_path / "out" / "sums" / "part-0.csv")
    assert answer.column_names == ["window_start", "window_end", "total"]


def test_a_query_that_fails_does_not_touch_the_others(tmp_path):
    fails = "SELECT max(1 / (vol - 2)) AS x FROM trades GROUP BY window(ts, '5 minutes')"
    result = gingham("run", workload(tmp_path, {"fails": fails, "sums": SUMS}))
    assert result.exit_code == 1
    assert "sums: 2 rows" in result.stdout
    assert result.stderr.count("query 'fails'") == 1


def test_a_value_that_does_not_fit_the_schema_stops_the_run(tmp_path):
    file = workload(tmp_path, {"sums": SUMS})
    with (tmp_path / "trades.csv").open("a", encoding="utf-8") as trades:
        trades.write("2024-01-01 00:08:00,A,many\n")
    result = gingham("run", file)
    assert result.exit_code == 1
    assert "query 'sums' fails for some row" in result.stderr
    assert "trades.csv" in result.stderr
    assert '"many"' in result.stderr
    assert "Traceback" not in result.stderr


def test_the_demo_compares_shared_with_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    result = gingham("demo", "--rows", 20_000, "--queries", 16)
    assert result.exit_code == 0
    assert "20,000 trades of one hour, 16 queries: 4 windows x 4 predicates" in result.stdout
    assert "for all 16, extrapolated" in result.stdout
    assert "saving" in result.stdout
    assert list(tmp_path.glob("gingham-demo-*")) == []


def test_the_demo_wants_a_square():
    result = gingham("demo", "--queries", 200)
    assert result.exit_code == 1
    assert "--queries 196 or --queries 225" in result.stderr
