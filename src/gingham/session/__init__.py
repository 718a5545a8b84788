"""What batch runs and streams have in common: sources, row statistics; and the batch run."""
