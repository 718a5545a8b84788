"""What tests compare with and feed on: the naive reference, and generated data."""
