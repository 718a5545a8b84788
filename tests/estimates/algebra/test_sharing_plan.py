"""Queries share sketches wherever their estimates stay right."""

import pytest

from gingham.core.errors import QueryError
from gingham.datasets.regions import workload
from gingham.estimates.algebra import JoinQuery, estimate, plan_sharing, sketch
from gingham.estimates.algebra.join_query import join_trees


@pytest.mark.parametrize("metric", ["average", "maximum"])
@pytest.mark.parametrize(
    ("number", "alone", "shared", "folded"), [(1, 34, 16, 15), (2, 82, 25, 24)]
)
def test_tpch_needs_as_few_vertices_as_in_the_paper(number, alone, shared, folded, metric):
    def vertices(**options):
        return len(plan_sharing(workload(number), budget=2000, metric=metric, **options).vertices)

    assert vertices(share="none") == alone
    assert vertices() == shared
    assert vertices(fold=True) == folded


def _families(plan, query):
    """The xi family of each attribute, for each factor of a query."""
    return [
        plan.vertices[vertex].families for factor in plan.factors[query] for vertex, _ in factor
    ]


def test_no_query_has_two_edges_on_one_family():
    plan = plan_sharing(workload(2), budget=2000)
    for tree in join_trees([JoinQuery(joins, name) for name, joins in workload(2).items()]):
        families = _families(plan, tree.name)
        edges = [(families[a][i], families[b][j]) for (a, i), (b, j) in tree.edges]
        assert all(one == other for one, other in edges)
        assert len({one for one, _ in edges}) == len(edges)


def test_a_vertex_that_would_tie_two_edges_of_a_query_is_not_shared():
    # Examples 3.1 and 3.2: sharing r1 and r3 both would put q1's two edges on one family.
    queries = [
        [("r1", "a", "r2", "a"), ("r2", "b", "r3", "b")],
        [("r1", "a", "r3", "b")],
    ]
    plan = plan_sharing(queries, budget=100)
    assert len(plan.vertices) == 4


def test_a_redundant_equality_is_no_cycle():
    triangle = [("a", "x", "b", "x"), ("b", "x", "c", "x"), ("c", "x", "a", "x")]
    path = [("b", "x", "c", "x"), ("a", "x", "c", "x")]
    plan = plan_sharing([triangle, path], budget=100)
    assert len(plan.vertices) == 3  # both say a.x = b.x = c.x


def test_a_cycle_that_another_spanning_tree_avoids_is_accepted():
    # Example 1.1: c, r1 and r2 at the same time, r1 and r2 of the same type as well.
    joins = [("c", "t", "r1", "t"), ("c", "t", "r2", "t"), ("r1", "k", "r2", "k")]
    (tree,) = join_trees([joins])
    assert len(tree.edges) == 3
    pairs = {frozenset((a, b)) for (a, _), (b, _) in tree.edges}
    assert len(pairs) == 2


def test_a_true_cycle_is_refused():
    with pytest.raises(QueryError, match=r"q1.*cycle of more than two") as error:
        plan_sharing(
            [[("a", "x", "b", "x"), ("b", "y", "c", "y"), ("c", "z", "a", "z")]], budget=100
        )
    assert "leave out" in error.value.instead


def test_two_attributes_between_the_same_pair_are_no_cycle():
    plan = plan_sharing([[("a", "x", "b", "x"), ("a", "y", "b", "y")]], budget=100)
    assert [vertex.attributes for vertex in plan.vertices] == [("x", "y"), ("x", "y")]


def test_what_is_no_equality_is_refused():
    with pytest.raises(QueryError, match="no equi-join"):
        plan_sharing([[("a", "x", "<", "b", "y")]], budget=100)  # pyright: ignore[reportArgumentType]


def test_counts_and_sums_do_not_share_the_summed_relation():
    joins = [("r", "a", "s", "a")]
    queries = [JoinQuery(joins, "n"), JoinQuery(joins, "total", measures={"r": "price"})]
    plan = plan_sharing(queries, budget=90)
    assert {(v.relation, v.measure) for v in plan.vertices} == {
        ("r", None),
        ("r", "price"),
        ("s", None),
    }
    assert len(plan.vertices) == 3


def test_equal_queries_share_everything():
    joins = [("r", "a", "s", "a"), ("s", "b", "t", "b")]
    plan = plan_sharing([joins] * 200, budget=900)
    assert plan.words == (300, 300, 300)
    assert len(plan.copies) == 200


RANGES = [frozenset(range(a, b)) for a in range(4) for b in range(a + 1, 5)]


def _ranges(**options):
    queries = [
        JoinQuery([("r", "a", "s", "a")], f"q{n}", selections={"r": selection})
        for n, selection in enumerate(RANGES)
    ]
    return plan_sharing(queries, budget=1000, **options)


def test_ten_ranges_over_four_fragments_need_four_sketches():
    assert len(_ranges(share="none").vertices) == 20
    assert len(_ranges(share="equal").vertices) == 11
    plan = _ranges()
    assert len(plan.vertices) == 5
    assert plan.error < _ranges(share="equal").error
    assert plan.notices == ("r: 10 selections from 4 sketches",)


def test_independent_selections_keep_a_sketch_each():
    queries = [
        JoinQuery([("r", "a", "s", "a")], f"q{n}", selections={"r": frozenset({n})})
        for n in range(3)
    ]
    assert len(plan_sharing(queries, budget=100).vertices) == 4


def test_everything_is_the_sum_of_its_parts_only_if_there_are_no_others():
    joins = [("r", "a", "s", "a")]
    queries = [
        JoinQuery(joins, "all"),
        JoinQuery(joins, "even", selections={"r": frozenset({0})}),
        JoinQuery(joins, "odd", selections={"r": frozenset({1})}),
    ]
    assert len(plan_sharing(queries, budget=100, fragments={"r": 2}).vertices) == 3
    assert len(plan_sharing(queries, budget=100).vertices) == 4


def test_when_there_are_too_many_pairs_the_plan_is_right_and_says_so():
    plan = plan_sharing(workload(2), budget=2000, effort=0)
    assert "were coalesced unweighed" in plan.notices[0]
    assert len(plan.vertices) <= 30


def test_a_selection_of_nothing_reads_its_relation_no_times():
    some = {str(n): frozenset(range(n)) for n in (1, 2)} | {"none": frozenset[int]()}
    queries = [
        JoinQuery([("r", "a", "s", "a")], name, selections={"r": found})
        for name, found in some.items()
    ]
    plan = plan_sharing(queries, budget=400, share="fragments", fragments={"r": 2})
    rows = sketch(plan, "r", {"a": [1, 2]}, fragments=[0, 1]) + sketch(plan, "s", {"a": [1, 2]})
    found = estimate(plan, rows, "none")
    assert (found.value, found.lower, found.upper) == (0, 0, 0)
    assert all(vertices for vertices in plan.factors["none"])
    nothing = JoinQuery(
        [("r", "a", "z", "a")],
        relations={"z": "r"},
        selections={"r": frozenset(), "z": frozenset()},
    )
    assert plan_sharing([nothing], budget=9, share="fragments", fragments={"r": 2}).vertices


def test_the_fingerprint_of_a_plan_is_what_checkpoints_of_earlier_versions_hold():
    joins = [("r", "a", "s", "b")]
    queries = [
        JoinQuery(joins, "all", measures={"s": "x"}),
        JoinQuery(joins, "some", selections={"r": frozenset({1})}),
    ]
    plan = plan_sharing(queries, budget=100, fragments={"r": 2}, seed=3)
    assert plan.fingerprint == "a0fcdbe91297c7ed"
