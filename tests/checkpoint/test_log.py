"""A log is read whole or refused, and only the start that came last writes to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log
from gingham.core.errors import CheckpointError

NOTHING = pa.table({"a": [1]})


def opened(folder: Path) -> Log:
    files = Files(str(folder))
    return Log(files, Lease.take(files.within("lease")), "id of the checkpoint")


def about(number: int) -> dict[str, int]:
    return {"number": number}


def grown(folder: Path) -> Log:
    """Entries 0 to 6, all finished, under two plans, with a snapshot after entry 3."""
    log = opened(folder)
    for number in range(7):
        if number in (0, 5):
            log.write_epoch(number, {"plan": number})
        log.append(number, about(number), NOTHING)
        log.finish({"closed": number})
        if number == 3:
            log.snapshot(about(3), NOTHING, [0])
    return log


def read(log: Log) -> list[int]:
    """The numbers of all entries; their plans are read too."""
    numbers: list[int] = []
    for logged in log.recover():
        log.read_epochs()
        assert logged.done is None or logged.done == {"closed": logged.number}
        numbers.append(logged.number)
    return numbers


def test_a_log_goes_on_after_its_last_entry(tmp_path: Path):
    grown(tmp_path)
    log = opened(tmp_path)
    assert read(log) == [3, 4, 5, 6]
    log.append(7, about(7), NOTHING)
    log.finish({"closed": 7})
    assert read(opened(tmp_path)) == [3, 4, 5, 6, 7]


FILES = ["log/*3.arrow", "log/*4.arrow", "log/*6.arrow", "snapshot/*", "epochs/*0-*", "epochs/*5-*"]
DONE = ["done/*3.json", "done/*5.json", "done/*6.json"]


@pytest.mark.parametrize("pattern", [*FILES, *DONE])
@pytest.mark.parametrize(
    "harm",
    [Path.unlink, lambda f: f.write_bytes(f.read_bytes()[:-3]), lambda f: f.write_bytes(b"")],
    ids=["deleted", "cut", "emptied"],
)
def test_a_lost_or_damaged_file_is_noticed_or_not_needed(
    tmp_path: Path, pattern: str, harm: Callable[[Path], object]
):
    grown(tmp_path)
    (file,) = tmp_path.glob(pattern)
    harm(file)
    needless = pattern in ("log/*3.arrow", "done/*3.json", "done/*5.json")  # others know it all
    if needless or (pattern == "done/*6.json" and not file.exists()):
        assert read(opened(tmp_path)) == [3, 4, 5, 6]
    else:
        with pytest.raises(CheckpointError):
            read(opened(tmp_path))


def test_an_entry_of_another_log_is_noticed(tmp_path: Path):
    grown(tmp_path / "a")
    other = opened(tmp_path / "b")
    for number in range(5):
        other.append(number, about(number), pa.table({"b": [2]}))
        other.finish({"closed": number})
    (file,) = (tmp_path / "b/log").glob("*4.arrow")
    (tmp_path / "a/log" / file.name).write_bytes(file.read_bytes())
    with pytest.raises(CheckpointError, match="does not follow"):
        read(opened(tmp_path / "a"))


def test_the_start_that_came_last_writes_and_the_others_stop(tmp_path: Path):
    log = grown(tmp_path)
    log.append(7, about(7), NOTHING)
    later = opened(tmp_path)
    assert read(later) == [3, 4, 5, 6, 7]
    before = sorted(tmp_path.rglob("*"))
    for write in (
        lambda: log.finish({}),
        lambda: log.snapshot(about(7), NOTHING, [5]),
    ):
        with pytest.raises(CheckpointError, match="start 2 has taken over"):
            write()
    assert sorted(tmp_path.rglob("*")) == before
    later.finish({"closed": 7})
    later.append(8, about(8), NOTHING)


def test_in_a_race_the_entry_that_was_written_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log = grown(tmp_path)
    later = opened(tmp_path)
    assert read(later) == [3, 4, 5, 6]
    # The first one looked at the lease before the second took it, and was frozen then.
    with monkeypatch.context() as patch:
        patch.setattr(log.lease, "check", lambda: None)
        log.append(7, about(7), NOTHING)
    with pytest.raises(CheckpointError, match="may not write"):
        later.append(7, about(7), pa.table({"a": [2]}))
    assert read(opened(tmp_path)) == [3, 4, 5, 6, 7]


def test_a_write_may_be_repeated_by_the_start_that_made_it(tmp_path: Path):
    log = grown(tmp_path)
    kept = dict(vars(log))
    log.append(7, about(7), NOTHING)
    vars(log).update(kept)  # it never heard that the write went well
    log.append(7, about(7), NOTHING)


def test_two_processes_do_not_create_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = Files(str(tmp_path)), Files(str(tmp_path))
    monkeypatch.setattr(second, "exists", lambda _: False)  # it looked a moment ago
    assert first.create("x", b"first")
    assert not second.create("x", b"second")
    assert first.read("x") == b"first"
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
