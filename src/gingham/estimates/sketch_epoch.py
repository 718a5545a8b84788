"""A plan of sketches over joined streams while it is in use, with its sketches so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from gingham.core.errors import GinghamError
from gingham.core.time import NEVER
from gingham.estimates.join_codec import join_to_json
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.drop_queries import drop_queries
from gingham.estimates.planning.share_sketches import adopt_query
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import SketchTable


@dataclass(frozen=True, slots=True)
class StoredSketchEpoch:
    """What an epoch of sketches was planned from, as the checkpoint's log keeps it.

    `since` is where its first windows may start. `adopted` are queries that came later and read
    its sketches: their text, and where the first of their windows may end. `raised` are queries
    that it went on without, and why. `bound` are all of its queries as they were planned.
    """

    number: int
    since: int
    queries: Mapping[str, str]
    weights: Mapping[str, float]
    fingerprint: str
    adopted: Mapping[str, tuple[str, int]]
    raised: Mapping[str, tuple[str, str, str]]
    bound: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


@dataclass
class SketchEpoch:
    """A plan of sketches over streams, the windows that it answers, and their sketches so far."""

    number: int
    plan: SketchPlan
    since: int  # its windows start here or later,
    until: int  # and before this
    tables: pa.Table  # sketches of what is no stream
    parts: list[pa.Table] = field(default_factory=list[pa.Table])
    floor: int = NEVER  # slices before this are dropped: windows that start earlier lack some
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

    def sketches(self) -> SketchTable:
        """All sketches so far, of streams and of static tables."""
        return SketchTable(pa.concat_tables([self.tables, *self.parts]), self.plan.sharing)
