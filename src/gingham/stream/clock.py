"""Event time of a stream: the watermark, and which windows it closes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gingham.core.errors import CatalogError
from gingham.core.time import (
    CENTURY,
    FOREVER,
    LAST_INSTANT,
    NEVER,
    parse_delay,
    parse_duration,
)
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

    def after(self, latest: int, delay: int, watermark: int | None) -> Marks:
        """The marks after a step: a micro-batch, or time that passes up to a `watermark`."""
        marks = self.seen(latest, delay)
        return marks if watermark is None else replace(marks, watermark=watermark)


def last_instant(now: int, latest: int, earliest: int, ahead: int) -> int:
    """The last instant at which a row counts: later ones are too far ahead to be true.

    A row may be `ahead` of the clock on the wall, `now`, and of the latest row of the stream.
    Before any row the earliest row of the first batch is taken for it, if it is less than a century
    ahead: the time of a simulated stream may be in the future from its beginning.
    """
    if latest == NEVER and earliest <= now + CENTURY:
        latest = earliest
    return min(max(now, latest) + ahead, LAST_INSTANT)


@dataclass(frozen=True, slots=True)
class Timing:
    """When the windows of a stream are answered: once, early, or again for late rows."""

    delay: int  # how much later than the latest row a row may come
    lateness: int = 0  # how much later it may come still, and correct windows that were answered
    early: bool = False  # answer windows that are still open, whenever they change
    ahead: int = FOREVER  # how far in the future a row may be

    def to_json(self) -> dict[str, str]:
        """The options of `start` that decide when windows are answered, for the checkpoint."""
        return {
            "watermark": f"{self.delay / 1e6:g} seconds",
            "allowed_lateness": f"{self.lateness / 1e6:g} seconds",
            "output_mode": "update" if self.early else "append",
        }

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
    return Timing(
        delay=parse_duration(source.watermark),
        lateness=parse_delay("allowed_lateness", lateness),
        early=output_mode == "update",
        ahead=source.ahead,
    )


def idle_of(idle: str | None) -> int | None:
    """After how many microseconds without rows a stream is idle; None if it never is."""
    if idle is None:
        return None
    micros = parse_delay("idle", idle)
    if micros == 0:
        raise CatalogError(
            "idle is 0 s", "a stream would be idle between any two batches", 'idle="30 seconds"'
        )
    return micros
