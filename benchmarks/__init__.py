"""What sharing is worth, measured against the ways to do without it."""
