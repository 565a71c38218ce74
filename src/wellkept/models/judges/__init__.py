"""Judges: optional second opinions on contradictions; each may only add a possible conflict to review."""
