"""What users ask for, as frozen values: windows, predicates, queries."""
