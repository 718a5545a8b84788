"""`gingham run` of a stream whose answers cannot be delivered is no success."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gingham.cli import live
from gingham.cli.live import run_stream
from gingham.cli.load_workload import load_workload
from gingham.cli.read_workload import read_workload
from gingham.sinks.answer import Answer
from gingham.sinks.parquet import ParquetSink
from gingham.stream.running import Running
from tests.replay import SCHEMA, write_batches
from tests.system.test_stream_trouble import COUNT, batch


def test_a_run_with_answers_that_wait_is_no_success(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    write_batches(tmp_path / "trades", [batch(1, 2), batch(16)])
    (tmp_path / "market.yaml").write_text(
        f"stream: {{name: trades, path: trades, time: ts, schema: '{SCHEMA}', "
        f"checkpoint: state, watermark: 5 seconds}}\nqueries:\n  count: {COUNT}\n"
    )
    workload, problems = read_workload(tmp_path / "market.yaml")
    loaded = load_workload(workload, problems, spark)
    problems.raise_any()
    answers = tmp_path / "answers"

    def ended(running: Running, timeout: float | None = None) -> bool:
        assert timeout == live.POLL_SECONDS
        running.process_all_available()
        running.stop()
        return True

    monkeypatch.setattr(Running, "await_termination", ended)

    def refuse(self: ParquetSink, name: str, answer: Answer, number: int) -> None:
        raise OSError(f"no room for {answer.num_rows} rows of {name} as {number} in {self}")

    with monkeypatch.context() as broken:
        broken.setattr(ParquetSink, "deliver", refuse)
        assert run_stream(tmp_path / "market.yaml", workload, loaded, str(answers)) == 1
    assert "query 'count': its sink failed" in capsys.readouterr().err
    loaded = load_workload(workload, problems, spark)
    assert run_stream(tmp_path / "market.yaml", workload, loaded, str(answers)) == 0
