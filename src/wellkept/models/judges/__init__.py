"""Judges: optional second opinions on contradictions (design §5); each may only add a possible conflict to review."""
