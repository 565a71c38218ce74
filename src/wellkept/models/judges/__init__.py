"""Optional judges of contradictions; a judge may only add possible conflicts for review."""
