"""Seeded data and workloads for demos, tests and benchmarks, in the shape of published studies.

trades      rows and queries of a stock market, for exact aggregates
mixes       rows of many types and random queries over them, for exact aggregates
uniform     random numbers for rows
windows     windows alone, for the choice of trees
regions     relations and join queries, for estimates
"""
