"""Consolidation: planning, execution, reports, reflection and decay."""
