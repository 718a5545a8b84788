"""Queries as frozen values, before Spark checks them: windows, predicates, the catalog."""
