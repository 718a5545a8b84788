"""A plan of sketches over joined streams while it is in use, with its sketches so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.core.errors import GinghamError
from gingham.core.time import NEVER
from gingham.estimates.join_codec import join_to_json
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.drop_queries import drop_queries
from gingham.estimates.planning.share_sketches import adopt_query
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import SketchTable, no_sketches


@dataclass(frozen=True, slots=True)
class StoredSketchEpoch:
    """What an epoch of sketches was planned from, as the checkpoint's log keeps it.

    `since` is where its first windows may start. `adopted` are queries that came later and read
    its sketches: their text, and where the first of their windows may end. `raised` are queries
    that it went on without, and why. `bound` are all of its queries as they were planned.
    `per_slice` says what its budget is for: one slice, or all that are held.
    """

    number: int
    since: int
    queries: Mapping[str, str]
    weights: Mapping[str, float]
    fingerprint: str
    adopted: Mapping[str, tuple[str, int]]
    raised: Mapping[str, tuple[str, str, str]]
    bound: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    # Logs from before windows were woven do not say so: the budget was that of one slice.
    per_slice: bool = True


@dataclass
class SketchEpoch:
    """A plan of sketches over streams, the windows that it answers, and their sketches so far."""

    number: int
    plan: SketchPlan
    since: int  # its windows start here or later,
    until: int  # and before this
    tables: pa.Table  # sketches of what is no stream
    per_slice: bool = False  # planned as its log entry says, see `StoredSketchEpoch`
    parts: list[pa.Table] = field(default_factory=list[pa.Table])
    # By sketch: slices before this are dropped, so windows that start earlier lack some.
    floors: dict[int, int] = field(default_factory=dict[int, int])
    # Queries that came later: their windows end after this.
    adopted: dict[str, int] = field(default_factory=dict[str, int])
    # Queries that raised in a batch, or that Spark refuses now, and why: it goes on without them.
    raised: dict[str, GinghamError] = field(default_factory=dict[str, GinghamError])

    @property
    def planned(self) -> dict[str, str]:
        """The text of the join queries that the plan was made for; others came later."""
        queries = self.plan.queries
        return {q.name: q.query.text for q in queries if q.name not in self.adopted}

    @property
    def stored(self) -> StoredSketchEpoch:
        """The epoch of sketches as the log keeps it."""
        sharing, queries = self.plan.sharing, {query.name: query for query in self.plan.queries}
        adopted = {n: (queries[n].query.text, after) for n, after in self.adopted.items()}
        raised = {name: (e.what, e.why, e.instead) for name, e in self.raised.items()}
        return StoredSketchEpoch(
            number=self.number,
            since=self.since,
            queries=self.planned,
            weights=sharing.weights,
            fingerprint=sharing.fingerprint,
            adopted=adopted,
            raised=raised,
            bound={name: join_to_json(query) for name, query in queries.items()},
            per_slice=self.per_slice,
        )

    @property
    def live(self) -> SketchPlan:
        """The plan that rows are sketched by: without what only queries that raised need."""
        return drop_queries(self.plan, self.raised)[0] if self.raised else self.plan

    @property
    def lost(self) -> dict[str, GinghamError]:
        """The join queries that lack sketches since some raised, and why."""
        if not self.raised:
            return {}
        why = next(iter(self.raised.values()))
        return {**dict.fromkeys(drop_queries(self.plan, self.raised)[1], why), **self.raised}

    def adopt(self, query: BoundJoin, after: int) -> bool:
        """Let a later join query read the sketches; False if it does already, or cannot."""
        # Once a query raised, some sketches have gaps.
        if self.raised or any(query.name == known.name for known in self.plan.queries):
            return False
        plan = adopt_query(self.plan, query)
        if plan is None:
            return False
        self.plan, self.adopted[query.name] = plan, after
        return True

    def read_by(self, registered: Mapping[str, str]) -> list[BoundJoin]:
        """The join queries of this epoch's plan that are registered unchanged and answerable."""
        known, lost = self.plan.queries, self.lost
        return [q for q in known if registered.get(q.name) == q.query.text and q.name not in lost]

    def floor(self, query: BoundJoin) -> int:
        """The first start of a window of a join query for which all its sketches have slices."""
        return max(self.floors.get(vertex, NEVER) for vertex in self._vertices(query))

    def drop_before(self, needed: Mapping[str, int], otherwise: int) -> None:
        """Add up the sketches of each slice, and drop slices that no query needs any more.

        `needed` has by query where the first window starts that is not estimated yet; sketches that
        none of these reads are dropped up to `otherwise`.
        """
        reading = [(q, needed[q.name]) for q in self.plan.queries if q.name in needed]
        floors: dict[int, int] = {}
        for query, floor in reading:
            for vertex in self._vertices(query):
                floors[vertex] = min(floor, floors.get(vertex, floor))
        # What is gone is gone for good.
        self.floors = {
            vertex.number: max(
                floors.get(vertex.number, otherwise), self.floors.get(vertex.number, NEVER)
            )
            for vertex in self.plan.sharing.vertices
        }
        if self.parts:
            parts = SketchTable(pa.concat_tables(self.parts), self.plan.sharing)
            self.parts = [tag_with_epoch(parts.condensed(self.floors), self.number)]

    def _vertices(self, query: BoundJoin) -> set[int]:
        """The numbers of the sketches that a join query of the plan reads."""
        factors = self.plan.sharing.factors
        return {v for part in query.parts for factor in factors[part] for v, _ in factor}

    def sketches(self) -> SketchTable:
        """All sketches so far, of streams and of static tables."""
        return SketchTable(pa.concat_tables([self.tables, *self.parts]), self.plan.sharing)


def tag_with_epoch(sketches: pa.Table, epoch: int) -> pa.Table:
    """Tag rows of a sketch table with the number of the epoch that made them."""
    tags = pa.array(np.full(sketches.num_rows, epoch, dtype=np.int64))
    return sketches.append_column(names.EPOCH, tags).select(NO_SKETCHES.column_names)


NO_SKETCHES = no_sketches().append_column(names.EPOCH, pa.array([], pa.int64()))
