"""What batch runs and streams have in common: sources, expressions, load; the batch run."""
