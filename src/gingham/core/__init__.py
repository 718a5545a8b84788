"""What every other part may use: errors, time, names."""
