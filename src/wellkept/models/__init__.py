"""Embedders: the port, and the implementations behind it."""
