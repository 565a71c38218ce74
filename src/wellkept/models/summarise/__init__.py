"""Summarisers that write summary texts for reflection; none is used by default."""
