"""Random numbers for generated rows: hashes, the same on any number of partitions."""

from pyspark.sql import Column
from pyspark.sql import functions as sf


def uniform(column: str, seed: int, draw: int) -> Column:
    """A pseudorandom number in [0, 1) for generated rows, from a column, the seed and the draw."""
    bits = sf.shiftrightunsigned(sf.xxhash64(column, sf.lit(seed), sf.lit(draw)), 11)
    return bits * 2.0**-53
