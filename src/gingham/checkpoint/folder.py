"""The folder of a checkpoint is opened or made, and refused if it is not of these streams."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from pyspark.sql import DataFrame

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.registry import QUERIES, Registered, Registry, read_registry, write_registry
from gingham.checkpoint.seal import read_json, write_json
from gingham.core.errors import CheckpointError
from gingham.core.file_names import file_name
from gingham.spark.expression_types import column_types

ABOUT = "gingham.json"
STREAMS, SKETCHES, LEASE = "streams", "sketches", "lease"


class Checkpoint:
    """The checkpoint folder that `checkpoint=` names: files of its streams and their queries.

    gingham.json    the id of the checkpoint; the columns of each stream, and its settings
    queries.json    the queries
    lease/          which process may write
    streams/NAME/   the log of a stream, and what Spark itself keeps of it
    sketches/       the log of joined streams, with a lease of its own
    """

    def __init__(self, root: str) -> None:
        self.files = Files(root)
        if not self.files.exists(ABOUT):
            # A process may have died between the two writes.
            if self.files.folders() or set(self.files.names()) - {QUERIES}:
                raise CheckpointError(
                    f"{root} is no checkpoint of Gingham's",
                    f"there are other files in it, and no {ABOUT}",
                    "an empty folder, or one that does not exist yet",
                )
            write_registry(self.files)
            about = {"id": uuid.uuid4().hex, "streams": {}, "settings": {}}
            write_json(self.files, ABOUT, about)
        self.id: str = read_json(self.files, ABOUT)["id"]

    def lease(self) -> Lease:
        """Take the lease of the checkpoint: a process that held it before cannot write any more."""
        return Lease.take(self.files.within(LEASE))

    def queries(self) -> list[Registered]:
        """The queries that the checkpoint keeps, whichever process may write to it."""
        return read_registry(self.files)

    def registry(self, lease: Lease) -> Registry:
        """Open the registry of queries."""
        return Registry(self.files, lease)

    def of(self, stream: str, rows: DataFrame, time: str, settings: Mapping[str, str]) -> Files:
        """Open a stream's folder in the checkpoint; refused if it has other columns or settings."""
        self._know(stream, rows, time, settings, log=f"{STREAMS}/{file_name(stream)}")
        return self.files.within(STREAMS).within(file_name(stream))

    def of_joined(
        self, stream: str, rows: DataFrame, time: str, settings: Mapping[str, str]
    ) -> None:
        """Note a stream that is joined; refused if it has other columns or settings than before."""
        self._know(stream, rows, time, settings, log=f"{SKETCHES}/{STREAMS}/{file_name(stream)}")

    def _know(
        self, stream: str, rows: DataFrame, time: str, settings: Mapping[str, str], log: str
    ) -> None:
        """Write to the checkpoint what a stream is, or refuse it if it is another one there."""
        about, schema = read_json(self.files, ABOUT), column_types(rows)
        columns = {**schema, "(time)": time}
        known = about["streams"].setdefault(stream, columns)
        if known != columns:
            raise CheckpointError(
                f"stream {stream!r} is not the one of this checkpoint",
                _difference(known, columns),
                "the same columns as before, or a new checkpoint",
            )
        before = about["settings"].get(log)
        if before is None:
            # The folder first: where a log is known its folder must be there.
            self.files.within(log)
            about["settings"][log] = dict(settings)
            write_json(self.files, ABOUT, about)
        elif before != settings:
            raise CheckpointError(
                f"stream {stream!r} had other settings in this checkpoint",
                f"answers depend on them: {_difference(before, settings)}",
                "the settings of before, or a new checkpoint",
            )
        elif not self.files.exists(log):
            raise CheckpointError(
                f"{self.files.root}/{log} is missing",
                f"{ABOUT} knows it: it holds the log of stream {stream!r}",
                "the checkpoint from a copy, or a new folder to start afresh",
            )


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Columns or settings in which a stream differs from what its checkpoint says."""
    names = sorted(before.keys() | now.keys())
    changed = [n for n in names if before.get(n) != now.get(n)]
    return ", ".join(
        f"{n} was {before.get(n, 'not set')}, is {now.get(n, 'not set')}" for n in changed
    )
