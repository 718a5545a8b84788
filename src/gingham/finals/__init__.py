"""Shards to answers: cells to queries, slices to windows; pure functions over Arrow and numpy."""

from gingham.finals.answer import answer

__all__ = ["answer"]
