"""Streams: the loop over micro-batches, its log of shards, epochs, sinks and progress."""
