"""Calls to embedder, relation model and judge: outside transactions; a failure is a value."""
