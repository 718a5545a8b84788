"""The mathematics of sharing: edges of windows and fragment matrices, without Spark or SQL."""
