"""However a join is written, it is read as the same; whatever closes a circle is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.core.errors import QueryError
from gingham.estimates.planning.join_aggregate import Relation
from gingham.estimates.planning.parse_joins import parse_join_aggregate

NAMES = ("r", "s", "t", "u", "v", "w")
COLUMNS = ("a", "b", "c", "d", "e", "f")
CATALOG = {name: Relation(name, dict.fromkeys(COLUMNS, "int")) for name in NAMES[:4]}


@st.composite
def _trees(draw):
    """Aliases of relations, and one equality from each but the first to one before it."""
    size = draw(st.integers(2, 6))
    relations = {NAMES[i]: draw(st.sampled_from(NAMES[:4])) for i in range(size)}
    joins = []
    for number, alias in enumerate(list(relations)[1:], 1):
        other = NAMES[draw(st.integers(0, number - 1))]
        for _ in range(draw(st.integers(1, 2))):
            one, two = draw(st.sampled_from(COLUMNS)), draw(st.sampled_from(COLUMNS))
            joins.append((other, one, alias, two))
    return relations, joins


def _equality(draw, join):
    one, a, other, b = join
    sides = [f"{one}.{a}", f"{other}.{b}"]
    if draw(st.booleans()):
        sides.reverse()
    text = " = ".join(sides)
    return f"({text})" if draw(st.booleans()) else text.upper()


@given(_trees(), st.data())
def test_every_way_to_write_a_join_says_the_same(tree, data):
    relations, joins = tree
    selections = {
        alias: data.draw(st.sampled_from(("a > 5", "b IN (1, 2)", "c IS NULL OR d < 3")))
        for alias in relations
        if data.draw(st.booleans())
    }
    where, text = [], ""
    for alias, relation in relations.items():
        named = f"{relation} {'AS ' if data.draw(st.booleans()) else ''}{alias}"
        own = [join for join in joins if join[2] == alias]
        written = [_equality(data.draw, join) for join in own]
        if not text:
            text = named
        elif data.draw(st.booleans()):
            text += f" JOIN {named} ON {' AND '.join(written)}"
        else:
            text += f", {named}"
            where += written
    for alias, condition in selections.items():
        qualified = condition
        for column in COLUMNS:
            qualified = qualified.replace(f"{column} ", f"{alias}.{column} ")
        where.append(f"({qualified})")
    where = data.draw(st.permutations(where))
    sql = f"SELECT count(*) FROM {text}" + (f" WHERE {' AND '.join(where)}" if where else "")
    query = parse_join_aggregate(sql, "q", CATALOG).query
    assert query.relations == relations
    assert sorted(map(_sides, query.joins)) == sorted(map(_sides, joins))
    found = {alias: selection.sql for alias, selection in query.selections.items()}
    assert found == selections


def _sides(join):
    return sorted([join[:2], join[2:]])


@given(st.integers(3, 6), st.data())
def test_a_circle_is_refused(size, data):
    aliases = NAMES[:size]
    # Two different columns in every relation: no equality follows from the others.
    joins = [(aliases[i], "a", aliases[(i + 1) % size], "b") for i in range(size)]
    joins = data.draw(st.permutations(joins))
    where = " AND ".join(_equality(data.draw, join) for join in joins)
    listed = ", ".join(f"r AS {alias}" for alias in aliases)
    with pytest.raises(QueryError, match="cycle of more than two relations"):
        parse_join_aggregate(f"SELECT count(*) FROM {listed} WHERE {where}", "q", CATALOG)


@given(
    _trees(),
    st.sampled_from(("<", "<=", ">", ">=", "<>", "<=>", "LIKE")),
    st.data(),
)
def test_anything_but_an_equality_between_relations_is_refused(tree, operator, data):
    relations, joins = tree
    one, two = data.draw(
        st.lists(st.sampled_from(list(relations)), min_size=2, max_size=2, unique=True)
    )
    odd = f"{one}.a {operator} {two}.b"
    if data.draw(st.booleans()):
        odd = f"({one}.a = 1 OR {two}.b = 2)"
    where = [" = ".join((f"{o}.{a}", f"{p}.{b}")) for o, a, p, b in joins] + [odd]
    listed = ", ".join(f"{relation} AS {alias}" for alias, relation in relations.items())
    text = f"SELECT count(*) FROM {listed} WHERE {' AND '.join(data.draw(st.permutations(where)))}"
    with pytest.raises(QueryError) as refused:
        parse_join_aggregate(text, "q", CATALOG)
    assert "no equality" in refused.value.what or "an OR across" in refused.value.what
