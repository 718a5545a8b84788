"""What the log says of a micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from gingham.stream.clock import Marks


@dataclass(frozen=True, slots=True)
class Entry:
    """The log entry of a micro-batch: how far all streams of the loop have come after it."""

    number: int = -1
    batches: Mapping[str, int] = field(default_factory=dict[str, int])  # Spark's numbers, by stream
    marks: Mapping[str, Marks] = field(default_factory=dict[str, Marks])  # by stream
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])  # of the kind of queries

    def last_batch(self, stream: str) -> int:
        """Spark's number of the last micro-batch of a stream; -1 if there was none."""
        return self.batches.get(stream, -1)

    def marks_of(self, stream: str) -> Marks:
        """How far a stream has come after this log entry: watermark and latest event time."""
        return self.marks.get(stream, Marks())

    def next(self, stream: str, batch: int, marks: Marks, details: Mapping[str, Any]) -> Entry:
        """The log entry after one more micro-batch of a stream."""
        return Entry(
            number=self.number + 1,
            batches={**self.batches, stream: batch},
            marks={**self.marks, stream: marks},
            details=details,
        )

    def to_json(self) -> dict[str, Any]:
        """The log entry as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Entry:
        """The log entry from the JSON that `to_json` gave."""
        marks = {stream: Marks(**mark) for stream, mark in found["marks"].items()}
        return cls(found["number"], found["batches"], marks, found["details"])
