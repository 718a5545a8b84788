"""Plans as Spark jobs: rows to shards, by cells in the JVM or by columns in Python workers."""
