"""What runs of a workload: the streams of its queries, and those of its sketches, as one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gingham.core.errors import GinghamError
from gingham.stream.progress import BatchProgress, StreamProgress
from gingham.stream.running import Running


@dataclass(frozen=True, slots=True)
class RunningParts:
    """The streams of exact queries and of sketches that were started together; one may be None."""

    exact: Running | None
    sketches: Running | None

    @property
    def is_one_stream(self) -> bool:
        """Whether there is a single stream, which needs no name before its progress."""
        return sum(len(running.streaming) for _, running in self._labelled) == 1

    def await_termination(self, seconds: float) -> bool:
        """Wait for the end of all streams for at most so long; raises the error of any of them."""
        running = [part for _, part in self._labelled]
        ended = [part.await_termination(seconds / len(running)) for part in running]
        return all(ended)

    def listen(self, listener: Callable[[BatchProgress], None]) -> None:
        """Call a function with every micro-batch from now on, of streams by their labels."""
        for label, running in self._labelled:
            running.listen(lambda b, label=label: listener(replace(b, stream=label + b.stream)))

    def progress(self) -> list[StreamProgress]:
        """What each stream has done, under its label."""
        return [
            replace(progress, stream=label + progress.stream)
            for label, running in self._labelled
            for progress in running.progress().values()
        ]

    def failed(self) -> Mapping[str, GinghamError]:
        """Why queries and sketches have no answer for some window, by name."""
        return {name: why for _, part in self._labelled for name, why in part.failed().items()}

    def is_busy(self) -> bool:
        """Whether some stream is in the middle of a micro-batch."""
        return any(
            query.isActive and query.status["isTriggerActive"]
            for _, running in self._labelled
            for query in running.streaming.values()
        )

    def stop(self) -> None:
        """Stop all streams after the micro-batches that are being processed."""
        for _, running in self._labelled:
            running.stop()

    @property
    def _labelled(self) -> list[tuple[str, Running]]:
        """What runs, and what stands before the names of its streams: both may read the same."""
        parts = (("", self.exact), ("sketches of ", self.sketches))
        return [(label, running) for label, running in parts if running is not None]
