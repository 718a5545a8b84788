"""Plans made visible."""
