"""Event time of a stream: the watermark, and which windows it closes."""

from __future__ import annotations

from dataclasses import dataclass

from gingham.core.errors import CatalogError
from gingham.core.time import NEVER, parse_duration
from gingham.finals.frames import Due
from gingham.logical.window import Window
from gingham.session.sources import StreamSource


@dataclass(frozen=True, slots=True)
class Marks:
    """How far a stream has come: its watermark and latest event time, in microseconds."""

    watermark: int = NEVER  # no row before it is expected any more
    latest: int = NEVER  # the latest event time that was seen

    def seen(self, latest: int, delay: int) -> Marks:
        """The marks after a micro-batch with rows up to `latest`; a watermark never goes back."""
        if latest == NEVER:
            return self
        return Marks(max(self.watermark, latest - delay), max(self.latest, latest))


@dataclass(frozen=True, slots=True)
class Timing:
    """When the windows of a stream are answered: once, early, or again for late rows."""

    delay: int  # how much later than the latest row a row may come
    lateness: int = 0  # how much later it may come still, and correct windows that were answered
    early: bool = False  # answer windows that are still open, whenever they change

    def due(self, before: Marks, after: Marks, born: int) -> Due:
        """Which windows of a query are due after a micro-batch that moved the marks."""
        watched = self.early or self.lateness > 0
        opened = before.watermark - self.lateness if watched else None
        return Due(before.watermark, after.watermark, born, opened, early=self.early)

    def floor(self, window: Window, after: Marks, born: int) -> int:
        """The start of the first window that is not yet answered for good: older shards can go."""
        if after.watermark == NEVER:
            return NEVER
        beyond = after.watermark - self.lateness - window.range
        first = window.start + ((beyond - window.start) // window.slide + 1) * window.slide
        return max(first, born)


def may_close(window: Window, due: Due) -> bool:
    """Whether any window ends while the watermark moves over it, whatever it holds."""
    if due.closes == due.closed:
        return False
    if due.closed == NEVER:
        return True
    first = window.start + window.range
    return (due.closes - first) // window.slide > (due.closed - first) // window.slide


def timing_of(source: StreamSource, output_mode: str, lateness: str) -> Timing:
    """When windows of a stream are answered, from the options of `start`; raises if never."""
    name = source.info.name
    if not source.rows.isStreaming:
        raise CatalogError(f"{name} is a static DataFrame", "its rows are all there", "loom.run()")
    if source.watermark is None:
        raise CatalogError.no_watermark(name)
    if output_mode not in ("append", "update"):
        raise CatalogError(
            f"output mode {output_mode!r}", "it is none that Gingham knows", "append or update"
        )
    delay, late = parse_duration(source.watermark), parse_duration(lateness)
    return Timing(delay, late, early=output_mode == "update")
