"""The registry of queries in a checkpoint, so that they survive a restart."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_json, write_json


@dataclass(frozen=True, slots=True)
class Registered:
    """A query as the checkpoint keeps it: its name and its SQL text."""

    name: str
    sql: str
    backfill: bool = False


class Registry:
    """Keeps the SQL text of every query in a file of its own in the checkpoint."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def put(self, query: Registered) -> None:
        """Write a query to the checkpoint, in place of an older one of that name."""
        write_json(
            self._files,
            _query_file(query.name),
            {"name": query.name, "sql": query.sql, "backfill": query.backfill},
        )

    def remove(self, name: str) -> None:
        """Delete a query from the checkpoint, if it is there."""
        self._files.delete(_query_file(name))

    def all(self) -> list[Registered]:
        """Read all queries that the checkpoint keeps."""
        return [Registered(**read_json(self._files, name)) for name in self._files.names()]


def file_name(name: str) -> str:
    """The file name that stands for a query in the checkpoint, whatever characters its name has."""
    # Files whose names start with "_" or "." are not seen.
    return "q-" + quote(name, safe="")


def name_of(file: str) -> str:
    """The name of a query, from its file name in the checkpoint: the inverse of `file_name`."""
    return unquote(file.removeprefix("q-"))


def _query_file(name: str) -> str:
    """The name of the JSON file in which the checkpoint keeps a query."""
    return f"{file_name(name)}.json"
