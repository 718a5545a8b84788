"""`gingham doctor` says what is damaged in a checkpoint, and repairs what can be repaired."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

import gingham
from gingham.cli.main import cli
from tests.system.test_stream_trouble import COUNT, Stream, answers, batch


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    """A stream whose checkpoint has three entries."""
    stream = Stream(spark, tmp_path)
    stream.write(batch(1, 2), batch(16), batch(30))
    stream.run(stream.loom(count=COUNT))
    return stream


def doctor(stream: Stream, *options: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", str(stream.folder / "checkpoint"), *options])


def test_what_can_be_repaired_is_repaired(stream: Stream):
    found = doctor(stream)
    assert found.exit_code == 0, found.output
    assert "nothing is damaged" in found.output
    assert "streams/trades goes on after entry 2: trades after batch 2" in found.output

    # Left over from a write that was never completed.
    log = stream.folder / "checkpoint/streams/trades/log"
    (log / "_000000000003.arrow.5f.tmp").write_bytes(b"half")
    found = doctor(stream)
    assert found.exit_code == 0
    assert "left over" in found.output
    assert "nothing is damaged" in doctor(stream, "--repair").output.partition("after")[2]

    # The newest entry: Spark can read its batch again.
    (log / "000000000002.arrow").write_bytes(b"")
    found = doctor(stream)
    assert found.exit_code == 1
    assert "000000000002.arrow cannot be read" in found.output
    assert "is whole up to entry 1" in found.output
    found = doctor(stream, "--repair")
    assert found.exit_code == 0, found.output
    assert "Spark reads batch 2 again" in found.output
    stream.write(batch(50))
    assert answers(stream.run(stream.loom())) == [(20, 1), (40, 1)]


def test_what_cannot_be_repaired_stays_damaged(stream: Stream):
    log = stream.folder / "checkpoint/streams/trades/log"
    (log / "000000000001.arrow").unlink()
    for options in ((), ("--repair",)):
        found = doctor(stream, *options)
        assert found.exit_code == 1
        assert "entry 1 is missing, and entry 2 is there" in found.output
        assert "is whole up to entry 0: trades after batch 0" in found.output
    with pytest.raises(gingham.CheckpointError, match="not complete"):
        stream.run(stream.loom())


def test_what_is_no_checkpoint_is_said(tmp_path: Path):
    found = CliRunner().invoke(cli, ["doctor", str(tmp_path / "nothing")])
    assert found.exit_code == 1
    assert "gingham.json cannot be read" in found.output
    assert not (tmp_path / "nothing").exists()
