"""Arrow tables as DataFrames."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def to_dataframe(spark: SparkSession, table: pa.Table) -> DataFrame:
    """All rows of an Arrow table as a DataFrame.

    Spark stops reading at the first batch without rows, and loses those of the batches after it.
    """
    batches = [batch for batch in table.to_batches() if batch.num_rows]
    whole = pa.Table.from_batches(batches, table.schema)
    return spark.createDataFrame(whole, from_arrow_schema(table.schema))
