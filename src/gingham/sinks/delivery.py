"""Answers to sinks: tried, tried again, and kept for later if a sink fails.

A sink that fails for one query holds up the others for `PATIENCE` seconds a batch at most. Its
answers are kept in the checkpoint, and every later batch tries to deliver them, in order.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.checkpoint.files import Files
from gingham.checkpoint.registry import file_name, name_of
from gingham.checkpoint.seal import read_table, write_table
from gingham.sinks.answer import Answer, FarAnswer
from gingham.sinks.sinks import Sink

PATIENCE = 2.0  # seconds for all repeated attempts of one batch
_FIRST_PAUSE = 0.05
_FOLDER = "folder"  # where the rows of a far answer are


class Delivery:
    """Delivers every answer once, or often enough that it counts once."""

    def __init__(self, sink: Sink, files: Files) -> None:
        self._sink = sink
        self._files = files.within("pending")
        self._folders = files.within("answers")
        self._waiting: dict[str, list[int]] = {}
        for found in self._files.names():
            name, number = name_of(found.rpartition(".")[0]), int(found.rpartition(".")[2])
            self._waiting.setdefault(name, []).append(number)
        for numbers in self._waiting.values():
            numbers.sort()

    @property
    def waiting(self) -> Mapping[str, int]:
        """How many answers of each query wait for their sink."""
        return {name: len(numbers) for name, numbers in self._waiting.items()}

    def deliver(self, answers: Mapping[str, Answer], number: int) -> dict[str, Exception]:
        """Deliver what waits and what is new; what failed waits on, and the reason is given."""
        until = time.monotonic() + PATIENCE
        failed: dict[str, Exception] = {}
        for name in tuple(self._waiting):
            if (error := self._deliver_waiting(name)) is not None:
                failed[name] = error
        for name, answer in answers.items():
            error = failed.get(name) or self._try(name, answer, number, until)
            if error is not None:
                failed[name] = error
                self._keep(name, answer, number)
            elif isinstance(answer, FarAnswer):
                answer.delete()
        return failed

    def compute(self, number: int, name: str, answer: DataFrame) -> FarAnswer:
        """Write an answer that is too large for the driver, for `deliver` to take."""
        return FarAnswer.written(self._folders, f"{file_name(name)}.{number}", answer)

    def forget(self, name: str) -> None:
        """A query was removed: what waits for its sink is dropped."""
        for number in self._waiting.pop(name, []):
            self._drop(name, number, self._kept(name, number))

    def _kept(self, name: str, number: int) -> Answer:
        table, about = read_table(self._files, _file(name, number))
        return FarAnswer(self._folders, about[_FOLDER]) if _FOLDER in about else table

    def _drop(self, name: str, number: int, answer: Answer) -> None:
        self._files.delete(_file(name, number))
        if isinstance(answer, FarAnswer):
            answer.delete()

    def _try(self, name: str, answer: Answer, number: int, until: float) -> Exception | None:
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
        numbers = self._waiting[name]
        while numbers:
            answer = self._kept(name, numbers[0])
            if (error := self._try(name, answer, numbers[0], until=0)) is not None:
                return error
            self._drop(name, numbers.pop(0), answer)
        del self._waiting[name]
        return None

    def _keep(self, name: str, answer: Answer, number: int) -> None:
        if isinstance(answer, FarAnswer):
            # Its folder is in the checkpoint already.
            write_table(self._files, _file(name, number), pa.table({}), {_FOLDER: answer.folder})
        else:
            write_table(self._files, _file(name, number), answer, {})
        numbers = self._waiting.setdefault(name, [])
        if number not in numbers:
            numbers.append(number)


def _file(name: str, number: int) -> str:
    return f"{file_name(name)}.{number}"
