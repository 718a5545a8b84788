"""Answers in this process."""

from __future__ import annotations

import pyarrow as pa

from gingham.sinks.answer import Answer


class MemorySink:
    """A sink that keeps answers in this process, for tests and notebooks."""

    def __init__(self) -> None:
        self._answers: dict[str, dict[int, pa.Table]] = {}

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        """Keep an answer in memory; a repeated delivery replaces the one of its number."""
        self._answers.setdefault(name, {})[number] = answer.table()

    def arrow(self, name: str) -> pa.Table | None:
        """All answers of a query that were delivered so far, as one Arrow table."""
        deliveries = self._answers.get(name)
        if not deliveries:
            return None
        return pa.concat_tables([deliveries[number] for number in sorted(deliveries)])
