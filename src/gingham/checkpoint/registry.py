"""The registry of queries in a checkpoint, so that they survive a restart."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.seal import read_json, write_json

QUERIES = "queries.json"


@dataclass(frozen=True, slots=True)
class Registered:
    """A query as the checkpoint keeps it: its name and its SQL text."""

    name: str
    sql: str
    backfill: bool = False


class Registry:
    """Keeps the SQL text of every query in one file of the checkpoint, so that none gets lost."""

    def __init__(self, files: Files, lease: Lease) -> None:
        self._files = files
        self._lease = lease
        self._queries = {query.name: query for query in read_registry(files)}
        self._lock = threading.Lock()  # listeners add queries, too

    def put(self, *queries: Registered) -> None:
        """Write queries to the checkpoint, in place of older ones of their names."""
        if queries:
            with self._lock:
                self._write({**self._queries, **{query.name: query for query in queries}}.values())

    def remove(self, name: str) -> None:
        """Delete a query from the checkpoint, if it is there."""
        with self._lock:
            self._write([query for query in self._queries.values() if query.name != name])

    def all(self) -> list[Registered]:
        """All queries that the checkpoint keeps."""
        return list(self._queries.values())

    def _write(self, queries: Iterable[Registered]) -> None:
        """Make these the queries of the checkpoint, if this process may still write to it."""
        self._lease.check()
        known = {query.name: query for query in queries}
        write_registry(self._files, known.values())
        self._queries = known


def read_registry(files: Files) -> list[Registered]:
    """Read the file of all queries of a checkpoint."""
    return [Registered(**found) for found in read_json(files, QUERIES)]


def write_registry(files: Files, queries: Iterable[Registered] = ()) -> None:
    """Write the file of all queries of a checkpoint."""
    write_json(files, QUERIES, [asdict(query) for query in queries])
