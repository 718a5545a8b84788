"""Rows to shards by columns: pure functions over Arrow and numpy that executors run.

Where conditions have many attributes in many combinations, a grid of cells has more cells than
rows. Here every comparison is a vector of flags, made once for all queries; a condition combines
such vectors; and the rows that it selects are reduced straight to the shards of one grid.
"""
