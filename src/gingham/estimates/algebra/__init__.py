"""The mathematics of estimated joins: AMS sketches that queries share within a budget of words.

    join_query      queries, and the tree of equalities in which equal queries are written alike
    coalesce        which queries share sketches, as the joint graph of all join trees
    sketch_basis    fewer sketches where queries select different rows
    allocation      how many words each sketch gets
    sharing_plan    all of these decisions in one plan; adopt adds a query to a plan
    weights         how hard each query is to estimate
    join_keys, signs, counters, relation_rows    rows to counters
    sketches, median_of_means, ratio_of_means    counters to estimates

Alon, Matias, Szegedy (1996) for the sketches; Dobra, Garofalakis, Gehrke, Rastogi, "Multi-query
optimization for sketch-based estimation" (2009) for sharing them; selections by fragments are
Gingham's own.
"""

from gingham.estimates.algebra.adopt import adopt
from gingham.estimates.algebra.allocation import Allocation, allocate
from gingham.estimates.algebra.join_query import Join, JoinQuery
from gingham.estimates.algebra.median_of_means import Estimate, median_of_means
from gingham.estimates.algebra.ratio_of_means import ratio_of_means
from gingham.estimates.algebra.sharing_plan import SharingPlan, plan_sharing
from gingham.estimates.algebra.sketches import Sketches, empty, estimate, samples, sketch, truncate
from gingham.estimates.algebra.vertex import Factor, Vertex
from gingham.estimates.algebra.weights import Histogram, histogram_weights, sketch_weights

__all__ = [
    "Allocation",
    "Estimate",
    "Factor",
    "Histogram",
    "Join",
    "JoinQuery",
    "SharingPlan",
    "Sketches",
    "Vertex",
    "adopt",
    "allocate",
    "empty",
    "estimate",
    "histogram_weights",
    "median_of_means",
    "plan_sharing",
    "ratio_of_means",
    "samples",
    "sketch",
    "sketch_weights",
    "truncate",
]
