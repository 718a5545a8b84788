"""Plans as DataFrame expressions: no row crosses into Python, only shards do."""
