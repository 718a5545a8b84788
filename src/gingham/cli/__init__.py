"""The command line: workload files in, plans and answers out."""
