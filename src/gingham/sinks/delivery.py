"""Answers to sinks: tried, tried again, and saved for later if a sink fails.

A sink that fails for one query holds up the others for `patience` seconds a batch at most. Its
answers are saved in the checkpoint; every later batch, and `redeliver` between batches, tries to
deliver them, in order. The sink is called in a thread of its own, so that one that hangs holds up
nothing but deliveries, and can be abandoned. The log names the saved answers that wait; files are
deleted once the log does not name them any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pyspark.sql import DataFrame

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.core.errors import CheckpointError
from gingham.core.file_names import file_name, name_of
from gingham.sinks.answer import Answer, StoredAnswer, load_answer
from gingham.sinks.courier import Courier
from gingham.sinks.sink import Sink

PATIENCE = 2.0  # seconds for all repeated attempts of one batch
_FIRST_PAUSE = 0.05


class _Saved(NamedTuple):
    """A saved answer: the number of its delivery, and its file."""

    number: int
    file: str


class Delivery:
    """Delivers every answer to the sink once, or under a number that makes repeating harmless."""

    def __init__(self, sink: Sink, files: Files, lease: Lease, patience: float = PATIENCE) -> None:
        self._sink = sink
        self._patience = patience
        self._lease = lease
        self._courier = Courier()
        self._saved = files.within("pending")
        self._folders = files.within("answers")
        self._lock = threading.Lock()  # of what follows: other threads may ask what waits
        self._waiting: dict[str, list[_Saved]] = {}  # in order, by query
        self._errors: dict[str, BaseException] = {}  # why the sink refused a query's answers
        self._current: str | None = None  # the query whose answer the sink has at this moment
        self._settled: Collection[str] | None = None  # saved answers when files were last deleted

    @property
    def waiting(self) -> Mapping[str, int]:
        """How many saved answers of each query wait for the sink to take them."""
        with self._lock:
            return {name: len(saved) for name, saved in self._waiting.items()}

    @property
    def pending(self) -> list[str]:
        """The files of all saved answers that wait, for the log."""
        with self._lock:
            return sorted(saved.file for each in self._waiting.values() for saved in each)

    def restore(self, pending: Iterable[str]) -> None:
        """Let these saved answers wait after a restart; raise if one cannot be read."""
        self._waiting.clear()
        for file in pending:
            load_answer(self._saved, file, self._folders)
            query, number, _ = file.rsplit(".", 2)
            self._waiting.setdefault(name_of(query), []).append(_Saved(int(number), file))
        for each in self._waiting.values():
            each.sort()

    @property
    def errors(self) -> Mapping[str, BaseException]:
        """Why the answers of queries wait: what the sink raised last, in this process."""
        with self._lock:
            return dict(self._errors)

    @property
    def current(self) -> str | None:
        """The query whose answer the sink is taking at this moment; None if there is none."""
        return self._current

    def deliver(
        self, answers: Mapping[str, Answer], number: int
    ) -> Mapping[str, BaseException | None]:
        """Deliver new answers to the sink, then saved ones; those it refuses are saved.

        Gives the queries of `answers` whose answer waits now, and what the sink raised.
        """
        if not answers and not self.waiting:
            return {}
        return self._courier.run(partial(self._deliver, answers, number))

    def redeliver(self) -> bool:
        """Try to deliver saved answers for a moment; gives whether the sink took one."""
        if not self.waiting:
            return False
        return self._courier.run(
            lambda: self._deliver_waiting(tuple(self._waiting), time.monotonic() + self._patience)
        )

    def abandon(self) -> None:
        """Leave a sink behind that does not return: nothing more is delivered or marked so."""
        self._courier.abandon()

    def settle(self, pending: Collection[str]) -> None:
        """Delete what does not wait any more, now that the log names these saved answers only."""
        if pending == self._settled:
            return
        self._lease.check()
        self._settled = pending
        for file in self._saved.names():
            if file not in pending:
                self._saved.delete(file)
        for folder in self._folders.folders():
            if folder not in pending:
                self._folders.delete_folder(folder)

    def store(self, number: int, name: str, answer: DataFrame) -> StoredAnswer:
        """Let executors write an answer too large for the driver, to be delivered next."""
        return StoredAnswer.written(self._folders, self._file(name, number), answer)

    def forget(self, name: str) -> None:
        """Drop the answers of a removed query that wait for the sink."""
        self._courier.run(partial(self._forget, name))

    def _deliver(
        self, answers: Mapping[str, Answer], number: int
    ) -> Mapping[str, BaseException | None]:
        """Deliver answers in the courier's thread, as `deliver` does."""
        until, waited = time.monotonic() + self._patience, tuple(self._waiting)
        for name, answer in answers.items():
            if name in self._waiting:
                # In order: behind those that wait already.
                self._save_for_later(name, answer, number)
            elif (error := self._try_to_deliver(name, answer, number, until)) is None:
                answer.discard()
            else:
                self._save_for_later(name, answer, number, error)
        self._deliver_waiting(waited, until)
        waiting, errors = self.waiting, self.errors
        return {name: errors.get(name) for name in answers if name in waiting}

    def _forget(self, name: str) -> None:
        """Drop saved answers in the courier's thread, as `forget` does."""
        with self._lock:
            self._waiting.pop(name, None)
            self._errors.pop(name, None)

    def _try_to_deliver(
        self, name: str, answer: Answer, number: int, until: float
    ) -> BaseException | None:
        """Give an answer to the sink, again and again until a deadline; gives the last error."""
        pause = _FIRST_PAUSE
        while True:
            self._lease.check_sometimes()
            self._current = name
            try:
                self._sink.deliver(name, answer, number)
            except BaseException as error:  # noqa: BLE001  a sink is the user's code
                failed: BaseException | None = error
            else:
                failed = None
            # Not cleared before: it tells whose delivery was abandoned.
            self._courier.refuse_abandoned()
            self._current = None
            if failed is None or time.monotonic() + pause > until:
                return failed
            time.sleep(pause)
            pause *= 2

    def _deliver_waiting(self, names: Sequence[str], until: float) -> bool:
        """Deliver saved answers up to a deadline, at least one; gives whether any was taken."""
        delivered = False
        for name in names:
            while self._waiting.get(name):
                error = self._deliver_oldest(name)
                delivered |= error is None
                if time.monotonic() > until:
                    return delivered
                if error is not None:
                    break
        return delivered

    def _deliver_oldest(self, name: str) -> BaseException | None:
        """Deliver the oldest saved answer of a query; gives what went wrong."""
        number, file = self._waiting[name][0]
        try:
            answer = load_answer(self._saved, file, self._folders)
            error = self._try_to_deliver(name, answer, number, until=0)
        except (CheckpointError, OSError) as unreadable:
            # It waits, and is told: the other queries have nothing to do with it.
            error = unreadable
        with self._lock:
            saved = self._waiting.pop(name)
            if error is None:
                saved.pop(0)
                self._errors.pop(name, None)
            else:
                self._errors[name] = error
            if saved:
                # At the end: after a failure it is the others' turn.
                self._waiting[name] = saved
        return error

    def _save_for_later(
        self, name: str, answer: Answer, number: int, error: BaseException | None = None
    ) -> None:
        """Save an answer that the sink refused, or that comes after one, to deliver it later."""
        self._lease.check_sometimes()
        saved = _Saved(number, self._file(name, number))
        answer.save(self._saved, saved.file)
        with self._lock:
            waiting = self._waiting.setdefault(name, [])
            if saved not in waiting:
                waiting.append(saved)
            if error is not None:
                self._errors[name] = error

    def _file(self, name: str, number: int) -> str:
        """The file name of a saved answer: its query, the number of the delivery, the term."""
        # No two processes write the same file.
        return f"{file_name(name)}.{number}.{self._lease.term}"
