"""The peak of this process's memory."""

import re
import resource
from pathlib import Path

_PROCESS = Path("/proc/self")


def peak_megabytes() -> float:
    """The most memory that this process had since its start or `forget_peak`, in megabytes."""
    status = _PROCESS / "status"
    if status.exists():
        # Not getrusage: a child starts with its parent's peak there.
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def forget_peak() -> None:
    """Begin a new peak with the memory that this process has now, where the system can do so."""
    clear = _PROCESS / "clear_refs"
    if clear.exists():
        clear.write_text("5")
