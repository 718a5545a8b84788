"""Join aggregates: SQL text to a plan of shared sketches, sketches to estimates; no Spark."""
