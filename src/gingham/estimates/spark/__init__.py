"""Types of join aggregates, and sketches of rows, by Spark."""
