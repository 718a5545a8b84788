"""A limit for what must not hang: it raises where the code is, so that the trace shows it."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def deadline(seconds: float) -> Generator[None]:
    """Raise a TimeoutError in what takes longer than this."""

    def ring(_number: int, _frame: object) -> None:
        raise TimeoutError(f"longer than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
