"""What users ask for, as frozen values: windows, predicates, queries. Free of SQL text and Spark."""
