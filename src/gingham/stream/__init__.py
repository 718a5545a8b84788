"""Streaming DataFrames: the loop over micro-batches and what it needs."""
