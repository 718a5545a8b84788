"""The peak of this process's memory, and of the processes that it started."""

from __future__ import annotations

import re
import resource
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")
_SELF = _PROCESSES / "self"
_EVERY = 0.2  # seconds


def peak_megabytes() -> float:
    """The most memory that this process had since its start or `forget_peak`, in megabytes."""
    status = _SELF / "status"
    if status.exists():
        # Not getrusage: a child starts with its parent's peak there.
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def forget_peak() -> None:
    """Begin a new peak with the memory that this process has now, where the system can do so."""
    clear = _SELF / "clear_refs"
    if clear.exists():
        clear.write_text("5")


@dataclass(slots=True)
class Peaks:
    """The most megabytes of Spark's JVM, and of all its Python workers together."""

    jvm: float = 0.0
    workers: float = 0.0

    def see(self) -> None:
        """Look at the processes that there are now."""
        jvm = workers = 0.0
        for process in _descendants():
            megabytes, name = _share(process)
            if name == "java":
                jvm += megabytes
            elif name.startswith(("python", "pyspark")):
                workers += megabytes
        self.jvm, self.workers = max(self.jvm, jvm), max(self.workers, workers)


@contextmanager
def watched_peaks() -> Generator[Peaks]:
    """Watch the memory of Spark's processes for as long as something runs.

    They are looked at five times a second, so a shorter peak may be missed.
    """
    peaks, done = Peaks(), threading.Event()

    def watch() -> None:
        while not done.wait(_EVERY):
            peaks.see()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        done.set()
        thread.join()


def _descendants() -> Iterator[Path]:
    """The processes that this one started, and those that these started."""
    waiting = [_SELF]
    while waiting:
        for task in (waiting.pop() / "task").glob("*/children"):
            try:
                children = [_PROCESSES / number for number in task.read_text().split()]
            except OSError:  # it has ended
                continue
            yield from children
            waiting += children


def _share(process: Path) -> tuple[float, str]:
    """The megabytes of a process, what it shares with others counted in part; and its name."""
    try:
        name = (process / "comm").read_text().strip()
        found = re.search(r"Pss:\s+(\d+) kB", (process / "smaps_rollup").read_text())
    except OSError:
        return 0.0, ""
    return (int(found[1]) / 1024 if found else 0.0), name
