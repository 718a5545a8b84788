"""Queries whose expressions may raise in the middle of a shared job, and what to do when one does.

Spark does not tell whose expression raised, and the error takes the whole job down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from gingham.core.errors import AnswerError
from gingham.spark.spark_errors import SPARK_ERRORS, failed_job


class _Query(Protocol):
    """A query of any kind that may be fragile: able to raise in the middle of a shared job."""

    @property
    def fragile(self) -> bool:
        """Whether the query may raise in the middle of a shared job."""
        ...


AnyQuery = TypeVar("AnyQuery", bound=_Query)
Outcome = TypeVar("Outcome")


def go_on_without(
    suspects: Sequence[AnyQuery],
    attempt: Callable[[], Outcome],
    retry: Callable[[Sequence[AnyQuery], AnswerError], Outcome],
) -> Outcome:
    """Run a shared job of queries; if Spark stops it, leave out those that may have raised.

    Without any suspect the error is raised; otherwise `retry` gets them, and what Spark said.
    """
    try:
        return attempt()
    except SPARK_ERRORS as error:
        why = failed_job(error)
        if not suspects:
            raise why from error
        return retry(suspects, why)


def fragile(queries: Iterable[AnyQuery]) -> list[AnyQuery]:
    """The queries that may raise in the middle of a shared job."""
    return [query for query in queries if query.fragile]
