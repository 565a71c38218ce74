"""Surfaces: what people and programs talk to."""
