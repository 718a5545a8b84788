"""A thread of its own for calls into a sink, so that a sink that hangs can be left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from gingham.core.errors import SinkError

Result = TypeVar("Result")

_IDLE = 30.0  # seconds after which a thread without calls ends; the next call starts another


class Courier:
    """Runs calls one after the other in a daemon thread; a thread that waits for one may give up.

    Once the courier is abandoned, no further call is begun, and all that wait get an error.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._abandoned: Future[Any] = Future()
        self._lock = threading.Lock()
        self._running = False

    @property
    def is_abandoned(self) -> bool:
        """Whether the courier was abandoned: what its last call does is of no interest any more."""
        return self._abandoned.done()

    def abandon(self) -> None:
        """Release all threads that wait for a call, also for one that never returns."""
        with self._lock:
            if not self._abandoned.done():
                self._abandoned.set_result(None)

    def refuse_abandoned(self) -> None:
        """Raise if the courier was abandoned, before anything is written that follows a call."""
        if self.is_abandoned:
            raise SinkError(
                "a delivery was abandoned",
                "its sink had not returned when the streams were stopped",
                "loom.start(...) with the same checkpoint delivers it again, under its number",
            )

    def run(self, call: Callable[[], Result]) -> Result:
        """Run a call in the courier's thread and wait for it; gives its result, or its error."""
        self.refuse_abandoned()
        outcome: Future[Any] = Future()
        with self._lock:
            self._calls.put((call, outcome))
            if not self._running:
                self._running = True
                threading.Thread(target=self._work, name="gingham courier", daemon=True).start()
        wait((outcome, self._abandoned), return_when=FIRST_COMPLETED)
        if not outcome.done():
            self.refuse_abandoned()
        return outcome.result()

    def _work(self) -> None:
        """Run the courier's calls in their order, until there are none for a while."""
        while True:
            try:
                call, outcome = self._calls.get(timeout=_IDLE)
            except Empty:
                with self._lock:
                    if self._calls.empty():
                        self._running = False
                        return
                continue
            try:
                self.refuse_abandoned()
                outcome.set_result(call())
            except BaseException as error:  # noqa: BLE001  a sink may even raise SystemExit
                outcome.set_exception(error)
