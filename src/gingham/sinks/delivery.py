"""Answers to sinks: tried, tried again, and saved for later if a sink fails.

A sink that fails for one query holds up the others for `patience` seconds a batch at most. Its
answers are saved in the checkpoint, and every later batch tries to deliver them, in order.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from pyspark.sql import DataFrame

from gingham.checkpoint.files import Files
from gingham.checkpoint.registry import file_name, name_of
from gingham.sinks.answer import Answer, StoredAnswer, load_answer
from gingham.sinks.sink import Sink

PATIENCE = 2.0  # seconds for all repeated attempts of one batch
_FIRST_PAUSE = 0.05


class Delivery:
    """Delivers every answer to the sink once, or under a number that makes repeating harmless."""

    def __init__(self, sink: Sink, files: Files, patience: float = PATIENCE) -> None:
        self._sink = sink
        self._patience = patience
        self._saved = files.within("pending")
        self._folders = files.within("answers")
        self._waiting: dict[str, list[int]] = {}  # numbers of saved answers, by query
        for file in self._saved.names():
            query, _, number = file.rpartition(".")
            self._waiting.setdefault(name_of(query), []).append(int(number))
        for numbers in self._waiting.values():
            numbers.sort()

    @property
    def waiting(self) -> Mapping[str, int]:
        """How many saved answers of each query wait for the sink to take them."""
        return {name: len(numbers) for name, numbers in self._waiting.items()}

    def deliver(self, answers: Mapping[str, Answer], number: int) -> dict[str, Exception]:
        """Deliver saved answers to the sink, then new ones; those it refuses are saved."""
        until = time.monotonic() + self._patience
        failed: dict[str, Exception] = {}
        for name in tuple(self._waiting):
            if (error := self._deliver_waiting(name)) is not None:
                failed[name] = error
        for name, answer in answers.items():
            error = failed.get(name) or self._try_to_deliver(name, answer, number, until)
            if error is None:
                answer.discard()
            else:
                failed[name] = error
                self._save_for_later(name, answer, number)
        return failed

    def store(self, number: int, name: str, answer: DataFrame) -> StoredAnswer:
        """Let executors write an answer too large for the driver, to be delivered next."""
        return StoredAnswer.written(self._folders, _saved_file(name, number), answer)

    def forget(self, name: str) -> None:
        """Drop the answers of a removed query that wait for the sink."""
        for number in self._waiting.pop(name, []):
            self._drop_saved(name, number, self._load_saved(name, number))

    def _load_saved(self, name: str, number: int) -> Answer:
        """Read a saved answer that waits for the sink."""
        return load_answer(self._saved, _saved_file(name, number), self._folders)

    def _drop_saved(self, name: str, number: int, answer: Answer) -> None:
        """Delete a saved answer that the sink has taken, or that is not wanted any more."""
        self._saved.delete(_saved_file(name, number))
        answer.discard()

    def _try_to_deliver(
        self, name: str, answer: Answer, number: int, until: float
    ) -> Exception | None:
        """Give an answer to the sink, again and again until a deadline; gives the last error."""
        pause = _FIRST_PAUSE
        while True:
            try:
                self._sink.deliver(name, answer, number)
            except Exception as error:  # noqa: BLE001  a sink is the user's code
                if time.monotonic() + pause > until:
                    return error
                time.sleep(pause)
                pause *= 2
            else:
                return None

    def _deliver_waiting(self, name: str) -> Exception | None:
        """Deliver the saved answers of a query in order, up to the first that fails."""
        numbers = self._waiting[name]
        while numbers:
            answer = self._load_saved(name, numbers[0])
            if (error := self._try_to_deliver(name, answer, numbers[0], until=0)) is not None:
                return error
            self._drop_saved(name, numbers.pop(0), answer)
        del self._waiting[name]
        return None

    def _save_for_later(self, name: str, answer: Answer, number: int) -> None:
        """Save an answer that the sink refused, for later batches to deliver."""
        answer.save(self._saved, _saved_file(name, number))
        numbers = self._waiting.setdefault(name, [])
        if number not in numbers:
            numbers.append(number)


def _saved_file(name: str, number: int) -> str:
    """The file name of a saved answer: its query and the number of the delivery."""
    return f"{file_name(name)}.{number}"
