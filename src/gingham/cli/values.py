"""How the texts of a workload file become values: each check gives the value or raises why not."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gingham.cli.outline import Value, did_you_mean, shortened
from gingham.core.errors import WorkloadError
from gingham.core.time import MILLISECOND, SECOND, parse_delay


@dataclass(frozen=True, slots=True)
class Given:
    """What a workload file says for a key; paths are relative to the folder of the file."""

    key: str
    value: Value
    folder: Path

    @property
    def text(self) -> str:
        """The value, which must be a single one."""
        if isinstance(self.value, str):
            return self.value
        raise WorkloadError(
            f"{self.key} is a list of {len(self.value)}", "it has one value", f"{self.key}: text"
        )


Check = Callable[[Given], Any]


def text(given: Given) -> str:
    """Any text."""
    return given.text


def column_list(given: Given) -> str:
    """A schema: one text, or a list of columns."""
    return given.value if isinstance(given.value, str) else ", ".join(given.value)


def words(given: Given) -> tuple[str, ...]:
    """Names: a list, or one text with commas between them."""
    value = given.value
    listed = value.split(",") if isinstance(value, str) else value
    return tuple(word.strip() for word in listed)


def path(given: Given) -> str:
    """A path; a local one is relative to the workload file's folder."""
    return str(given.folder / given.text) if is_local(given.text) else given.text


def is_local(path: str) -> bool:
    """True for a path of this machine, False for one such as s3://bucket/trades."""
    # Two letters at least: C:/trades is a local path.
    return re.match(r"[A-Za-z][\w+.-]+:/", path) is None


def delay(given: Given) -> str:
    """A length of time, such as 10 seconds."""
    parse_delay(given.key, given.text)
    return given.text


def some_delay(given: Given) -> str:
    """A length of time that is more than nothing."""
    if parse_delay(given.key, given.text) == 0:
        raise WorkloadError(f"{given.key} is 0 s", "it is more than nothing", "30 seconds")
    return given.text


def delay_or_none(given: Given) -> str | None:
    """A length of time, or `none`."""
    return None if given.text.lower() == "none" else delay(given)


def seconds(given: Given) -> float:
    """A length of time as seconds."""
    return parse_delay(given.key, given.text) / SECOND


def trigger(given: Given) -> dict[str, object]:
    """When batches begin: every so often, or `available now` for what is there, and then an end."""
    if given.text.lower().replace(" ", "") == "availablenow":
        return {"availableNow": True}
    milliseconds = parse_delay(given.key, given.text) // MILLISECOND
    return {"processingTime": f"{milliseconds} milliseconds"}


def truth(given: Given) -> bool:
    """True or false, in the words of YAML."""
    word = given.text.lower()
    if word in ("true", "yes", "on"):
        return True
    if word in ("false", "no", "off"):
        return False
    raise WorkloadError(
        f"{given.key}: {shortened(given.text)}", "it is true or false", f"{given.key}: true"
    )


def truth_or(*words: str) -> Check:
    """True, false, or one of these words."""

    def check(given: Given) -> bool | str:
        word = given.text.lower()
        return word if word in words else truth(given)

    return check


def one_of(*allowed: str) -> Check:
    """One of these words, whatever their capitals."""

    def check(given: Given) -> str:
        word = given.text.lower()
        if word in allowed:
            return word
        raise WorkloadError(
            f"{given.key} {shortened(given.text)}",
            f"it is one of {', '.join(allowed)}",
            did_you_mean(word, allowed) or f"{given.key}: one of {', '.join(allowed)}",
        )

    return check


def whole(least: int) -> Check:
    """A whole number, not less than `least`."""

    def check(given: Given) -> int:
        try:
            number = int(given.text)
        except ValueError:
            number = None
        if number is None or number < least:
            raise _no_number(given, f"it is a whole number, not less than {least}", str(least))
        return number

    return check


def number(least: float, most: float = math.inf, *, inclusive: bool = True) -> Check:
    """A number between two others, which `inclusive` tells to be allowed themselves."""

    def check(given: Given) -> float:
        try:
            value = float(given.text)
        except ValueError:
            value = math.nan
        fits = least <= value <= most if inclusive else least < value < most
        if not fits or math.isinf(value):
            above = "not less than" if inclusive else "greater than"
            below = "" if math.isinf(most) else f" and less than {most:g}"
            raise _no_number(given, f"it is a number {above} {least:g}{below}", "another number")
        return value

    return check


def _no_number(given: Given, why: str, instead: str) -> WorkloadError:
    """The error of a key of a workload file whose value is not the number that it must be."""
    return WorkloadError(f"{given.key}: {shortened(given.text)}", why, f"{given.key}: {instead}")
