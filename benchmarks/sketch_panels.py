"""Errors of shared sketches against the budget: a panel is one workload by one metric.

Squared errors of joins have heavy tails: a few repetitions decide the mean. So errors are reported
twice: as measured, with error bars, and as variance / copies, where the variance of a query is
measured over all copies of all repetitions and ways. It does not depend on which queries share
sketches, and ratios of such errors have next to no noise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.sketch_report import Curve, Panel
from gingham.core.arrays import Floats
from gingham.datasets.regions import Table, workload
from gingham.estimates.algebra import (
    JoinQuery,
    SharingPlan,
    Sketches,
    empty,
    histogram_weights,
    median_of_means,
    plan_sharing,
    samples,
    sketch,
    sketch_weights,
    truncate,
)
from gingham.estimates.algebra.allocation import Metric
from gingham.estimates.algebra.sharing_plan import Sharing
from tests.oracle.joins import join_size

# Words in all.
BUDGETS = (2000, 4000, 8000, 12_000, 16_000, 20_000)
REPETITIONS = 100
# Sketches of an earlier window have random signs of their own.
EARLIER = 1_000_000


@dataclass(frozen=True, slots=True)
class Workload:
    """Queries, their data and their true answers."""

    queries: Sequence[JoinQuery]
    tables: Mapping[str, Table]
    truths: Mapping[str, float]

    @classmethod
    def of(cls, queries: Sequence[JoinQuery], tables: Mapping[str, Table]) -> "Workload":
        """Compute the true answers of queries over these tables."""
        return cls(queries, tables, {query.name: join_size(query, tables) for query in queries})

    def sketched(self, plan: SharingPlan) -> Sketches:
        """Sketch all rows by a plan."""
        total = empty(plan)
        for name in dict.fromkeys(vertex.relation for vertex in plan.vertices):
            table = self.tables[name]
            total += sketch(plan, name, table.keys, counts=table.counts, fragments=table.fragments)
        return total

    def measure(self, plans: Sequence[SharingPlan]) -> "Measured":
        """Estimate every query with every plan.

        The plans differ in nothing but their sizes, so one pass over the rows serves all.
        """
        largest = widest(plans)
        found = self.sketched(largest)
        shape = len(plans), len(self.queries)
        errors, held, copies = np.empty(shape), np.empty(shape), np.empty(shape)
        spread = np.empty(shape[1])
        for i, plan in enumerate(plans):
            mine = truncate(found, largest, plan)
            for j, (name, truth) in enumerate(self.truths.items()):
                values = samples(plan, mine, name)
                one = median_of_means(values)
                errors[i, j] = (one.value / truth - 1) ** 2
                stated = np.isfinite(one.upper)
                held[i, j] = one.lower <= truth <= one.upper if stated else np.nan
                copies[i, j] = plan.copies[name]
                spread[j] = ((values / truth - 1) ** 2).mean()
        return Measured(errors, held, copies, spread)


@dataclass(frozen=True, slots=True)
class Measured:
    """By plan and query: squared relative errors, whether the interval holds the truth, copies.

    Where there are too few copies for an interval it holds nothing: NaN.

    `spread` is the variance of a query's copies, relative to the squared truth.
    """

    errors: Floats
    held: Floats
    copies: Floats
    spread: Floats


def widest(plans: Sequence[SharingPlan]) -> SharingPlan:
    """The plan that has the most words of any of these plans, sketch by sketch."""
    words = tuple(max(sizes) for sizes in zip(*(plan.words for plan in plans), strict=True))
    return replace(plans[0], words=words)


def standard_error(values: Floats) -> Floats:
    """The standard error of means over repetitions, which are the first axis."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


Way = Callable[[int], list[SharingPlan]]  # repetition -> a plan for each budget


def panel(
    number: int,
    metric: Metric,
    tables: Mapping[str, Table],
    budgets: Sequence[int] = BUDGETS,
    repetitions: int = REPETITIONS,
    step: Callable[[], None] = lambda: None,
) -> Panel:
    """One workload, one metric: the errors of all ways against the budget."""
    queries = [JoinQuery(joins, name) for name, joins in workload(number).items()]
    work = Workload.of(queries, tables)
    ways = dict(_ways(work, metric, budgets, weighed=number == 3))
    found: dict[str, list[Measured]] = {way: [] for way in ways}
    for repetition in range(repetitions):
        for way, plans in ways.items():
            found[way].append(work.measure(plans(repetition)))
        step()
    everything = [one for several in found.values() for one in several]
    spread = np.average(
        [one.spread for one in everything], axis=0, weights=[one.copies[-1] for one in everything]
    )
    curves = {way: _curve(several, spread, metric) for way, several in found.items()}
    held = float(np.nanmean([one.held for one in everything]))
    return Panel(number, metric, tuple(budgets), curves, held)


def _curve(several: Sequence[Measured], spread: Floats, metric: Metric) -> Curve:
    values = np.array([_total(one.errors, metric) for one in several])
    by_query = np.mean([one.errors for one in several], axis=0)
    found = (
        values.mean(axis=0),
        standard_error(values),
        np.mean([_total(spread / one.copies, metric) for one in several], axis=0),
        np.exp(np.log(by_query).mean(axis=1)),
        np.mean([_total(np.sqrt(one.errors), metric) for one in several], axis=0),
    )
    return Curve(*(tuple(part.tolist()) for part in found))


def _total(errors: Floats, metric: Metric) -> Floats:
    return errors.mean(axis=1) if metric == "average" else errors.max(axis=1)


def _ways(
    work: Workload, metric: Metric, budgets: Sequence[int], *, weighed: bool
) -> Iterator[tuple[str, Way]]:
    def planned(weights: Mapping[str, float] | None = None, share: Sharing = "fragments") -> Way:
        plan = plan_sharing(
            work.queries, budget=budgets[-1], metric=metric, weights=weights, share=share
        )
        sized = [plan.within(budget) for budget in budgets]
        return lambda repetition: [replace(one, seed=repetition) for one in sized]

    uniform = planned()

    def reweighed(repetition: int) -> list[SharingPlan]:
        """Uniform weights for one window; what it shows are the weights of the next."""
        earlier = [replace(plan, seed=EARLIER + repetition) for plan in uniform(repetition)]
        largest = widest(earlier)
        found = work.sketched(largest)
        return [
            replace(
                plan.within(budget, sketch_weights(plan, truncate(found, largest, plan))),
                seed=repetition,
            )
            for plan, budget in zip(earlier, budgets, strict=True)
        ]

    if not weighed:
        yield "no sharing", planned(share="none")
        yield "sharing", uniform
        return
    statistics = {
        name: {attribute: table.histogram(attribute) for attribute in table.keys}
        for name, table in work.tables.items()
    }
    yield "uniform", uniform
    yield "histograms", planned(histogram_weights(work.queries, statistics))
    yield "last window", reweighed
