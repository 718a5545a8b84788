"""Tests of strings: thousands of them over one column, found in one pass over each value."""
