"""Ctrl-C and SIGTERM: noted where they would do harm, and obeyed where they do not.

Spark that is stopped while it starts leaves a Java process behind; a batch that is stopped in its
middle is computed again.
"""

import signal
from types import FrameType, TracebackType
from typing import Any, Self

EXIT_CODE = 128  # of a process that a signal ended, plus the number of the signal


class TerminatedError(BaseException):
    """SIGTERM, raised where the process is; like KeyboardInterrupt no error of any kind."""


def raise_on_sigterm() -> None:
    """Let SIGTERM end the process as Ctrl-C does, so that temporary files are removed."""
    signal.signal(signal.SIGTERM, _terminate)


class StopSignals:
    """Notes the first Ctrl-C or SIGTERM within a `with`; a second one ends the process at once."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def obey(self) -> None:
        """Raise for a signal that was received, as if it came now."""
        if self.received == signal.SIGINT:
            raise KeyboardInterrupt
        if self.received is not None:
            raise TerminatedError

    def _note(self, number: int, _: FrameType | None) -> None:
        """Note a signal; from now on it means what it meant before."""
        self.received = signal.Signals(number)
        self._restore()

    def _restore(self) -> None:
        """Give signals back the meaning that they had before."""
        while self._before:
            signal.signal(*self._before.popitem())


def _terminate(_: int, __: FrameType | None) -> None:
    """Raise for SIGTERM, wherever the process is."""
    raise TerminatedError
