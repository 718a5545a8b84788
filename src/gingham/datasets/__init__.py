"""Generators of data and workloads: trades, windows, regions."""
