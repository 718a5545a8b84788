"""The doctor of checkpoints: what is damaged, from where a start goes on, what can be repaired.

Nothing is started for it, and nothing is repaired that would need an answer to be invented: what a
repair deletes is either not needed, or is made again from the log or from the source.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from pyspark.sql import SparkSession

from gingham.checkpoint.files import Files
from gingham.checkpoint.folder import ABOUT, LEASE, SKETCHES, STREAMS
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log, Logged
from gingham.checkpoint.registry import QUERIES
from gingham.checkpoint.seal import read_json, read_sealed
from gingham.checkpoint.spark_source import SparkSource
from gingham.core.errors import CheckpointError, GinghamError
from gingham.plan.codebook import Codebook
from gingham.sinks.delivery import Delivery
from gingham.sinks.memory import MemorySink
from gingham.stream.entry import Entry
from gingham.stream.executor_shards import ExecutorFolder, ExecutorShards
from gingham.stream.held_rows import FOLDER as HELD
from gingham.stream.held_rows import HeldRows
from gingham.stream.loop import PENDING, SOURCE
from gingham.stream.numbering import held_folder

_CRC = b"crc\0"  # how Hadoop's checksum files start; then come the size of chunks and their CRCs


@dataclass(frozen=True)
class Finding:
    """Something that the doctor found in a checkpoint, and what would repair it."""

    what: str
    is_damage: bool  # else it is only left over
    repair: Callable[[], None] | None = None
    repaired: str = ""  # what the repair does


@dataclass
class Examination:
    """What the doctor found in a checkpoint, and where each of its logs goes on."""

    findings: list[Finding] = field(default_factory=list[Finding])
    goes_on: dict[str, str] = field(default_factory=dict[str, str])  # by log

    @property
    def damage(self) -> list[Finding]:
        """What keeps streams from starting again, or would make them wrong."""
        return [finding for finding in self.findings if finding.is_damage]


def examine(root: str) -> Examination:
    """Check every file of a checkpoint: seals, chains, plans, saved answers, shards, the source."""
    files, examination = Files(root, make=False), Examination()
    try:
        about = read_json(files, ABOUT)
    except CheckpointError as error:
        examination.findings.append(Finding(_text(error), is_damage=True))
        return examination
    for name in (QUERIES, *(f"{LEASE}/{lease}" for lease in files.within(LEASE).names())):
        examination.findings += _unreadable(files, name)
    streams: dict[str, list[str]] = {}  # by log
    for log in about["settings"]:
        folder, _, stream = log.rpartition("/")
        streams.setdefault(SKETCHES if folder.startswith(SKETCHES) else log, []).append(stream)
    for log, names in streams.items():
        _LogDoctor(files.within(log), log, names, about["id"], examination).examine()
    examination.findings += _staged(files)
    return examination


class _LogDoctor:
    """Examines the log of a stream, or of streams that are joined."""

    def __init__(
        self, files: Files, name: str, streams: list[str], checkpoint: str, into: Examination
    ) -> None:
        self._files, self._name, self._streams = files, name, streams
        self._lease = Lease(files.within(LEASE), 0)  # nothing is written under it
        self._log = Log(files, self._lease, checkpoint)
        self._findings = into.findings
        self._goes_on = into.goes_on
        self._last, self._newest = Entry(), -1
        self._pending: list[str] = []
        self._folders: dict[str, ExecutorFolder] = {}
        self._held: dict[str, ExecutorFolder] = {}  # rows that wait to be numbered
        self._checksums: dict[str, dict[str, int]] = {}

    def examine(self) -> None:
        """Read the log as a restart does, then look at all that it names and all that is there."""
        complaint: CheckpointError | None = None
        try:
            for logged in self._log.recover():
                self._note(logged)
                self._log.read_epochs()
        except CheckpointError as error:
            complaint = error
        end = ", ".join(f"{s} after batch {self._last.last_batch(s)}" for s in self._streams)
        self._goes_on[self._name] = f"entry {self._last.number}: {end}"
        if complaint is None:
            self._findings += self._of_what_is_named()
            self._findings += self._left_over()
        else:
            self._findings.append(self._broken(complaint))

    def _note(self, logged: Logged) -> None:
        """Remember what an entry names."""
        self._last = Entry.from_json(logged.about)
        for stream, found in logged.about[SOURCE].items():
            self._checksums.setdefault(stream, {}).update(found)
        folders = [ExecutorFolder(**f) for f in self._last.details.get("folders", ())]
        self._folders |= {folder.name: folder for folder in folders}
        if (held := held_folder(self._last.details)) is not None:
            self._held[held.name] = held
        if logged.done is not None:
            self._pending = logged.done[PENDING]

    def _of_what_is_named(self) -> Iterator[Finding]:
        """Damage of saved answers, executors' shards and Spark's files that the log names."""
        spark = cast("SparkSession", None)  # which only reading rows would need
        shards = ExecutorShards(spark, self._files.within("executors"), self._lease)
        held = HeldRows(spark, self._files.within(HELD), self._lease)
        checks: list[Callable[[], None]] = [
            lambda: Delivery(MemorySink(), self._files, self._lease).restore(self._pending),
            *(
                lambda f=folder: shards.restore(f, Codebook((), (), ()))
                for folder in self._folders.values()
            ),
            *(lambda f=folder: held.restore(f) for folder in self._held.values()),
            *(
                lambda s=stream: self._source(s).check(
                    self._last.last_batch(s), self._checksums.get(s, {})
                )
                for stream in self._streams
            ),
        ]
        for check in checks:
            try:
                check()
            except GinghamError as error:
                yield Finding(_text(error), is_damage=True)
        paths = {f"executors/{name}": folder for name, folder in self._folders.items()}
        paths |= {f"{HELD}/{name}": folder for name, folder in self._held.items()}
        for path, folder in paths.items():
            files = self._files.within(path)
            for name in folder.files:
                if files.exists(name) and not _fits_its_crc_file(files, name):
                    yield Finding(f"{files.root}/{name}: its checksum does not fit", is_damage=True)

    def _left_over(self) -> Iterator[Finding]:
        """Files that the log does not need, and that a crash or damage has left behind."""
        for folder in ("done", "log", "epochs", "snapshot", "pending"):
            files = self._files.within(folder)
            for name in files.names():
                yield from _unreadable(files, name, is_needed=False)
        for folder, named in (
            ("executors", set(self._folders)),
            (HELD, set(self._held)),
            ("answers", set(self._pending)),
        ):
            files = self._files.within(folder)
            for name in files.folders():
                if name not in named:
                    yield _removable_folder(files, name)
        files = self._files.within("pending")
        for name in files.names():
            if name not in self._pending:
                yield _removable(files, name, "no entry names it")

    def _broken(self, why: CheckpointError) -> Finding:
        """A log that cannot be read to its end; repaired if Spark can replay what is lost."""
        number, done = self._last.number + 1, self._files.within("done")
        entry, done_name = f"{number:012d}.arrow", f"{number:012d}.json"
        entries = self._files.within("log")
        is_last = not any(name > entry for name in entries.names())
        if not is_last or not entries.exists(entry):
            return Finding(_text(why), is_damage=True)
        if not _unreadable(entries, entry):
            if done.exists(done_name) and _unreadable(done, done_name):
                return _removable(
                    done, done_name, f"{why.why}; its answers are delivered again", damage=True
                )
        elif self._can_replay():
            batch = self._last.last_batch(self._streams[0]) + 1
            commits = Files(f"{self._source(self._streams[0]).root}/commits", make=False)

            def repair() -> None:
                # Spark reads a batch again that it has not committed.
                commits.delete(str(batch))
                commits.delete(f".{batch}.crc")
                done.delete(done_name)
                entries.delete(entry)

            return Finding(
                _text(why),
                is_damage=True,
                repair=repair,
                repaired=f"entry {number} is deleted, and Spark reads batch {batch} again",
            )
        return Finding(_text(why), is_damage=True)

    def _can_replay(self) -> bool:
        """Whether the batch after the last readable entry can be read from the source again."""
        if len(self._streams) > 1 or self._last.number < 0:
            return False
        try:
            # What the lost entry delivered and deleted is lost with it.
            Delivery(MemorySink(), self._files, self._lease).restore(self._pending)
        except CheckpointError:
            return False
        batch = self._last.last_batch(self._streams[0]) + 1
        source = Files(self._source(self._streams[0]).root, make=False)
        return source.exists(f"offsets/{batch}")

    def _source(self, stream: str) -> SparkSource:
        """What Spark keeps of a stream of this log."""
        if self._name == SKETCHES:
            return SparkSource(self._files.within(f"{STREAMS}/{stream}"))
        return SparkSource(self._files)


def _unreadable(files: Files, name: str, *, is_needed: bool = True) -> list[Finding]:
    """A finding if a sealed file cannot be read."""
    try:
        read_sealed(files, name)
    except CheckpointError as error:
        if is_needed:
            return [Finding(_text(error), is_damage=True)]
        return [_removable(files, name, f"{error.why}; nothing needs it")]
    return []


def _staged(files: Files, path: str = "") -> Iterator[Finding]:
    """Files that a crash has left behind half written."""
    for name in files.staged():
        yield _removable(files, name, "it was begun and never completed")
    for folder in files.folders():
        if folder not in ("source", "executors", HELD, "answers"):
            yield from _staged(files.within(folder), f"{path}{folder}/")


def _removable(files: Files, name: str, why: str, *, damage: bool = False) -> Finding:
    """A file that can be deleted."""
    return Finding(
        f"{files.root}/{name}: {why}", damage, lambda: files.delete(name), f"{name} is deleted"
    )


def _removable_folder(files: Files, name: str) -> Finding:
    """A folder that can be deleted."""
    return Finding(
        f"{files.root}/{name}: no entry names it",
        is_damage=False,
        repair=lambda: files.delete_folder(name),
        repaired=f"{name} is deleted",
    )


def _fits_its_crc_file(files: Files, name: str) -> bool:
    """Whether a file has the checksums that Hadoop keeps beside it on a local disk, if any."""
    sums = f".{name}.crc"
    if not files.exists(sums):
        return True
    content, expected = files.read(name), files.read(sums)
    if not expected.startswith(_CRC):
        return False
    size = int.from_bytes(expected[4:8], "big")
    found = [zlib.crc32(content[i : i + size]) for i in range(0, len(content), size)]
    return expected[8:] == b"".join(crc.to_bytes(4, "big") for crc in found)


def _text(error: GinghamError) -> str:
    """An error in one line."""
    return f"{error.what}: {error.why}"
