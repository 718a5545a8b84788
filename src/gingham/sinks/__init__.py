"""Where answers go: what a sink promises, the sinks that come with Gingham, and delivery."""
