"""Gingham and Spark say the same to the same characters, or Gingham says why it does not answer."""

from __future__ import annotations

import os
import re

from pyspark.sql import SparkSession

from tests.corpus.__main__ import report
from tests.corpus.judge import BAD, Judge
from tests.corpus.queries import corpus, sample
from tests.corpus.rows import keywords_of

SAMPLE = 250


def test_no_answer_differs_from_that_of_spark(spark: SparkSession):
    keywords = keywords_of(spark)
    queries = corpus(keywords)
    if os.environ.get("GINGHAM_CORPUS") != "all":
        queries = sample(queries, SAMPLE)
    outcomes = list(Judge(spark, keywords).judge(queries))
    assert not [o for o in outcomes if o.verdict in BAD], report(outcomes, 0)


# Parts of queries that Gingham answered in another way than Spark, or not at all.
ONCE_WRONG = (
    "struct(max(i), max(s))",
    "to_json(struct(",
    "arrays_zip(max_by(",
    "array(st)[0].c",
    "max_by(st, id)",
    "min(timestamp_nanos(",
    "ch BETWEEN",
    "HAVING sum(i)",
    "HAVING NULL",
    "AS window_start",
    "window(ts, '1 minute').start",
    "sum(dti)",
    "sum(num)",
)


def test_what_was_wrong_once_is_right(spark: SparkSession):
    keywords = keywords_of(spark)
    found = {part: [q for q in corpus(keywords) if part in q.text] for part in ONCE_WRONG}
    assert all(found.values())
    # Of some there are dozens that differ in what stands around.
    queries = list(dict.fromkeys(q for some in found.values() for q in some[:4]))
    outcomes = list(Judge(spark, keywords).judge(queries))
    assert not [o for o in outcomes if o.verdict in BAD], report(outcomes, 0)


def test_the_corpus_calls_every_function_of_spark(spark: SparkSession):
    text = " ".join(query.text.lower() for query in corpus(keywords_of(spark)))
    names = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    assert not [name for name in names if not _called(name, text)]


def _called(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None if name[0].isalpha() else name in text


def test_the_corpus_has_no_fewer_than_3000_queries(spark: SparkSession):
    queries = corpus(keywords_of(spark))
    assert len(queries) == len(set(queries)) >= 3_000
