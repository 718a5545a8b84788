"""The registry of queries in a checkpoint, so that they survive a restart."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_json, write_json


@dataclass(frozen=True, slots=True)
class Registered:
    """A query as the checkpoint keeps it: its text."""

    name: str
    sql: str
    backfill: bool = False


class Registry:
    """Keeps the text of every query in a file of its own."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def put(self, query: Registered) -> None:
        """Write a query, in place of an older one of that name."""
        write_json(
            self._files,
            _file(query.name),
            {"name": query.name, "sql": query.sql, "backfill": query.backfill},
        )

    def remove(self, name: str) -> None:
        """Delete a query, if it is there."""
        self._files.delete(_file(name))

    def all(self) -> list[Registered]:
        """Read all queries."""
        return [Registered(**read_json(self._files, name)) for name in self._files.names()]


def file_name(name: str) -> str:
    """Turn the name of a query into a file name, whatever characters it has."""
    # Files whose names start with "_" or "." are not seen.
    return "q-" + quote(name, safe="")


def name_of(file: str) -> str:
    """The inverse of `file_name`."""
    return unquote(file.removeprefix("q-"))


def _file(name: str) -> str:
    return f"{file_name(name)}.json"
