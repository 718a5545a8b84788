"""Time as whole microseconds: units, the ends of time, durations parsed and formatted."""

from __future__ import annotations

import re
import time
from fractions import Fraction

from gingham.core.errors import CatalogError, QueryError

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY
CENTURY = 36_525 * DAY

NEVER, FOREVER = -(1 << 62), 1 << 62  # before and after all instants
# The years 2 to 9998, in which rows of streams count: in every time zone such an instant is in one
# of the years 1 to 9999, which Spark and Python know.
FIRST_INSTANT, LAST_INSTANT = -62_104_060_800 * SECOND, 253_370_764_800 * SECOND

_UNITS = {
    **dict.fromkeys(("microsecond", "microseconds", "us"), MICROSECOND),
    **dict.fromkeys(("millisecond", "milliseconds", "ms"), MILLISECOND),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), SECOND),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), MINUTE),
    **dict.fromkeys(("hour", "hours", "h"), HOUR),
    **dict.fromkeys(("day", "days", "d"), DAY),
    **dict.fromkeys(("week", "weeks", "w"), WEEK),
}
_TERM = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*'?\s*([a-zA-Z]+)\s*")


def wall_clock() -> int:
    """The time of the clock on the wall, in microseconds since 1970."""
    return time.time_ns() // 1_000


def parse_duration(text: str) -> int:
    """Parse a duration as users write it, such as '10 minutes', into microseconds.

    >>> parse_duration("12 minutes"), parse_duration("1 hour 30 min"), parse_duration("-2 s")
    (720000000, 5400000000, -2000000)
    """
    body = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE).strip().strip("'").strip()
    total = Fraction(0)
    position = 0
    while position < len(body):
        term = _TERM.match(body, position)
        if term is None or term[2].lower() not in _UNITS:
            raise _unreadable(text, body[position:])
        total += Fraction(term[1]) * _UNITS[term[2].lower()]
        position = term.end()
    if not body or total.denominator != 1:
        raise _unreadable(text, body)
    return int(total)


def parse_delay(what: str, text: str) -> int:
    """Parse an option of a stream that is a length of time: from nothing up to a century.

    >>> parse_delay("the watermark", "10 seconds")
    10000000
    """
    try:
        micros = parse_duration(text)
    except QueryError as error:
        raise CatalogError(f"{what}: {error.what}", error.why, error.instead) from None
    if not 0 <= micros <= CENTURY:
        raise CatalogError(
            f"{what} is {format_duration(micros)}",
            "it is a length of time, not less than nothing and not more than a century",
            "for example '10 seconds'",
        )
    return micros


def format_duration(micros: int) -> str:
    """Format a duration in microseconds in its largest exact unit.

    >>> format_duration(720_000_000), format_duration(0), format_duration(1_500_000)
    ('12 min', '0 s', '1500 ms')
    """
    for unit, name in (
        (DAY, "d"),
        (HOUR, "h"),
        (MINUTE, "min"),
        (SECOND, "s"),
        (MILLISECOND, "ms"),
    ):
        if micros % unit == 0 and (micros or unit == SECOND):
            return f"{micros // unit} {name}"
    return f"{micros} us"


def _unreadable(text: str, rest: str) -> QueryError:
    """The error of a text that is no duration; `rest` is what could not be parsed."""
    if re.search(r"\b(month|year|quarter)s?\b", text, flags=re.IGNORECASE):
        return QueryError(
            f"{text!r} is not a fixed length of time",
            "months and years differ in length, so windows of them have no fixed slide",
            "a number of days, for example '30 days'",
        )
    return QueryError(
        f"{text!r} is not a length of time" + (f" (stopped at {rest!r})" if rest != text else ""),
        "a length is whole microseconds, written as numbers with units",
        "for example '12 minutes', '90 s' or '1 hour 30 minutes'",
    )
