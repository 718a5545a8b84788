"""Which queries bring a shared job down, found out by running others without them.

Spark does not tell whose expression raised, and the error takes the whole job down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from gingham.core.errors import AnswerError
from gingham.spark.failure_cause import is_caused_by_rows
from gingham.spark.spark_errors import SPARK_ERRORS, failed_job


class _Query(Protocol):
    """A query of any kind that may be fragile: able to raise in the middle of a shared job."""

    @property
    def fragile(self) -> bool:
        """Whether the query may raise in the middle of a shared job."""
        ...


AnyQuery = TypeVar("AnyQuery", bound=_Query)
Outcome = TypeVar("Outcome")


def run_in_parts(
    queries: Sequence[AnyQuery],
    attempt: Callable[[Sequence[AnyQuery]], Outcome],
    read_all: Callable[[], object],
) -> tuple[list[Outcome], list[tuple[AnyQuery, AnswerError]]]:
    """Run a shared job of queries; if Spark stops it, run it in parts, without the culprits.

    Gives the outcomes of the parts that ran, and the queries that fail even alone. `read_all` reads
    the rows and nothing else: if that fails, too, or if Spark was interrupted, no query is to
    blame, and the error is raised.
    """
    try:
        return [attempt(queries)], []
    except SPARK_ERRORS as error:
        why = failed_job(error)
        if not is_caused_by_rows(error):
            raise why from error
        if len(queries) == 1:
            _refuse_unreadable(read_all)
            return [], [(queries[0], why)]
    outcomes: list[Outcome] = []
    culprits: list[tuple[AnyQuery, AnswerError]] = []
    for part in _parts(queries):
        ran, failed = run_in_parts(part, attempt, read_all)
        outcomes += ran
        culprits += failed
    return outcomes, culprits


def _parts(queries: Sequence[AnyQuery]) -> tuple[Sequence[AnyQuery], Sequence[AnyQuery]]:
    """Two parts of some queries: the fragile ones and the others, or two halves."""
    suspects = fragile(queries)
    if 0 < len(suspects) < len(queries):
        return [query for query in queries if not query.fragile], suspects
    half = len(queries) // 2
    return queries[:half], queries[half:]


def _refuse_unreadable(read_all: Callable[[], object]) -> None:
    """Raise if the rows cannot even be read: then a query that failed is not to blame."""
    try:
        read_all()
    except SPARK_ERRORS as error:
        raise failed_job(error) from error


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
        if not suspects or not is_caused_by_rows(error):
            raise why from error
        return retry(suspects, why)


def fragile(queries: Iterable[AnyQuery]) -> list[AnyQuery]:
    """The queries that may raise in the middle of a shared job."""
    return [query for query in queries if query.fragile]
