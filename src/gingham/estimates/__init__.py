"""Estimates of COUNT and SUM over joins, from sketches that share a budget of memory."""
