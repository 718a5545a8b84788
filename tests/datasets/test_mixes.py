import pytest

from gingham.datasets.mixes import AGGREGATES, KEY_SETS, mix_queries


@pytest.mark.parametrize("n", [8, 1024])
def test_a_mix_has_as_many_queries_as_asked_for_and_none_twice(n):
    found = mix_queries(n)
    assert len({query.name for query in found}) == n
    assert len({query.sql for query in found}) == n


def test_the_seed_decides_and_a_larger_mix_begins_with_the_smaller_one():
    assert mix_queries(64, seed=3)[:16] == mix_queries(16, seed=3)
    assert mix_queries(16, seed=3) != mix_queries(16, seed=4)


def test_a_query_takes_one_to_four_of_twelve_aggregates_each_once():
    found = mix_queries(256)
    assert len(AGGREGATES) == 12
    assert {len(query.aggregates) for query in found} == {1, 2, 3, 4}
    assert {call for query in found for call in query.aggregates} == set(AGGREGATES)
    assert all(len(set(query.aggregates)) == len(query.aggregates) for query in found)


def test_every_key_set_is_as_frequent_as_the_others():
    found = [query.keys for query in mix_queries(1024)]
    for keys in KEY_SETS:
        assert found.count(keys) == pytest.approx(256, rel=0.2)


def test_windows_are_one_to_fifteen_minutes_tumbling_and_sliding_some_of_them_moved():
    windows = [query.window for query in mix_queries(1024)]
    assert {length // 60 for length, _, _ in windows} == set(range(1, 16))
    assert all(60 <= slide <= length and offset < slide for length, slide, offset in windows)
    assert 0.3 < sum(slide < length for length, slide, _ in windows) / 1024 < 0.6
    assert 0.25 < sum(offset > 0 for _, _, offset in windows) / 1024 < 0.45


def test_predicates_use_every_form_and_every_attribute():
    text = " ".join(query.predicate or "" for query in mix_queries(256))
    for form in (" AND ", " OR ", "NOT (", " IN (", " BETWEEN ", " LIKE ", " IS NULL", "DATE '"):
        assert form in text
    for column in ("status", "bytes", "latency", "price", "level", "url", "ok", "day", "seen"):
        assert column in text
    assert any(query.predicate is None for query in mix_queries(256))
