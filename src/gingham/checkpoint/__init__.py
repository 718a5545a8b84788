"""The folder that a restart goes on from: files, seals, numbered logs, the registry of queries."""
