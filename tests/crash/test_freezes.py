"""A driver that was frozen while another took over stops before it writes anything."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from tests.crash.child import JOINS_AT
from tests.crash.test_kills import PATHS, PATIENCE, check, live
from tests.replay import random_trades, write_batches

FREEZES = int(os.environ.get("GINGHAM_FREEZES", "1"))
FIRST = JOINS_AT + 6  # batches that are there when the first driver is frozen
MORE = 3  # batches after it was thawed


def test_freezes(spark: SparkSession, tmp_path: Path):
    seed = int(os.environ.get("GINGHAM_SEED", "0"))
    for number in range(FREEZES):
        _freeze(spark, tmp_path / str(number), 1000 * seed + number)


def _freeze(spark: SparkSession, folder: Path, seed: int) -> None:
    """Freeze a driver in the middle, let another go on, thaw the first, go on once more."""
    rng = random.Random(seed)
    batches = random_trades(np.random.default_rng(seed), FIRST + MORE, 80)
    write_batches(folder / "trades", batches[:FIRST])
    first = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.child", str(folder)],
        env={**os.environ, "PYTHONPATH": PATHS},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # with the JVM in one group
    )
    try:
        _await_entry(folder, first, rng.randint(0, 3))
        time.sleep(rng.uniform(0, 0.4))
        os.killpg(first.pid, signal.SIGSTOP)
        assert not live(folder, ())
        before = _content(folder)
        os.killpg(first.pid, signal.SIGCONT)
        _, said = first.communicate(timeout=PATIENCE)
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
    assert first.returncode == 1, said[-3000:]
    assert "may not write to the checkpoint any more" in said
    assert _content(folder) == before
    if FREEZES > 1:  # another start takes its time
        write_batches(folder / "trades", batches[FIRST:], first=FIRST)
        assert not live(folder, ())
    check(spark, folder, batches if FREEZES > 1 else batches[:FIRST])


def _await_entry(folder: Path, driver: subprocess.Popen[str], number: int) -> None:
    """Wait until the log has an entry of this number."""
    log, until = folder / "checkpoint/streams/trades/log", time.monotonic() + PATIENCE
    while not log.is_dir() or max(map(_number, log.glob("*.arrow")), default=-1) < number:
        assert driver.poll() is None, "it ended before it could be frozen"
        assert time.monotonic() < until
        time.sleep(0.02)


def _number(entry: Path) -> int:
    return -1 if entry.name.startswith("_") else int(entry.stem)


def _content(folder: Path) -> dict[str, bytes]:
    """All files that Gingham writes, but for those that were never completed."""
    files = [f for part in ("checkpoint", "answers") for f in (folder / part).rglob("*")]
    return {
        str(f): f.read_bytes()
        for f in files
        if f.is_file() and not f.name.startswith((".", "_")) and "source" not in f.parts
    }
