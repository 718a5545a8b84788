"""What a batch run estimates from fewer copies, as a stream that has dropped some does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gingham import Estimator
from gingham.estimates.planning.estimate_query import window_starts
from gingham.estimates.planning.sketch_table import SketchTable, keep_words, words_of


def rows_of(estimates: pa.Table) -> list[dict]:
    """Estimates as rows by window, with instants in microseconds."""
    for column in ("window_start", "window_end"):
        place = estimates.column_names.index(column)
        micros = estimates[column].cast(pa.int64())
        estimates = estimates.set_column(place, column, micros)
    return estimates.sort_by("window_start").to_pylist()


def batch_estimates(sketches: Estimator, name: str, found: Sequence[dict] = ()) -> list[dict]:
    """The estimates of a batch run: of windows that were `found`, from as many words as these.

    A stream drops copies if it is ahead of another.
    """
    plan, session = sketches.plan(), sketches._session
    rows = {step.relation: session.source(step.relation).rows for step in plan.passes}
    made, query = session.sketch(plan, rows), next(q for q in plan.queries if q.name == name)
    read = {v for part in query.parts for factor in plan.sharing.factors[part] for v, _ in factor}
    most = len(read) * min(plan.sharing.copies[part] for part in query.parts)

    def estimated(words: int) -> dict[int, dict]:
        kept = np.minimum(words_of(made), words // len(read))
        table = SketchTable(keep_words(made, kept), plan.sharing)
        starts = window_starts(query, table, plan.sliced)
        answers = rows_of(session.estimate(query, plan, table, starts).table)
        return {row["window_start"]: row for row in answers}

    words = {row["window_start"]: row["words"] for row in found}
    by_words = {each: estimated(each) for each in {most, *words.values()}}
    return [by_words[words.get(start, most)][start] for start in by_words[most]]
