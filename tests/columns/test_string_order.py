"""Strings are compared with constants in the order of their bytes."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gingham.columns.text.string_order import StringOrder

# Prefixes of each other, longer than what is compared at once, with zeros and beyond ASCII.
_TEXTS = st.text("ab\0é日", max_size=3) | st.builds(
    lambda start, end: start + end,
    st.sampled_from(["/home/12", "/home/1", "aaaaaaaa"]),
    st.text("a\0é", max_size=2),
)


@given(texts=st.lists(_TEXTS | st.none(), min_size=1), cut=_TEXTS)
def test_strings_are_ordered_by_their_bytes(texts: list[str | None], cut: str):
    order = StringOrder(pa.array(["x", *texts], pa.string()).slice(1))
    known = [i for i, text in enumerate(texts) if text is not None]
    at_least, equal = order.at_least(cut), order.equal(cut)
    assert [bool(at_least[i]) for i in known] == [
        (texts[i] or "").encode() >= cut.encode() for i in known
    ]
    assert [bool(equal[i]) for i in known] == [texts[i] == cut for i in known]
