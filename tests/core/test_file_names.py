"""Any name has a file name of its own that stays in its folder."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gingham.core.errors import QueryError
from gingham.core.file_names import LONGEST_NAME, check_name, file_name, name_of

ANY = st.text(st.characters(exclude_categories=["Cs"]))
# What a file system, Spark or Arrow would read something into.
HOSTILE = [
    "", ".", "..", "../../x", "/etc/passwd", "a/b", "a\\b", "\0", "a\nb", "~", "~~", "_x", ".x",
    "-rf", "x.", "x ", "con", "CON", "nul.json", "com1", "a=b", "s3://b/c", "%2e%2e", "*", "{a,b}",
    "Größe", "gro\u0308ße", "A", "a", "~a", "~065", "x" * 128, "X" * 128, "指" * 42,
    "\U0001f9f5" * 32,
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_name_is_one_part_of_a_path_that_every_file_system_takes(name: str):
    file = file_name(name)
    assert re.fullmatch(r"[a-z0-9~][a-z0-9~_.-]*", file)
    assert not file.endswith(".")
    assert not re.match(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", file)
    # With the number of an answer and the mark of an unfinished file.
    assert len(f"_{file}.000000000012.json.tmp") <= 255
    assert name_of(file) == name


def test_no_two_names_share_a_file_even_where_capitals_do_not_count():
    assert len({file_name(name).casefold() for name in HOSTILE}) == len(HOSTILE)


@given(ANY)
@example("\x7f\x80ÿ")
def test_a_name_is_read_back_from_its_file_name(name: str):
    assert name_of(file_name(name)) == name
    assert "/" not in file_name(name)


def test_plain_names_are_their_own_file_names():
    assert [file_name(name) for name in ("big_caps", "q1", "v1.2", "mid-caps")] == [
        "big_caps",
        "q1",
        "v1.2",
        "mid-caps",
    ]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("", "an empty name"),
        (" \n", "an empty name"),
        (7, "7 as the name"),
        (b"q", "b'q' as the name"),
        ("x" * 10_000, "10,000 bytes"),
        ("指" * 43, "129 bytes"),
        ("\ud800", "'\\ud800' as the name"),
    ],
)
def test_names_that_cannot_be_file_names_are_refused_in_short(name: object, what: str):
    with pytest.raises(QueryError) as refused:
        check_name(name, "query", QueryError)
    assert what in refused.value.what
    assert refused.value.why
    assert refused.value.instead
    assert len(str(refused.value)) < 400


def test_a_name_of_the_full_length_is_fine():
    assert check_name("x" * LONGEST_NAME, "query", QueryError) == "x" * LONGEST_NAME
