"""Errors, time, names and array types, which every other folder may import."""
