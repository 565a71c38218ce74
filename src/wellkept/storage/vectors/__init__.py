"""Exact nearest neighbours in memory: matrices of namespaces, bounded, shared and scanned."""
