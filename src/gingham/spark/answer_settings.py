"""Settings of the Spark session that answers depend on."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

# Always noted, with their defaults.
_NAMED = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.groupByAliases",
    "spark.sql.groupByOrdinal",
    "spark.sql.variable.substitute",
    "spark.sql.parser.escapedStringLiterals",
)
# Noted when they are set: there are hundreds, and most are never touched.
_IF_SET = re.compile(
    r"spark\.sql\.(.*\.)?(legacy|ansi|parser|collation)\..*"
    r"|spark\.sql\..*([rR]ebaseMode|[cC]ollation|[tT]imeParserPolicy|[nN]ullOrdering).*"
)


def answer_settings(spark: SparkSession) -> dict[str, str]:
    """The settings of a Spark session on which the meaning of SQL and of rows depends."""
    chosen = {*_NAMED, *(name for name in spark.conf.getAll if _IF_SET.fullmatch(name))}
    found = {name: _value(spark, name) for name in sorted(chosen)}
    return {name: value for name, value in found.items() if value is not None}


def _value(spark: SparkSession, name: str) -> str | None:
    """The value of a setting, or its default; None if this version of Spark does not have it."""
    try:
        return spark.conf.get(name)
    except PySparkException:
        return None
