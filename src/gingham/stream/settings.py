"""How a running stream keeps house; the defaults suit nearly everyone."""

from __future__ import annotations

from dataclasses import dataclass

from gingham.sinks.delivery import PATIENCE


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How a running stream keeps house: what `start` takes as `settings`."""

    snapshot_every: int = 20  # entries of the log, before a snapshot replaces them
    sink_patience: float = PATIENCE  # seconds that a failing sink may hold up a batch
    retry_after: float = 1.0  # seconds until answers that wait are tried again, then twice as long
    retry_at_most: float = 60.0  # and so on, up to these
    end_patience: float = 10.0  # seconds that a stream tries to deliver after its last batch
    stop_patience: float = 10.0  # seconds that `stop` waits for a sink that does not return
    rate_batches: int = 16  # batches that the rate of a stream is measured over
    rate_tolerance: float = 2.0  # trees are woven again when the rate changed by this factor
