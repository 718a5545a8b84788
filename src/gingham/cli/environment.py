"""Values of a workload file that come from the environment: `${TOKEN}`."""

import os
import re

from gingham.cli.outline import did_you_mean, shortened
from gingham.core.errors import WorkloadError
from gingham.core.secrets import hide

_REFERENCE = re.compile(r"\$(?P<literal>\$)?\{(?P<name>[^}]*)\}?")


def with_environment(text: str) -> str:
    """A text with the values of environment variables in place of `${NAME}`.

    Two dollars stand for one: $${NAME} is the text ${NAME}. No value that is taken from the
    environment is shown afterwards.

    >>> os.environ["BUCKET"] = "s3://trades-of-2024"
    >>> with_environment("${BUCKET}/day1"), with_environment("$${BUCKET}/day1")
    ('s3://trades-of-2024/day1', '${BUCKET}/day1')
    """
    return _REFERENCE.sub(_value, text)


def _value(reference: re.Match[str]) -> str:
    """The value that a reference of a workload file stands for, which is hidden from now on."""
    name = reference["name"]
    if reference["literal"]:
        return reference[0][1:]
    if not re.fullmatch(r"\w+", name) or not reference[0].endswith("}"):
        raise WorkloadError(
            f"{shortened(reference[0])} is no variable of the environment",
            "its name has letters, digits and _, between braces",
            "${TOKEN}, or $${...} for a text that starts with ${",
        )
    value = os.environ.get(name)
    if value is None:
        raise WorkloadError(
            f"there is no {name[:100]} in the environment",
            "the value of ${...} is taken from there",
            did_you_mean_variable(name) or f"export {name[:100]}=... before gingham",
        )
    hide(value)
    return value


def did_you_mean_variable(name: str) -> str | None:
    """The question whether another variable of the environment was meant; None if none is close."""
    variables = {variable.lower(): variable for variable in os.environ}
    meant = did_you_mean(name, tuple(variables))
    return meant and re.sub(r"'(.+)'", lambda found: repr(variables[found[1]]), meant)
