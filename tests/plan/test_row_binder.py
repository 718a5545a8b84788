"""What is bound for rows is evaluated as Spark would evaluate the query alone."""

from gingham.logical.domain import BOOLEAN
from gingham.logical.predicate import Attribute, IsNull, Not, Span
from gingham.logical.risk import Risk
from gingham.plan.row_binder import RowBinder


def _bound(risk: Risk) -> object:
    binder = RowBinder({"f(x)": "date"}, lambda _: risk)
    return binder.condition(Not(IsNull("f(x)")), "f(x) IS NOT NULL").predicate


def test_spark_tells_whether_something_that_may_raise_is_null():
    # It need not evaluate make_date(2024, m, 1), which raises or is no NULL.
    assert _bound("likely") == Not(Span(Attribute("(f(x)) IS NULL", BOOLEAN), low=True))


def test_what_never_raises_is_an_attribute_with_an_interval_for_null():
    found = _bound("never")
    assert isinstance(found, Not)
    assert isinstance(found.term, Span)
    assert found.term.on_null is True
