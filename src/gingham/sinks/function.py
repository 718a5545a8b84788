"""Answers to a function of the user's."""

from __future__ import annotations

from pyspark.sql import SparkSession

from gingham.sinks.answer import Answer
from gingham.sinks.sink import SinkFunction


class FunctionSink:
    """A sink that calls the user's function with a DataFrame and the number of the delivery."""

    def __init__(self, function: SinkFunction, spark: SparkSession) -> None:
        self._function = function
        self._spark = spark

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        """Call the user's function with the answer as a DataFrame."""
        self._function(name, answer.frame(self._spark), number)
