"""A new query reads sketches that are kept for others, wherever its estimate stays right."""

from gingham.datasets.regions import workload
from gingham.estimates.algebra import JoinQuery, adopt, empty, plan_sharing, samples, sketch

PAIR = JoinQuery([("r", "a", "s", "a")], "pair")
CHAIN = JoinQuery([("r", "a", "s", "a"), ("s", "b", "t", "b")], "chain")


def _plan(*queries, **options):
    return plan_sharing(queries, budget=300, **options)


def test_the_sketches_of_others_serve_a_query_that_joins_the_same():
    plan = _plan(PAIR, CHAIN)
    found = adopt(plan, [PAIR, CHAIN], JoinQuery([("s", "a", "r", "a")], "new"))
    assert found is not None
    assert (found.vertices, found.words) == (plan.vertices, plan.words)
    assert found.fingerprint == plan.fingerprint
    assert found.copies["new"] == plan.copies["pair"]
    rows = empty(plan) + sketch(plan, "r", {"a": [1, 2, 2]})
    rows += sketch(plan, "s", {"a": [2, 3], "b": [5, 5]})
    assert samples(found, rows, "new").tolist() == samples(plan, rows, "pair").tolist()


def test_a_relation_that_nobody_sketched_is_missing():
    assert adopt(_plan(PAIR), [PAIR], JoinQuery([("r", "a", "t", "a")], "new")) is None
    assert adopt(_plan(PAIR), [PAIR], JoinQuery([("r", "b", "s", "a")], "new")) is None


def test_a_measure_or_selection_that_nobody_has_is_missing():
    summed = JoinQuery(PAIR.joins, "new", measures={"s": "x"})
    some = JoinQuery(PAIR.joins, "new", selections={"s": frozenset({0})})
    for new in (summed, some):
        assert adopt(_plan(PAIR), [PAIR], new) is None
        known = JoinQuery(new.joins, "known", {}, new.measures, new.selections)
        plan = plan_sharing([PAIR, known], budget=300, fragments={"s": 2})
        assert adopt(plan, [PAIR, known], new) is not None


def test_signs_that_are_not_the_same_cannot_be_joined():
    # r and t are both sketched, but on the signs of two different joins.
    new = JoinQuery([("r", "a", "t", "b")], "new")
    assert adopt(_plan(CHAIN), [CHAIN], new) is None


def test_all_ways_to_choose_are_tried():
    # s has two sketches by a, on different signs; only one of them fits that of t.
    one = JoinQuery([("r", "a", "s", "a")], "one")
    two = JoinQuery([("s", "a", "t", "c")], "two")
    plan = _plan(one, two, share="none")
    found = adopt(plan, [one, two], JoinQuery([("t", "c", "s", "a")], "new"))
    assert found is not None
    assert set(found.factors["new"]) == set(plan.factors["two"])


def test_what_is_adopted_never_ties_two_joins():
    queries = [JoinQuery(joins, name) for name, joins in workload(1).items()]
    adopted: list[str] = []
    for query in queries:
        others = [one for one in queries if one is not query]
        found = adopt(plan_sharing(others, budget=2000), others, query)
        if found is None:
            continue
        adopted.append(query.name)
        used = [found.vertices[v].families for f in found.factors[query.name] for v, _ in f]
        families = [family for its in used for family in its]
        assert all(families.count(family) == 2 for family in families)
    assert adopted == ["Q2", "Q4", "Q7", "Q11", "Q12"]
