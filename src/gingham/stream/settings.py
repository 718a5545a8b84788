"""How a running stream keeps house; the defaults suit nearly everyone."""

from __future__ import annotations

from dataclasses import dataclass

from gingham.sinks.delivery import PATIENCE


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How a running stream keeps house: what `start` takes as `settings`."""

    snapshot_every: int = 20  # entries of the log, before a snapshot replaces them
    sink_patience: float = PATIENCE  # seconds that a failing sink may hold up a batch
    rate_batches: int = 16  # batches that the rate of a stream is measured over
    rate_tolerance: float = 2.0  # trees are woven again when the rate changed by this factor
