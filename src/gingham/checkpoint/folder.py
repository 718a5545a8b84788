"""The folder of a checkpoint is opened or made, and refused if it is not of these streams."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from gingham.checkpoint.files import Files
from gingham.checkpoint.registry import Registry
from gingham.checkpoint.seal import read_json, write_json
from gingham.core.errors import CheckpointError
from gingham.spark.expression_types import column_types

_ABOUT = "gingham.json"


class Checkpoint:
    """The checkpoint folder that `checkpoint=` names: files of its streams and their queries.

    gingham.json    the columns of each stream
    queries/        the queries
    streams/NAME/   the log of a stream, and what Spark itself keeps of it
    sketches/       the log of joined streams
    """

    def __init__(self, root: str) -> None:
        self.files = Files(root)
        if not self.files.exists(_ABOUT):
            if not self.files.is_empty():
                raise CheckpointError(
                    f"{root} is no checkpoint of Gingham's",
                    "there are other files in it",
                    "an empty folder, or one that does not exist yet",
                )
            write_json(self.files, _ABOUT, {"streams": {}})
        self.registry = Registry(self.files.within("queries"))

    def of(self, stream: str, rows: DataFrame, time: str) -> Files:
        """Open a stream's folder in the checkpoint; refused if the stream has other columns now."""
        about = read_json(self.files, _ABOUT)
        schema = column_types(rows)
        known = about["streams"].get(stream)
        if known is None:
            about["streams"][stream] = {"time": time, "columns": schema}
            write_json(self.files, _ABOUT, about)
        elif known != {"time": time, "columns": schema}:
            raise CheckpointError(
                f"stream {stream!r} is not the one of this checkpoint",
                _difference(
                    known["columns"] | {"(time)": known["time"]}, schema | {"(time)": time}
                ),
                "the same columns as before, or a new checkpoint",
            )
        return self.files.within("streams").within(stream)


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """The columns in which a stream differs from what its checkpoint says, for an error."""
    names = sorted(before.keys() | now.keys())
    changed = [n for n in names if before.get(n) != now.get(n)]
    return ", ".join(
        f"{n} was {before.get(n, 'not there')}, is {now.get(n, 'gone')}" for n in changed
    )
