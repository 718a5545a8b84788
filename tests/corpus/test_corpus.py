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


def test_the_corpus_calls_every_function_of_spark(spark: SparkSession):
    text = " ".join(query.text.lower() for query in corpus(keywords_of(spark)))
    names = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    assert not [name for name in names if not _called(name, text)]


def _called(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None if name[0].isalpha() else name in text


def test_the_corpus_has_no_fewer_than_3000_queries(spark: SparkSession):
    queries = corpus(keywords_of(spark))
    assert len(queries) == len(set(queries)) >= 3_000
