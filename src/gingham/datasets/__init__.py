"""Seeded data and workloads for demos, tests and benchmarks, in the shape of published studies.

trades      rows and queries of a stock market, for exact aggregates
windows     windows alone, for the choice of trees
regions     relations and join queries, for estimates
"""
