"""The mathematics of sharing, free of Spark and of SQL."""
