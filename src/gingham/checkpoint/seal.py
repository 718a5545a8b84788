"""Seals: files that start with their format and a checksum, so that damage is noticed."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pyarrow as pa

from gingham.checkpoint.files import Files
from gingham.core.errors import CheckpointError

# The number grows whenever files of a checkpoint change their meaning: others are refused.
VERSION = 4
_NAME = b"gingham "
_MAGIC = _NAME + b"%d\n" % VERSION
_META = b"gingham"


def seal(payload: bytes) -> bytes:
    """The content of a checkpoint file: its format number, a checksum, and the payload."""
    return _MAGIC + b"%08x\n" % zlib.crc32(payload) + payload


def read_sealed(files: Files, name: str) -> bytes:
    """Read a checkpoint file; refuse it if it is missing, or its format or checksum not right."""
    return unseal(files, name, read_whole(files, name))


def read_whole(files: Files, name: str) -> bytes:
    """Read a checkpoint file with its seal; refuse it if it is missing."""
    try:
        return files.read(name)
    except OSError as error:
        raise _damaged(files, name, f"it is missing, or cannot be opened: {error}") from error


def unseal(files: Files, name: str, content: bytes) -> bytes:
    """The payload of a checkpoint file; refuse it if its format or its checksum is not right."""
    head, payload = content[: len(_MAGIC) + 9], content[len(_MAGIC) + 9 :]
    if not head.startswith(_MAGIC):
        raise _foreign(files, name, content)
    if head[len(_MAGIC) :] != b"%08x\n" % zlib.crc32(payload):
        raise _damaged(files, name, "its checksum does not fit: it is damaged or cut short")
    return payload


def sealed_json(value: Any) -> bytes:
    """A value as JSON, as the content of a checkpoint file."""
    return seal(json.dumps(value).encode())


def write_json(files: Files, name: str, value: Any) -> None:
    """Write a value as JSON into a sealed file of the checkpoint."""
    files.write(name, sealed_json(value))


def read_json(files: Files, name: str) -> Any:
    """Read the JSON value of a sealed file that `write_json` wrote."""
    return json.loads(read_sealed(files, name))


def sealed_table(table: pa.Table, about: dict[str, Any]) -> bytes:
    """An Arrow table, and JSON about it, as the content of one checkpoint file."""
    table = table.replace_schema_metadata({_META: json.dumps(about).encode()})
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    return seal(buffer.getvalue().to_pybytes())


def write_table(files: Files, name: str, table: pa.Table, about: dict[str, Any]) -> None:
    """Write an Arrow table, and JSON about it, as one sealed file of the checkpoint."""
    files.write(name, sealed_table(table, about))


def read_table(files: Files, name: str) -> tuple[pa.Table, dict[str, Any]]:
    """Read the Arrow table and the JSON of a sealed file that `write_table` wrote."""
    return unseal_table(files, name, read_whole(files, name))


def unseal_table(files: Files, name: str, content: bytes) -> tuple[pa.Table, dict[str, Any]]:
    """The Arrow table and the JSON of a sealed file with this content."""
    table = pa.ipc.open_stream(unseal(files, name, content)).read_all()
    about = json.loads((table.schema.metadata or {})[_META])
    return table.replace_schema_metadata(None), about


def _foreign(files: Files, name: str, content: bytes) -> CheckpointError:
    """The error of a checkpoint file that does not start as files of this version do."""
    version = content.removeprefix(_NAME).partition(b"\n")[0]
    if not content.startswith(_NAME) or not version.isdigit():
        return _damaged(files, name, "it was not written by Gingham, or by another version of it")
    return CheckpointError(
        f"{files.root}/{name} cannot be read",
        f"it was written by another version of Gingham, in format {int(version)}; "
        f"this one reads format {VERSION}",
        "the version that wrote it, or a new folder to start afresh",
    )


def _damaged(files: Files, name: str, why: str) -> CheckpointError:
    """The error of a checkpoint file that is damaged, or not Gingham's."""
    return CheckpointError(
        f"{files.root}/{name} cannot be read",
        why,
        "the checkpoint from a copy, or a new folder to start afresh",
    )
