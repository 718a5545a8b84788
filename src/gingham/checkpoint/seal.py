"""Seals: files that start with their format and a checksum, so that damage is noticed."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pyarrow as pa

from gingham.checkpoint.files import Files
from gingham.core.errors import CheckpointError

# The number grows whenever files of a checkpoint change their meaning: others are refused.
VERSION = 3
_NAME = b"gingham "
_MAGIC = _NAME + b"%d\n" % VERSION
_META = b"gingham"


def write_sealed(files: Files, name: str, payload: bytes) -> None:
    """Write a payload with its checksum."""
    files.write(name, _MAGIC + b"%08x\n" % zlib.crc32(payload) + payload)


def read_sealed(files: Files, name: str) -> bytes:
    """Read a payload, or refuse it."""
    content = files.read(name)
    head, payload = content[: len(_MAGIC) + 9], content[len(_MAGIC) + 9 :]
    if not head.startswith(_MAGIC):
        raise _damaged(files, name, _origin(content))
    if head[len(_MAGIC) :] != b"%08x\n" % zlib.crc32(payload):
        raise _damaged(files, name, "its checksum does not fit: it is damaged or cut short")
    return payload


def write_json(files: Files, name: str, value: Any) -> None:
    """Write a value as JSON, with a checksum."""
    write_sealed(files, name, json.dumps(value).encode())


def read_json(files: Files, name: str) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(read_sealed(files, name))


def write_table(files: Files, name: str, table: pa.Table, about: dict[str, Any]) -> None:
    """Write a table, and something about it, as one file."""
    table = table.replace_schema_metadata({_META: json.dumps(about).encode()})
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    write_sealed(files, name, buffer.getvalue().to_pybytes())


def read_table(files: Files, name: str) -> tuple[pa.Table, dict[str, Any]]:
    """Read what `write_table` wrote."""
    table = pa.ipc.open_stream(read_sealed(files, name)).read_all()
    about = json.loads((table.schema.metadata or {})[_META])
    return table.replace_schema_metadata(None), about


def _origin(content: bytes) -> str:
    """Say where a file comes from that does not start as ours do."""
    version = content.removeprefix(_NAME).partition(b"\n")[0]
    if content.startswith(_NAME) and version.isdigit():
        return (
            f"its format is {int(version)} and this version of Gingham reads {VERSION}: it was not "
            "written by Gingham, or by another version of it"
        )
    return "it was not written by Gingham, or by another version of it"


def _damaged(files: Files, name: str, why: str) -> CheckpointError:
    return CheckpointError(
        f"{files.root}/{name} cannot be read",
        why,
        "the checkpoint from a copy, or a new folder to start afresh",
    )
