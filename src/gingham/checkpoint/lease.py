"""The lease of a checkpoint: which process may write to it.

Every start takes the next term, a number that is written once. Before it writes, a process looks
whether its term is still the newest. One that was frozen while another took over stops there.
Between the look and the write it may be frozen, too: so entries of the log are written once.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import sealed_json
from gingham.core.errors import CheckpointError

_FRESH = 0.2  # seconds for which a look at the lease is good enough between two deliveries
# Where there is one, the clock that goes on while the machine sleeps.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass
class Lease:
    """The right to write to a checkpoint, until another start takes the next term."""

    files: Files
    term: int
    _looked: float = field(default=float("-inf"), repr=False)

    @classmethod
    def take(cls, files: Files) -> Lease:
        """Take the next term; from now on the holder of the one before cannot write any more."""
        while True:
            terms = _terms(files)
            term = terms[-1] + 1 if terms else 1
            if files.create(_file(term), sealed_json({"term": term, "process": os.getpid()})):
                break
        for old in terms[:-1]:
            files.delete(_file(old))
        return cls(files, term)

    def check(self) -> None:
        """Raise if another start has taken over, or if that cannot be told."""
        looked = time.clock_gettime(_CLOCK)
        if not self.is_held:
            raise self.lost()
        self._looked = looked

    def check_sometimes(self) -> None:
        """Raise if another start has taken over; a look a moment ago is good enough."""
        if time.clock_gettime(_CLOCK) - self._looked > _FRESH:
            self.check()

    @property
    def is_held(self) -> bool:
        """Whether no other start has taken over."""
        return _terms(self.files)[-1:] == [self.term]

    def lost(self) -> CheckpointError:
        """The error of a process that may not write to the checkpoint any more."""
        newest = max(_terms(self.files), default=0)
        if newest > self.term:
            why = f"this is start {self.term} of the checkpoint, and start {newest} has taken over"
        elif newest == self.term:
            why = f"start {self.term}, which this is, was overtaken by a write of an earlier one"
        else:
            why = f"the file of start {self.term}, which this is, is gone"
        return CheckpointError(
            f"this process may not write to the checkpoint any more ({self.files.root})",
            why,
            "one process for each checkpoint: the start that came last goes on, or start again",
        )


def _terms(files: Files) -> list[int]:
    """The terms that were taken, oldest first; only the newest ones are kept."""
    return [int(name.partition(".")[0]) for name in files.names()]


def _file(term: int) -> str:
    """The name of the file that says that a term is taken."""
    return f"{term:012d}.json"
