"""Readings of the paper's generator: where regions lie, and what the volume of a region is.

The paper says that rectangular regions are distributed uniformly, and that each has a volume of
1,000 to 2,000. That leaves open whether relations that are joined have their regions in the same
places, and whether the volume counts the attributes of a relation or of all that are joined.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.sections import Section
from benchmarks.sketch_panels import BUDGETS, Workload
from benchmarks.targets import Target
from gingham.datasets.regions import Regions, workload
from gingham.estimates.algebra import (
    JoinQuery,
    SharingPlan,
    histogram_weights,
    plan_sharing,
    samples,
    sketch_weights,
)
from gingham.estimates.algebra.allocation import METRICS

# More words than any budget: the variance of hard queries shows in many copies only.
_WORDS = 60_000
# The paper: errors of shared sketches are less than this in most cases.
_CLAIM = 0.1


def readings(rows: int, repetitions: int) -> Section:
    """The errors of workload 1 with shared sketches, by reading: variance / copies."""
    found = {
        ("shared", "alike"): Regions(rows=rows),
        ("shared", "by relation"): Regions(rows=rows, widths="by relation"),
        ("reordered", "alike"): Regions(rows=rows, centres="reordered"),
        ("reordered", "by relation"): Regions(rows=rows, centres="reordered", widths="by relation"),
        ("independent", "alike"): Regions(rows=rows, centres="independent"),
        ("independent", "by relation"): Regions(
            rows=rows, centres="independent", widths="by relation"
        ),
    }
    table = {name: _errors(regions, repetitions) for name, regions in found.items()}
    least = table["shared", "alike"]
    assert not isinstance(least, str)  # its joins are not empty
    below = sum(error < _CLAIM for error in least[: len(BUDGETS)])
    return Section(
        "readings of the generator: workload 1, sharing, average squared error by words",
        ("centres", "widths", *(f"{b // 1000}K" for b in BUDGETS), "without\nQ5, 20K"),
        [
            (*name, *((errors,) if isinstance(errors, str) else (f"{e:.2g}" for e in errors)))
            for name, errors in table.items()
        ],
        caption="empty joins, which have no relative error: of the first data with any",
        targets=[
            Target(
                "average squared errors below 10 %",
                "most budgets",
                f"{below} of {len(BUDGETS)}",
                below > len(BUDGETS) / 2,
            )
        ],
    )


def weighing(rows: int) -> Section:
    """What weights do to workloads: variance / copies relative to uniform weights.

    They are guessed from histograms, or measured in an earlier window with uniform weights. The
    paper says that workload 3 ends with Q28, and calls its heaviest query Q29: both are tried.
    """
    names = {
        "workload 1": list(workload(1)),
        "workload 2": list(workload(2)),
        "workload 3, with Q28": list(workload(3)),
        "workload 3, with Q29": [*list(workload(3))[:-1], "Q29"],
    }
    joins, tables = workload(2), Regions(rows=rows).tables()
    statistics = {
        name: {attribute: table.histogram(attribute) for attribute in table.keys}
        for name, table in tables.items()
    }
    cells: list[tuple[str, ...]] = []
    for title, chosen in names.items():
        queries = [JoinQuery(joins[name], name) for name in chosen]
        work = Workload.of(queries, tables)
        spread = _spread(work, plan_sharing(queries, budget=_WORDS))
        guessed = histogram_weights(queries, statistics)
        ratios: list[str] = []
        for metric in METRICS:
            planned = partial(plan_sharing, queries, budget=BUDGETS[-1], metric=metric)
            uniform = planned(seed=1)
            measured = sketch_weights(uniform, work.sketched(uniform))
            total = np.mean if metric == "average" else np.max
            errors = [
                float(total([spread[name] / plan.copies[name] for name in chosen]))
                for plan in (planned(weights=guessed), planned(weights=measured), uniform)
            ]
            ratios += [f"{error / errors[-1]:.2f}" for error in errors[:-1]]
        cells.append((title, *ratios))
    return Section(
        f"errors relative to those of uniform weights, {BUDGETS[-1]:,} words",
        ("", *(f"{m},\n{way}" for m in METRICS for way in ("histograms", "last window"))),
        cells,
    )


def _spread(work: Workload, plan: SharingPlan) -> dict[str, float]:
    """The variance of each query's copies, relative to its squared answer."""
    sketches = work.sketched(plan)
    return {
        name: float(np.mean((samples(plan, sketches, name) / truth - 1) ** 2))
        for name, truth in work.truths.items()
    }


def _errors(regions: Regions, repetitions: int) -> list[float] | str:
    """Variance / copies for each budget, averaged over queries and seeds; last without Q5."""
    queries = [JoinQuery(joins, name) for name, joins in workload(1).items()]
    plan = plan_sharing(queries, budget=_WORDS)
    sized = [plan.within(budget) for budget in BUDGETS]
    found: list[list[float]] = []
    for seed in range(repetitions):
        work = Workload.of(queries, regions.tables(seed))
        empty = [name for name, truth in work.truths.items() if not truth]
        if empty:
            return f"empty joins: {len(empty)}"
        spread = _spread(work, replace(plan, seed=seed))
        squared = [{name: spread[name] / one.copies[name] for name in spread} for one in sized]
        others = [error for name, error in squared[-1].items() if name != "Q5"]
        found.append([*(float(np.mean(list(s.values()))) for s in squared), float(np.mean(others))])
    return np.mean(found, axis=0).tolist()
