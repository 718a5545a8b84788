"""Answers to a function of the user's."""

from __future__ import annotations

from pyspark.sql import SparkSession

from gingham.sinks.answer import Answer
from gingham.sinks.sink import SinkFunction


class FunctionSink:
    """Calls a function with a DataFrame and the number of the delivery, to tell a repeated one."""

    def __init__(self, function: SinkFunction, spark: SparkSession) -> None:
        self._function = function
        self._spark = spark

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        self._function(name, answer.frame(self._spark), number)
