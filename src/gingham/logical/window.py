"""Windows: half-open spans of event time, or of positions of rows, that repeat with a slide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gingham.algebra.edges import ResidueClass
from gingham.core.arrays import Ints
from gingham.core.errors import QueryError
from gingham.core.time import CENTURY, format_duration

MOST_WINDOWS_OF_A_ROW = 100_000  # a day of windows that start every second has 86,400


@dataclass(frozen=True, slots=True)
class Clock:
    """What windows are measured in: event time, or rows, of the whole stream or of each key.

    By time an instant is a microsecond; by rows it is the position of a row: how many rows of the
    stream come before it, or how many with the same values in the columns `per`, given as SQL.

    >>> str(Clock()), str(Clock(by_rows=True)), str(Clock(by_rows=True, per=("symbol",)))
    ('time', 'rows', 'rows per symbol')
    """

    by_rows: bool = False
    per: tuple[str, ...] = ()

    def length(self, instants: int) -> str:
        """A length on this clock as text.

        >>> EVENT_TIME.length(720_000_000), Clock(by_rows=True).length(100)
        ('12 min', '100 rows')
        """
        return f"{instants:,} rows" if self.by_rows else format_duration(instants)

    def __str__(self) -> str:
        if not self.by_rows:
            return "time"
        return f"rows per {', '.join(self.per)}" if self.per else "rows"


EVENT_TIME = Clock()


@dataclass(frozen=True, slots=True)
class Window:
    """Spans [start + k * slide, start + k * slide + range) for every integer k, on a clock.

    >>> ten_every_four = Window.starting_at(10, 4)       # [0---------10) [4---------14)
    >>> ten_every_four.classes
    ((4, 0), (4, 2))
    >>> Window.ending_at(10, 4).classes                  # [-2---------8) [2---------12)
    ((4, 0), (4, 2))
    >>> ten_every_four.starts_meeting(12, 15).tolist()
    [4, 8, 12]
    """

    range: int
    slide: int
    start: int = 0
    clock: Clock = EVENT_TIME

    def __post_init__(self) -> None:
        text = self.clock.length
        for what, length in (("range", self.range), ("slide", self.slide)):
            if length <= 0:
                raise QueryError(
                    f"a window with {what} {text(length)}",
                    f"the {what} of a window must be longer than nothing",
                    "for example [ROWS 1000 SLIDE 100]"
                    if self.clock.by_rows
                    else "for example window(ts, '10 minutes', '5 minutes')",
                )
            if length > CENTURY:
                raise QueryError(
                    f"a window with {what} {text(length)}",
                    f"the {what} of a window is at most {text(CENTURY)}"
                    if self.clock.by_rows
                    else f"the {what} of a window is at most a century: instants end soon after "
                    "that",
                    "fewer rows" if self.clock.by_rows else "for example window(ts, '365 days')",
                )
        if self.range > MOST_WINDOWS_OF_A_ROW * self.slide:
            raise QueryError(
                f"a window with range {text(self.range)} and slide {text(self.slide)}",
                f"every row would be in {self.range // self.slide:,} windows, each with an answer; "
                f"{MOST_WINDOWS_OF_A_ROW:,} are allowed",
                f"a slide of {text(-(-self.range // MOST_WINDOWS_OF_A_ROW))} or more",
            )

    @classmethod
    def starting_at(cls, range_: int, slide: int, offset: int = 0) -> Window:
        """The windows that start at multiples of the slide plus the offset, as Spark's do."""
        return cls(range_, slide, offset % slide if slide > 0 else 0)

    @classmethod
    def ending_at(cls, range_: int, slide: int, clock: Clock = EVENT_TIME) -> Window:
        """The windows that end at multiples of the slide."""
        return cls(range_, slide, -range_ % slide if slide > 0 else 0, clock)

    @property
    def classes(self) -> tuple[ResidueClass, ...]:
        """The edges of the windows, as one or two residue classes modulo the slide."""
        residues = {self.start, (self.start + self.range) % self.slide}
        return tuple((self.slide, residue) for residue in sorted(residues))

    def starts_meeting(self, low: int, high: int) -> Ints:
        """The starts of all windows that contain some instant t with low <= t < high."""
        first = (low - self.range - self.start) // self.slide + 1
        last = (high - 1 - self.start) // self.slide
        return self.start + self.slide * np.arange(first, last + 1, dtype=np.int64)

    def __str__(self) -> str:
        length = self.clock.length
        text = f"range {length(self.range)} slide {length(self.slide)}"
        return f"{text} from {length(self.start)}" if self.start else text
