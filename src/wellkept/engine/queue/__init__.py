"""Queued writes, flushed in order later."""
