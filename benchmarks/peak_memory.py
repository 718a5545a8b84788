"""The peak of this process's memory."""

import re
import resource
from pathlib import Path


def peak_megabytes() -> float:
    """The most memory that this process ever had, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage: a child starts with its parent's peak there.
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
