"""Tests of strings are answered as Spark answers them: LIKE, RLIKE, contains and the others."""

import re
import sys
import unicodedata
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gingham import Loom
from gingham.columns.text import byte_search, matcher
from gingham.columns.text.java_regex import NotReadError, read_regex
from gingham.columns.text.matcher import TextMatcher, can_be_matched
from gingham.logical.predicate import TextTest

REGEXES = [
    r"(?iu)(\\7z\.exe|\\7zr\.exe|kiss)$",
    r"(?iu).*(\.dmp|\.dump|kiss).*",
    r"(?i)kiss",
    r"(?isu)^.*a.b.*$",
    r"^.*kiss$",
    r"^kiss",
    r"kiss$",
    r"k.ss",
    r"(?s)k.ss",
    r"[^\\]{2,3}x?",
    r"\s-\s*<",
    r"(?:ab|cd)+e",
    r"a{2}b*?c",
    r"\d{1,3}\.\d{1,3}",
    r"[a-f0-9]{4}-[A-F]",
    r"\w+`(?:\w+|-|.)`[\w+|\s]",
    r"(?iu)[^k]iss",
    r"a|",
    r"",
    r"\x41\u00e9",
    r"(?iu).*(\-b|/b|–b|—b).*",
    r"(?iu)É|ж|Ⓜ",
    r"(a|b)(c|d)?$",
]
LIKES = [
    "kiss",
    "k%s_",
    "%i%s",
    "a_%b",
    "k%%s",
    "k%x",
    "%s\n%",
    "%kiss",
    "kiss%",
    "%kiss%",
    "k_ss",
    "%_",
    "_",
    "%",
    "",
    "10\\%",
    "a%b_c",
    "%é%",
]
ENDS = ["", "\n", "\r\n", "\r", "\u0085", "\u2028", "\n\n", "x", " "]
TEXTS = [
    start + text + end
    for start in ("", "a\n", "C:\\")
    for text in (
        "kiss", "KISS", "\u212aiss", "ki\u017f\u017f", "k\u0130ss", "k\u0131ss", "\\7Z.exe",
        "a.b", "a\nb", "ab", "abce", "cdabe", "aabc", "10%", "12.3", "12ab-F", " - <", "a`b`c",
        "Aé", "É", "é", "Ж", "ⓜ", "–B", "日本", "👍x", "bc", "", "\\\\",
    )
    for end in ENDS
]  # fmt: skip


def test_patterns_find_what_spark_finds(spark: SparkSession):
    tests = [TextTest("rlike", pattern) for pattern in REGEXES]
    tests += [TextTest("like", pattern) for pattern in LIKES]
    tests += [
        TextTest(kind, text)
        for kind in ("contains", "startswith", "endswith")
        for text in ("kiss", "é", "", "\n")
    ]
    assert all(map(can_be_matched, tests))
    texts = list(dict.fromkeys(TEXTS))
    found = _matched(tests, texts)
    rows = spark.createDataFrame(list(enumerate(texts)), "i INT, s STRING")
    asked = rows.select("i", *[_column(test).alias(f"t{n}") for n, test in enumerate(tests)])
    for row in asked.collect():
        for n, test in enumerate(tests):
            assert row[f"t{n}"] == ((n, row["i"]) in found), (test, texts[row["i"]])


