"""Exact nearest neighbour search in memory, in one matrix per namespace."""
