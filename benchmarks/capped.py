"""Work that has a limit in seconds: what takes longer is stopped, so that a benchmark ends."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pyspark import InheritableThread
from pyspark.sql import SparkSession

T = TypeVar("T")

SETTLING = 60.0  # seconds that tasks may take to end once they were told to


class _Stopped(BaseException):  # no Exception: nothing must take it for a failing query
    """Raised within work that takes too long."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What work returned, or why it did not, and the seconds that it took."""

    seconds: float
    result: T | None = None
    capped: bool = False  # it was stopped after so many seconds
    skipped: bool = False  # it was not begun: what was stopped before still runs
    error: str = ""  # the first line of what it raised


class CappedRuns:
    """Runs one piece of work after the other, each for at most `cap` seconds.

    A task of Spark that was told to stop may go on, say within a regular expression, and takes a
    core away from whatever is measured next. So the next work waits until no task runs.
    """

    def __init__(self, spark: SparkSession, cap: float) -> None:
        self.spark = spark
        self.cap = cap
        self._may_be_busy = False

    def run(
        self,
        work: Callable[[], T],
        *,
        cap: float | None = None,
        interrupt: Callable[[], object] = int,
    ) -> Done[T]:
        """Run work, and stop it after the cap; `interrupt` stops what is no Spark job."""
        if self._may_be_busy and not self._is_settled():
            return Done(0.0, skipped=True, error="not measured: what was stopped before runs on")
        self._may_be_busy = False
        results: list[T] = []
        errors: list[BaseException] = []

        def call() -> None:
            try:
                self.spark.sparkContext.setInterruptOnCancel(True)
                results.append(work())
            except BaseException as error:  # noqa: BLE001  (all of it is told to the caller)
                errors.append(error)

        start = time.perf_counter()
        thread = _started(call)
        thread.join(cap or self.cap)
        seconds = time.perf_counter() - start
        if thread.is_alive():
            self._may_be_busy = True
            self._stop(thread, interrupt)
            return Done(seconds, capped=True)
        if errors:
            return Done(seconds, error=_first_line(errors[0]))
        return Done(seconds, results[0])

    def _stop(self, thread: InheritableThread, interrupt: Callable[[], object]) -> None:
        """Stop a thread: raise in its Python code, and cancel what that waits for."""
        # Raised before jobs are cancelled: else the work would see a job that failed. And raised
        # once: a second time it might come in the middle of what restores settings.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Stopped)
        )
        until = time.monotonic() + SETTLING
        while thread.is_alive() and time.monotonic() < until:
            self.spark.sparkContext.cancelAllJobs()
            interrupt()
            thread.join(1.0)

    def _is_settled(self) -> bool:
        """Wait for a while until no task runs any more; whether that came true."""
        # Tasks that were told to stop are counted until they do so.
        context: Any = self.spark.sparkContext
        tracker = context._jsc.sc().statusTracker()  # noqa: SLF001  (PySpark does not have it)
        until = time.monotonic() + SETTLING
        while any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
            if time.monotonic() > until:
                return False
            time.sleep(0.2)
        return True


def _started(work: Callable[[], object]) -> InheritableThread:
    # In a thread of its own: a call of the JVM cannot be interrupted in the middle, but left.
    thread = InheritableThread(target=work, daemon=True)
    thread.start()
    return thread


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"
