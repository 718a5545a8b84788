"""The queries of a checkpoint: they survive a restart."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_json, write_json


@dataclass(frozen=True, slots=True)
class Registered:
    """A query as text."""

    name: str
    sql: str
    backfill: bool = False


class Registry:
    """One file per query."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def put(self, query: Registered) -> None:
        write_json(
            self._files,
            _file(query.name),
            {"name": query.name, "sql": query.sql, "backfill": query.backfill},
        )

    def remove(self, name: str) -> None:
        self._files.delete(_file(name))

    def all(self) -> list[Registered]:
        return [Registered(**read_json(self._files, name)) for name in self._files.names()]


def file_name(name: str) -> str:
    """A query's name as that of a file, whatever it holds."""
    # Files whose names start with "_" or "." are not seen.
    return "q-" + quote(name, safe="")


def name_of(file: str) -> str:
    """The inverse of `file_name`."""
    return unquote(file.removeprefix("q-"))


def _file(name: str) -> str:
    return f"{file_name(name)}.json"
