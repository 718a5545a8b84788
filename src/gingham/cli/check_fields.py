"""The fields of an entry of a workload file are checked, each by the key of its name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gingham.cli.environment import with_environment
from gingham.cli.keys import KINDS, Key, refuse_field
from gingham.cli.outline import NESTED, Entry, Problems, Value, shortened
from gingham.cli.values import Given
from gingham.core.errors import GinghamError, WorkloadError


@dataclass(frozen=True, slots=True)
class Part:
    """An entry of a workload file whose fields were checked: the values of its keys."""

    entry: Entry
    values: Mapping[str, Any]

    def arguments(self, call: str) -> dict[str, Any]:
        """The arguments of a call that keys of this entry are for."""
        keys = KINDS[self.entry.kind].by_name
        targets = {keys[name].argument(call): value for name, value in self.values.items()}
        return {argument: value for argument, value in targets.items() if argument is not None}


def check_fields(entry: Entry, folder: Path, problems: Problems) -> Part | None:
    """An entry with the values of its keys; None if a required one is missing or wrong."""
    kind = KINDS[entry.kind]
    values: dict[str, Any] = {}
    wrong = False
    for field, given in entry.fields.items():
        name, _, inner = field.partition(".")
        key = kind.by_name.get(name if name in NESTED else field)
        if key is None:
            refuse_field(entry, field, problems)
            continue
        if name in NESTED and not inner:
            problems.add(
                entry.line_of(field),
                f"{name} of {kind.noun} without names",
                "each of them has a name and a value",
                f"{name}: {{NAME: VALUE}}, or in SQL {name}.NAME=VALUE",
            )
            continue
        try:
            value = _value(key, field, given, folder)
        except GinghamError as error:
            problems.note(entry.line_of(field), error.about(subject_of(entry)))
            wrong = True
            continue
        if inner:
            values.setdefault(name, {})[inner] = value
        else:
            values[name] = value
    missing = [name for name in kind.required if not entry.fields.get(name)]
    if missing:
        problems.add(
            entry.line,
            f"{kind.noun} without {', '.join(missing)}",
            f"{', '.join(kind.required)} must be given",
            ", ".join(f"{field}: ..." for field in missing),
        )
    return None if wrong or missing else Part(entry, values)


def subject_of(entry: Entry) -> str:
    """What an error of an entry is about: `stream 'trades'`."""
    name = entry.fields.get("name")
    return f"{entry.kind} {shortened(name)}" if isinstance(name, str) else entry.kind


def _value(key: Key, field: str, given: Value, folder: Path) -> Any:
    """The value of a key, or an error that quotes the file, never the environment."""
    if key.name == "sql":
        return given  # Spark has ${...} of its own there
    listed = (given,) if isinstance(given, str) else given
    try:
        filled = tuple(with_environment(text) for text in listed)
    except WorkloadError as error:
        raise error.about(field) from None
    try:
        value = filled[0] if isinstance(given, str) else filled
        return key.check(Given(field, value, folder))
    except GinghamError:
        if filled == listed:
            raise
        raise WorkloadError(
            f"{field}: {shortened(', '.join(listed))}",
            "what the environment has for it does not fit",
            "another value there",
        ) from None