def test_letters_in_any_case_are_those_of_spark(spark: SparkSession):
    """All letters that patterns may have in any case, against all characters there are."""
    characters = [chr(c) for c in range(1, sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]
    letters = [
        c
        for c in characters[:0x2500]
        if c.isalpha() and unicodedata.category(c) in ("Lu", "Ll", "So") and _is_read(f"(?iu){c}")
    ]
    assert {"k", "s", "i", "é", "ж"} <= set(letters)
    cased = [c for c in characters if c.lower() != c or c.upper() != c]
    rows = spark.createDataFrame([(c,) for c in cased], "c STRING")
    regexes = [f"(?iu){letter}" for letter in letters if letter == letter.lower()]
    found = _matched([TextTest("rlike", regex) for regex in regexes], cased)
    mine = {(regexes[n], cased[i]) for n, i in found}
    patterns = F.array(*[F.lit(regex) for regex in regexes])
    pairs = rows.select("c", F.explode(patterns).alias("p")).where("c RLIKE p")
    theirs = {(row["p"], row["c"]) for row in pairs.collect()}
    assert mine == theirs


@pytest.mark.parametrize(
    "pattern",
    [r"\bword", r"(?=a)b", r"(a)\1", r"[a&&b]", r"[a[b]]", r"\p{L}", r"(?<n>a)", r"\Qa\E", "(?iu)ß",
     "(?m)^a", "*", "a**", "(", ")", "[", "a{3,1}", r"\h", "{"],
)  # fmt: skip
def test_what_is_not_certain_is_left_to_spark(pattern: str):
    with pytest.raises(NotReadError):
        read_regex(pattern)


@given(
    patterns=st.lists(st.text("ab%_\\.é日\n", max_size=4), min_size=1, max_size=5),
    texts=st.lists(st.text("ab%_\\.é日\n", max_size=5), min_size=1, unique=True),
    few_tests=st.sampled_from([0, 1 << 10]),
    few_literals=st.sampled_from([0, 1 << 10]),
    block=st.sampled_from([1, 8, 1 << 20]),
)
def test_literals_are_found_as_python_finds_them(
    patterns: list[str], texts: list[str], few_tests: int, few_literals: int, block: int
):
    """All at once or one by one, with an index of pairs or without, in blocks of any size."""
    kinds = ("like", "contains", "startswith", "endswith", "rlike")
    tests = [TextTest(kind, p) for kind in kinds for p in patterns]
    tests = [test for test in dict.fromkeys(tests) if can_be_matched(test)]
    expected = {
        (n, i) for n, test in enumerate(tests) for i, text in enumerate(texts) if _holds(test, text)
    }
    with (
        patch.object(matcher, "_FEW_TESTS", few_tests),
        patch.object(byte_search, "_FEW_LITERALS", few_literals),
        patch.object(matcher, "_BLOCK", block),
    ):
        assert _matched(tests, texts) == expected


def _holds(test: TextTest, text: str) -> bool:
    """Whether a test is true of a text, in the plainest way there is."""
    match test.kind:
        case "contains":
            return test.pattern in text
        case "startswith":
            return text.startswith(test.pattern)
        case "endswith":
            return text.endswith(test.pattern)
        case "rlike":
            return read_regex(test.pattern).compiled().search(text) is not None
        case _:
            return _like(test.pattern, text)


def _like(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if first == "%":
        return any(_like(rest, text[i:]) for i in range(len(text) + 1))
    if first == "_":
        return bool(text) and _like(rest, text[1:])
    if first == "\\":
        first, rest = rest[0], rest[1:]
    return text.startswith(first) and _like(rest, text[1:])


def test_a_function_of_the_session_does_not_replace_one_of_sparks(spark: SparkSession):
    """If it did, Spark would answer something else than what is answered here."""
    rows = spark.sql("SELECT TIMESTAMP '2024-01-01 00:00:00' AS ts, 'abc' AS s")
    loom = Loom(spark).stream("t", rows, time="ts")
    spark.udf.register("contains", lambda *_: False, "boolean")
    try:
        sql = "SELECT count(*) AS n FROM t WHERE contains(s, 'b') GROUP BY window(ts, '1 minute')"
        loom.add(sql, name="q")
        rows.createOrReplaceTempView("t")
        alone = [row["n"] for row in spark.sql(sql).collect()]
        assert loom.run(way="columns").arrow("q")["n"].to_pylist() == alone == [1]
    finally:
        spark.sql("DROP TEMPORARY FUNCTION contains")
        spark.catalog.dropTempView("t")


def _matched(tests: list[TextTest], texts: list[str]) -> set[tuple[int, int]]:
    """Pairs of test and text, by their numbers."""
    found = TextMatcher(tests).positions(pa.array([*texts, None]))
    return {(test, int(text)) for test, where in found.items() for text in where}


def _is_read(pattern: str) -> bool:
    try:
        read_regex(pattern)
    except (NotReadError, re.error):
        return False
    return True


def _column(test: TextTest):
    text = F.col("s")
    match test.kind:
        case "rlike":
            return text.rlike(test.pattern)
        case "like":
            return text.like(test.pattern)
        case "contains":
            return text.contains(test.pattern)
        case "startswith":
            return text.startswith(test.pattern)
        case "endswith":
            return text.endswith(test.pattern)
