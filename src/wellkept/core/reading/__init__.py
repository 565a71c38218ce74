"""Reads one text: its language, tokens, clauses, values and events."""
