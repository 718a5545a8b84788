"""The command as a process of its own: what it loads, prints and ends with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

GINGHAM = [sys.executable, "-c", "from gingham.cli.main import main; main()"]
COUNT = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '5 minutes')"
MOST_SECONDS = 240  # for Spark to start on a busy machine


def gingham(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*GINGHAM, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=MOST_SECONDS
    )


def without_spark(tmp_path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process in which importing Spark fails."""
    for name in ("pyspark", "py4j"):
        (tmp_path / "blocked" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "blocked" / name / "__init__.py").write_text("raise SystemExit('Spark!')\n")
    first = f"import sys; sys.path.insert(0, {str(tmp_path / 'blocked')!r}); "
    command = [sys.executable, "-c", first + GINGHAM[2], *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_does_not_load_spark(tmp_path: Path, arguments: list[str]):
    result = without_spark(tmp_path, *arguments)
    assert (result.returncode, result.stderr) == (0, "")


def test_wrong_usage_ends_with_2(tmp_path: Path):
    assert without_spark(tmp_path, "nonsense").returncode == 2
    assert without_spark(tmp_path, "run", "w.yaml", "--show", "-1").returncode == 2


GOOD = {"name": "trades", "path": "data", "time": "ts"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory"),
        ("", "no workload"),
        ("stream:\n\tname: trades\n", "spaces in place of tabs"),
        (json.dumps({"stream": GOOD, "queries": {}}), "no queries"),
        (json.dumps({"stream": GOOD, "queries": {"a": COUNT}}), "there is no such file or folder"),
        (json.dumps({"stream": {"path": "."}, "queries": {"a": COUNT}}), "without name, time"),
    ],
)
@pytest.mark.parametrize("command", ["check", "plan", "run"])
def test_what_is_wrong_in_the_file_is_said_before_spark_is_loaded(
    tmp_path: Path, command: str, content: str | None, said: str
):
    file = tmp_path / "w.yaml"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    result = without_spark(tmp_path, command, file)
    assert result.returncode == 1
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_where_answers_cannot_go_is_said_before_spark_is_loaded(tmp_path: Path):
    (tmp_path / "file").touch()
    (tmp_path / "old" / "a").mkdir(parents=True)
    stream = GOOD | {"path": "."}
    whole = {"stream": stream, "queries": {"a": COUNT}}
    file = tmp_path / "w.yaml"
    file.write_text(json.dumps(whole), encoding="utf-8")
    for folder, said in (("file/x", "is a file"), ("old", "has answers already")):
        result = without_spark(tmp_path, "run", file, "--output", tmp_path / folder)
        assert (result.returncode, result.stdout) == (1, "")
        assert said in result.stderr
    whole["stream"] = stream | {"checkpoint": "state", "watermark": "1 s"}
    file.write_text(json.dumps(whole), encoding="utf-8")
    result = without_spark(tmp_path, "run", file, "--output", tmp_path / "x", "--format", "csv")
    assert "answers of a stream as csv" in result.stderr


def test_an_example_in_a_place_that_cannot_be_written_is_an_error_in_words(tmp_path: Path):
    (tmp_path / "file").touch()
    result = gingham("example", tmp_path / "file" / "x")
    assert result.returncode == 1
    assert f"{tmp_path}/file/x cannot be used" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_java_the_errors_of_the_file_are_said_too(tmp_path: Path):
    queries = {"a": COUNT, "a b": COUNT}
    whole = {"stream": GOOD | {"path": "."}, "queries": queries}
    (tmp_path / "w.yaml").write_text(json.dumps(whole), encoding="utf-8")
    result = subprocess.run(
        [*GINGHAM, "check", str(tmp_path / "w.yaml")],
        env={**os.environ, "JAVA_HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 1
    assert "there is no Java" in result.stderr
    assert "'a b' as the name of a query" in result.stderr


class Process:
    """`gingham run` of a stream, without a terminal."""

    def __init__(self, file: Path, log: Path) -> None:
        self.log = log
        with log.open("w") as stderr:
            # A group of its own gets a signal as that of a terminal does: Java gets it too.
            self.process = subprocess.Popen(
                [*GINGHAM, "run", str(file)], stderr=stderr, start_new_session=True
            )

    def wait_for(self, text: str) -> None:
        until = time.monotonic() + MOST_SECONDS
        while text not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.1)

    def stopped_by(self, number: signal.Signals) -> tuple[int, list[str]]:
        os.killpg(self.process.pid, number)
        code = self.process.wait(MOST_SECONDS)
        return code, self.log.read_text().splitlines()


def test_a_stream_without_a_terminal_tells_its_progress_and_stops_in_order(tmp_path: Path):
    trades = tmp_path / "trades"
    trades.mkdir()
    (trades / "1.csv").write_text("ts\n2024-01-01 00:01:00\n2024-01-01 00:31:00\n")
    stream = {
        "name": "trades",
        "path": "trades",
        "format": "csv",
        "schema": "ts TIMESTAMP",
        "time": "ts",
        "watermark": "1 second",
        "checkpoint": "state",
    }
    whole = {"stream": stream, "queries": {"a": COUNT}, "sink": {"path": "answers"}}
    file = tmp_path / "w.yaml"
    file.write_text(json.dumps(whole), encoding="utf-8")
    process = Process(file, tmp_path / "log")
    process.wait_for("batch 0: 2 rows")
    code, lines = process.stopped_by(signal.SIGINT)
    assert code == 130
    assert lines[0].startswith("running over trades: queries 1")
    assert lines[1].startswith("batch 0: 2 rows")
    assert lines[2].startswith("trades: 1 batches, 2 rows")
    assert lines[3].startswith("stopped by SIGINT: trades, queries 1; the same command goes on")
    assert lines[3].endswith(f"from the checkpoint {tmp_path}/state")
    assert len(lines) == 4
    assert len(list((tmp_path / "answers" / "a").iterdir())) == 1

    # A query that was edited meanwhile is replaced, and the rows of before are not read again.
    whole["queries"] = {"a": COUNT.replace("5", "10")}
    file.write_text(json.dumps(whole), encoding="utf-8")
    (trades / "2.csv").write_text("ts\n2024-01-01 01:01:00\n")
    process = Process(file, tmp_path / "log")
    process.wait_for("batch 1: 1 rows")
    code, lines = process.stopped_by(signal.SIGTERM)
    assert code == 143
    assert lines[-1].startswith("stopped by SIGTERM")
    assert not any("Traceback" in line or "py4j" in line for line in lines)
