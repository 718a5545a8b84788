"""Sinks that refuse, raise anything, hang and heal: what was answered is delivered in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from gingham import Answer, CheckpointError, Sink, SinkError
from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.sinks.answer import LocalAnswer
from gingham.sinks.delivery import Delivery

ROWS = pa.table({"n": pa.array([1, 2], pa.int64())})
ANSWER = LocalAnswer(ROWS)


def delivery_to(
    sink: Sink, files: Files, patience: float = 2.0, pending: Iterable[str] = ()
) -> Delivery:
    """A delivery that goes on with the saved answers of an earlier one."""
    delivery = Delivery(sink, files, Lease.take(files.within("lease")), patience)
    delivery.restore(pending)
    return delivery


class Picky:
    """A sink of a user's: it refuses some queries, and keeps what it takes."""

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)
        self.taken: list[tuple[str, int]] = []
        self.asked: list[str] = []
        self.slow = 0.0
        self.error: Callable[[], BaseException] = lambda: OSError("full")

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        self.asked.append(name)
        time.sleep(self.slow)
        if name in self.refused:
            raise self.error()
        assert answer.num_rows
        self.taken.append((name, number))


def test_answers_that_a_sink_refused_are_delivered_in_order_after_a_restart(tmp_path: Path):
    files, sink = Files(str(tmp_path)), Picky("q")
    assert isinstance(sink, Sink)
    delivery = delivery_to(sink, files, patience=0)
    for number in (3, 12):
        assert set(delivery.deliver({"q": ANSWER}, number)) == {"q"}
    sink.refused.clear()
    again = delivery_to(sink, files, pending=delivery.pending)
    assert again.waiting == {"q": 2}
    assert not again.deliver({"q": ANSWER}, 13)
    assert sink.taken == [("q", 3), ("q", 12), ("q", 13)]
    assert not again.waiting


def test_answers_that_wait_are_delivered_without_a_new_one(tmp_path: Path):
    sink = Picky("q")
    delivery = delivery_to(sink, Files(str(tmp_path)), patience=0.1)
    delivery.deliver({"q": ANSWER}, 1)
    assert not delivery.redeliver()
    assert str(delivery.errors["q"]) == "full"
    sink.refused.clear()
    assert delivery.redeliver()
    assert sink.taken == [("q", 1)]
    assert not delivery.errors
    assert not delivery.waiting


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, OSError])
def test_whatever_a_sink_raises_the_answer_waits(tmp_path: Path, error: type[BaseException]):
    sink = Picky("q")
    sink.error = error
    delivery = delivery_to(sink, Files(str(tmp_path)), patience=0)
    found = delivery.deliver({"q": ANSWER, "healthy": ANSWER}, 1)
    assert [type(e) for e in found.values()] == [error]
    assert delivery.waiting == {"q": 1}
    assert sink.taken == [("healthy", 1)]


def test_many_slow_failures_hold_up_a_batch_no_longer_than_its_patience(tmp_path: Path):
    names = [f"q{i}" for i in range(20)]
    sink = Picky(*names)
    delivery = delivery_to(sink, Files(str(tmp_path)), patience=0)
    delivery.deliver(dict.fromkeys(names, ANSWER), 1)
    sink.slow, before = 0.01, len(sink.asked)
    delivery.deliver({"healthy": ANSWER}, 2)
    # The healthy one comes first; of those that wait one is tried, then time is over.
    assert sink.asked[before] == "healthy"
    assert len(sink.asked) == before + 2
    for _ in range(19):
        delivery.redeliver()
    # All had their turn.
    assert set(sink.asked[before + 1 :]) == set(names)


class Hanging:
    """A sink that does not return until it is released."""

    def __init__(self) -> None:
        self.called, self.released = threading.Event(), threading.Event()

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        assert (name, answer.num_rows, number) == ("q", 2, 1)
        self.called.set()
        self.released.wait(30)


def test_a_sink_that_hangs_can_be_left_behind_and_what_it_had_is_not_delivered(tmp_path: Path):
    sink, raised = Hanging(), list[BaseException]()
    delivery = delivery_to(sink, Files(str(tmp_path)))

    def deliver() -> None:
        try:
            delivery.deliver({"q": ANSWER}, 1)
        except SinkError as error:
            raised.append(error)

    thread = threading.Thread(target=deliver, daemon=True)
    thread.start()
    assert sink.called.wait(10)
    assert delivery.current == "q"
    assert not delivery.waiting  # can be asked meanwhile
    delivery.abandon()
    thread.join(10)
    assert len(raised) == 1
    sink.released.set()
    with pytest.raises(SinkError, match="abandoned"):
        delivery.deliver({"q": ANSWER}, 2)


def test_an_abandoned_delivery_that_returns_late_writes_nothing(tmp_path: Path):
    files, sink = Files(str(tmp_path)), Picky("q")
    delivery = delivery_to(sink, files, patience=0)
    delivery.deliver({"q": ANSWER}, 1)
    hanging = Hanging()
    delivery._sink = hanging

    def redeliver() -> None:
        with pytest.raises(SinkError):
            delivery.redeliver()

    thread = threading.Thread(target=redeliver)
    thread.start()
    assert hanging.called.wait(10)
    delivery.abandon()
    thread.join(10)
    hanging.released.set()
    time.sleep(0.1)
    assert delivery_to(sink, files, pending=delivery.pending).waiting == {"q": 1}


def test_a_damaged_answer_waits_and_does_not_hold_up_other_queries(tmp_path: Path):
    files, sink = Files(str(tmp_path)), Picky("q", "other")
    delivery = delivery_to(sink, files, patience=0.2)
    delivery.deliver({"q": ANSWER, "other": ANSWER}, 1)
    sink.refused.clear()
    damaged = next(f for f in (tmp_path / "pending").iterdir() if "other" not in f.name)
    damaged.write_bytes(damaged.read_bytes()[:-8])
    with pytest.raises(CheckpointError, match="cannot be read"):
        delivery_to(sink, files, pending=delivery.pending)
    assert not delivery.deliver({"third": ANSWER}, 2)
    assert sink.taken == [("third", 2), ("other", 1)]
    assert delivery.waiting == {"q": 1}
    assert "cannot be read" in str(delivery.errors["q"])
    delivery.forget("q")
    assert not delivery.waiting
