"""Files of a checkpoint: written whole or not at all, wherever Spark can keep a checkpoint."""

from __future__ import annotations

import contextlib
import os
import uuid
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pyarrow as pa
from pyarrow import fs
from pyarrow.dataset import dataset

from gingham.core.errors import CheckpointError

_STAGED = ".tmp"
_BLOCK = 1 << 20  # bytes that are read at a time


class Files:
    """A folder of checkpoint files, local or in an object store; each is complete or not there."""

    def __init__(self, root: str, *, make: bool = True) -> None:
        try:
            self._system, self._root = fs.FileSystem.from_uri(_uri(root))
            if make:
                self._system.create_dir(self._root, recursive=True)
        except (OSError, ValueError) as error:
            raise CheckpointError(
                f"{root} cannot be written", str(error), "a folder that this process may write to"
            ) from error
        self.root = root
        self._make = make

    def within(self, folder: str) -> Files:
        """Open a folder inside this folder of the checkpoint; it is made if need be."""
        return Files(f"{self.root}/{folder}", make=self._make)

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the checkpoint, in place of an older one of that name."""
        with self.opened(name) as stream:
            stream.write(content)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file of the checkpoint unless there is one of that name; False if there is.

        Of two processes that create the same file one is told True: on local disks by a hard
        link, on HDFS by its rename. Object stores are asked before, which is no guarantee.
        """
        if self.exists(name):
            return False
        try:
            with self.opened(name, once=True) as stream:
                stream.write(content)
        except FileExistsError:
            return False
        return True

    @contextmanager
    def opened(self, name: str, *, once: bool = False) -> Generator[pa.NativeFile]:
        """Open a checkpoint file to write; it appears once the block ends without an error.

        With `once` it is refused by a FileExistsError if there is a file of that name by then.
        """
        path = f"{self._root}/{name}"
        # Object stores show a file when it is complete; elsewhere it is renamed then. Two
        # processes must not stage a file under the same name.
        staged = path if self._atomic else f"{self._root}/_{name}.{uuid.uuid4().hex}{_STAGED}"
        with self._system.open_output_stream(staged, compression=None) as stream:
            yield stream
        if staged == path:
            return
        if once and self.is_local:
            try:
                os.link(staged, path)
            finally:
                self._system.delete_file(staged)
        elif once:
            self._move_once(staged, path)
        else:
            self._system.move(staged, path)

    def _move_once(self, staged: str, path: str) -> None:
        """Rename a staged file where renaming onto another file fails, as in HDFS."""
        try:
            self._system.move(staged, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._system.delete_file(staged)
            if self._system.get_file_info(path).type != fs.FileType.NotFound:
                raise FileExistsError(path) from error
            raise

    def read(self, name: str) -> bytes:
        """Read a whole file of the checkpoint."""
        path = f"{self._root}/{name}"
        with self._system.open_input_stream(path, compression=None) as stream:
            return cast("bytes", stream.read())

    def checksum(self, name: str) -> int:
        """The checksum of a file of the checkpoint, which is read a block at a time."""
        found, path = 0, f"{self._root}/{name}"
        with self._system.open_input_stream(path, compression=None) as stream:
            while block := stream.read(_BLOCK):
                found = zlib.crc32(block, found)
        return found

    def names(self) -> list[str]:
        """List all complete files of this checkpoint folder, sorted by name."""
        return sorted(self.sizes())

    def sizes(self) -> dict[str, int]:
        """The size in bytes of each complete file of this checkpoint folder."""
        return {f.base_name: f.size for f in self._infos if f.is_file and not _is_hidden(f)}

    def staged(self) -> list[str]:
        """List files of this folder that were begun and not completed, sorted by name."""
        names = (f.base_name for f in self._infos if f.is_file)
        return sorted(name for name in names if name[0] == "_" and name.endswith(_STAGED))

    def folders(self) -> list[str]:
        """List all folders inside this checkpoint folder, sorted by name."""
        return sorted(f.base_name for f in self._infos if f.type == fs.FileType.Directory)

    def parquet(self, folder: str) -> Iterator[pa.RecordBatch]:
        """Read a folder of Parquet files that Spark wrote into the checkpoint, batch by batch."""
        found = dataset(f"{self._root}/{folder}", filesystem=self._system, format="parquet")
        return cast("Iterator[pa.RecordBatch]", found.to_batches())

    def delete_folder(self, folder: str) -> None:
        """Remove a folder of the checkpoint and all that is in it, if it is still there."""
        if self.exists(folder):
            self._system.delete_dir(f"{self._root}/{folder}")

    def is_empty(self) -> bool:
        """Whether the checkpoint folder holds nothing at all."""
        return not self._infos

    def exists(self, name: str) -> bool:
        """Whether the checkpoint folder has a file or folder of this name."""
        return self._system.get_file_info(f"{self._root}/{name}").type != fs.FileType.NotFound

    def delete(self, name: str) -> None:
        """Remove a file of the checkpoint, if it is still there."""
        if self.exists(name):
            self._system.delete_file(f"{self._root}/{name}")

    @property
    def is_local(self) -> bool:
        """Whether the checkpoint is on this machine, and not in an object store."""
        return isinstance(self._system, fs.LocalFileSystem)

    @property
    def _infos(self) -> list[fs.FileInfo]:
        """What the file system says of everything in this folder; nothing if it is not there."""
        selector = fs.FileSelector(self._root, allow_not_found=True)
        return cast("list[fs.FileInfo]", self._system.get_file_info(selector))

    @property
    def _atomic(self) -> bool:
        """Whether the file system itself shows a file only once it is complete."""
        return not isinstance(self._system, fs.LocalFileSystem | fs.HadoopFileSystem)


def _is_hidden(file: fs.FileInfo) -> bool:
    """Whether a file is not counted: it is being written, or is not Gingham's own."""
    return file.base_name[0] in "_."


def _uri(root: str) -> str:
    """The checkpoint folder as a URI, as Arrow's file systems take it."""
    return root if "://" in root else Path(root).absolute().as_uri()
